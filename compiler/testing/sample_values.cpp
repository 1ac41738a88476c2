#include "compiler/testing/sample_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#include "common/float16.h"
#include "common/random.h"

namespace wick::testing {

using compiler::Code;
using compiler::Diag;
using compiler::PlannedTensor;
using compiler::Result;

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 24;

class Words {
 public:
  explicit Words(uint64_t seed) : seed_(seed) {}
  uint32_t next() {
    if (at_ % 4 == 0) block_ = philox4x32(seed_, at_ / 4);
    return block_.words[at_++ % 4];
  }

 private:
  uint64_t seed_, at_ = 0;
  RandomBlock block_{};
};

template <typename T>
void put(std::vector<uint8_t>& bytes, T value) {
  const auto* from = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

void put_sample(std::vector<uint8_t>& bytes, DType dtype, uint32_t word) {
  const float number = 2 * uniform_float(word) - 1;
  switch (dtype) {
    case DType::f32: return put(bytes, number);
    case DType::f64: return put(bytes, static_cast<double>(number));
    case DType::f16: return put(bytes, Half::from_float(number));
    case DType::bf16: return put(bytes, static_cast<uint16_t>(bits_from_float(number) >> 16));
    case DType::i64:
    case DType::u64: return put(bytes, static_cast<int64_t>(word >> 31));
    case DType::i32:
    case DType::u32: return put(bytes, static_cast<int32_t>(word >> 31));
    case DType::i16:
    case DType::u16: return put(bytes, static_cast<int16_t>(word >> 25));
    case DType::boolean: return put(bytes, static_cast<uint8_t>(word >> 31));
    case DType::c64: return put(bytes, number), put(bytes, -number);
    case DType::c128: return put(bytes, static_cast<double>(number)), put(bytes, -static_cast<double>(number));
    default: return put(bytes, static_cast<uint8_t>(word >> 25));
  }
}

template <typename T>
T load(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

// Elements as doubles; complex ones as two.
std::vector<double> elements(const HostTensor& tensor) {
  const bool complex = tensor.dtype == DType::c64 || tensor.dtype == DType::c128;
  const size_t step = dtype_size_bytes(tensor.dtype) / (complex ? 2 : 1);
  std::vector<double> out;
  for (size_t at = 0; at + step <= tensor.bytes.size(); at += step) {
    const uint8_t* p = &tensor.bytes[at];
    switch (tensor.dtype) {
      case DType::f16: out.push_back(static_cast<double>(Half::to_float(load<uint16_t>(p)))); break;
      case DType::bf16:
        out.push_back(static_cast<double>(float_from_bits(static_cast<uint32_t>(load<uint16_t>(p)) << 16)));
        break;
      case DType::f32:
      case DType::c64: out.push_back(static_cast<double>(load<float>(p))); break;
      case DType::f64:
      case DType::c128: out.push_back(load<double>(p)); break;
      case DType::i8: out.push_back(load<int8_t>(p)); break;
      case DType::i16: out.push_back(load<int16_t>(p)); break;
      case DType::u16: out.push_back(load<uint16_t>(p)); break;
      case DType::i32: out.push_back(load<int32_t>(p)); break;
      case DType::u32: out.push_back(load<uint32_t>(p)); break;
      case DType::i64: out.push_back(static_cast<double>(load<int64_t>(p))); break;
      case DType::u64: out.push_back(static_cast<double>(load<uint64_t>(p))); break;
      default: out.push_back(*p);
    }
  }
  return out;
}

std::string tensor_difference(const HostTensor& got, const HostTensor& want, const Tolerance& tolerance, double step) {
  if (got.dtype != want.dtype || got.sizes != want.sizes) {
    return fmt::format("{}[{}] instead of {}[{}]", dtype_name(got.dtype), fmt::join(got.sizes, ", "),
                       dtype_name(want.dtype), fmt::join(want.sizes, ", "));
  }
  const std::vector<double> a = elements(got), b = elements(want);
  double largest = 0;
  for (const double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const bool integral = !is_floating(want.dtype) && want.dtype != DType::c64 && want.dtype != DType::c128;
  const double base = tolerance.quantization_steps * (integral ? 1 : step) +
                      (integral ? 0 : tolerance.absolute + tolerance.of_largest * largest);
  size_t wrong = 0, worst = 0;
  double excess = -1;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double apart = std::fabs(a[i] - b[i]);
    const double allowed = base + (integral ? 0 : tolerance.relative * std::fabs(b[i]));
    if (std::isfinite(a[i]) && std::isfinite(b[i]) && apart <= allowed) continue;
    ++wrong;
    const double here = std::isfinite(apart) ? apart : INFINITY;
    if (here > excess) excess = here, worst = i;
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} elements differ; element {} is {:.9g} instead of {:.9g}", wrong, b.size(), worst,
                     a[worst], b[worst]);
}

}  // namespace

Result<std::vector<HostValue>> sample_inputs(const compiler::MethodPlan& plan, uint64_t seed) {
  std::vector<HostValue> inputs;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const compiler::PlannedValue& declared = plan.values[static_cast<size_t>(plan.inputs[i])];
    HostValue value;
    if (const auto* tensor = std::get_if<PlannedTensor>(&declared)) {
      if (tensor->unbounded)
        return Diag(Code::usage, fmt::format("input {} has a size without a bound, so none is made up", i))
            .with_help("give the inputs, or sizes a bound: --max-size N");
      HostTensor host;
      host.dtype = tensor->dtype;
      int64_t count = 1;
      for (const int64_t size : tensor->sizes) {
        host.sizes.push_back(static_cast<int32_t>(size));
        if (size != 0 && count > kMaxElements / size)
          return Diag(Code::usage, fmt::format("input {} can be too large to make one up", i))
              .with_help("give the inputs, or export the model with smaller bounds");
        count *= size;
      }
      Words words(seed + i);
      for (int64_t k = 0; k < count; ++k) put_sample(host.bytes, host.dtype, words.next());
      value = HostValue(std::move(host));
    } else if (const auto* integer = std::get_if<int64_t>(&declared)) {
      value = HostValue::of_int(*integer);
    } else if (const auto* real = std::get_if<double>(&declared)) {
      value = HostValue::of_real(*real);
    } else if (const auto* boolean = std::get_if<bool>(&declared)) {
      value = HostValue::of_bool(*boolean);
    } else if (const auto* text = std::get_if<std::string>(&declared)) {
      value.tag = Tag::string;
      value.string = *text;
    }
    inputs.push_back(std::move(value));
  }
  return inputs;
}

std::string difference(const HostValue& got, const HostValue& want, const Tolerance& tolerance, double step) {
  if (got.tag != want.tag) return "a different kind of value";
  switch (want.tag) {
    case Tag::tensor: return tensor_difference(got.tensor, want.tensor, tolerance, step);
    case Tag::integer:
      return got.integer == want.integer ? "" : fmt::format("{} instead of {}", got.integer, want.integer);
    case Tag::boolean:
      return got.boolean == want.boolean ? "" : fmt::format("{} instead of {}", got.boolean, want.boolean);
    case Tag::real: {
      const bool same =
          std::fabs(got.real - want.real) <= tolerance.absolute + tolerance.relative * std::fabs(want.real);
      return same || got.real == want.real || (std::isnan(got.real) && std::isnan(want.real))
                 ? ""
                 : fmt::format("{} instead of {}", got.real, want.real);
    }
    default: return got.string == want.string ? "" : "another string";
  }
}

void fill_constants(compiler::Graph& graph, uint64_t seed) {
  for (compiler::Value* value : graph.constants()) {
    const Span<const uint8_t> old = value->data.bytes();
    if (!is_floating(value->dtype()) || std::any_of(old.begin(), old.end(), [](uint8_t byte) { return byte != 0; }))
      continue;
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    Words words(++seed);
    while (bytes->size() < old.size()) {
      std::vector<uint8_t> one;
      if (value->dtype() == DType::f32)
        put(one, uniform_float(words.next()) - 0.5f);
      else if (value->dtype() == DType::f16)
        put(one, Half::from_float(uniform_float(words.next()) - 0.5f));
      else
        put_sample(one, value->dtype(), words.next());
      bytes->insert(bytes->end(), one.begin(), one.end());
    }
    value->data = {{bytes->data(), bytes->size()}, bytes};
  }
}

}  // namespace wick::testing
