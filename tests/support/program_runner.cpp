#include "tests/support/program_runner.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#include "common/float16.h"
#include "wick/backends.h"

namespace wick::testing {
namespace {

using cli::NamedArray;

HostValue to_host(const NamedArray& array) {
  HostTensor tensor;
  tensor.dtype = array.dtype;
  tensor.sizes.assign(array.sizes.begin(), array.sizes.end());
  tensor.bytes = array.bytes;
  return tensor;
}

template <typename T>
T load(const std::vector<uint8_t>& bytes, size_t index) {
  T value;
  memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Literals burnt in at export are passed as plain values.
HostValue to_literal(const NamedArray& array, Tag tag) {
  if (tag == Tag::integer) return HostValue::of_int(load<int64_t>(array.bytes, 0));
  if (tag == Tag::real) return HostValue::of_real(load<double>(array.bytes, 0));
  return HostValue::of_bool(array.bytes[0] != 0);
}

template <typename T>
std::vector<uint8_t> bytes_of(T value) {
  std::vector<uint8_t> out(sizeof value);
  memcpy(out.data(), &value, sizeof value);
  return out;
}

bool from_host(const HostValue& value, const std::string& name, NamedArray* out) {
  out->name = name;
  switch (value.tag) {
    case Tag::tensor:
      out->dtype = value.tensor.dtype;
      out->sizes.assign(value.tensor.sizes.begin(), value.tensor.sizes.end());
      out->bytes = value.tensor.bytes;
      return true;
    case Tag::integer: *out = {name, DType::i64, {}, bytes_of(value.integer)}; return true;
    case Tag::real: *out = {name, DType::f64, {}, bytes_of(value.real)}; return true;
    case Tag::boolean: *out = {name, DType::boolean, {}, bytes_of(static_cast<uint8_t>(value.boolean))}; return true;
    default: return false;
  }
}

bool to_real(const NamedArray& array, size_t index, double* out) {
  switch (array.dtype) {
    case DType::f32: *out = static_cast<double>(load<float>(array.bytes, index)); return true;
    case DType::f64: *out = load<double>(array.bytes, index); return true;
    case DType::f16: *out = static_cast<double>(Half::to_float(load<uint16_t>(array.bytes, index))); return true;
    case DType::bf16:
      *out = static_cast<double>(float_from_bits(static_cast<uint32_t>(load<uint16_t>(array.bytes, index)) << 16));
      return true;
    default: return false;
  }
}

}  // namespace

std::unique_ptr<CompiledProgram> CompiledProgram::make(const std::vector<compiler::CompileBytes>& inputs,
                                                       const compiler::CompileOptions& options, IsaLevel isa,
                                                       std::string* error, const std::string& device) {
  auto result = compiler::compile(inputs, options);
  if (!result.ok()) {
    *error = compiler::render(result.diag());
    return nullptr;
  }
  auto program = std::make_unique<CompiledProgram>();
  program->compiled_ = std::move(*result);
  program->bytes_ = program->compiled_.program.pte.join();
  ModuleOptions module_options;
  module_options.device = device;
  module_options.kernels.assign(all_kernels().begin(), all_kernels().end());
  module_options.backends.assign(all_backends().begin(), all_backends().end());
  module_options.max_isa = isa;
  ModuleError module_error;
  program->module_ =
      Module::load(Span<const uint8_t>(program->bytes_.data(), program->bytes_.size()), module_options, &module_error);
  if (!program->module_) {
    *error = module_error.message;
    return nullptr;
  }
  return program;
}

bool CompiledProgram::run(const std::string& method, const std::vector<NamedArray>& inputs,
                          std::vector<NamedArray>* outputs, std::string* error) {
  const compiler::MethodPlan* plan = nullptr;
  for (const compiler::MethodPlan& item : compiled_.method_plans) {
    if (item.name == method) plan = &item;
  }
  if (!plan) {
    *error = "no method " + method;
    return false;
  }
  std::vector<HostValue> values;
  for (size_t i = 0; i < plan->inputs.size(); ++i) {
    const auto it = std::find_if(inputs.begin(), inputs.end(),
                                 [&](const NamedArray& a) { return a.name == fmt::format("in{}", i); });
    const compiler::PlannedValue& declared = plan->values[static_cast<size_t>(plan->inputs[i])];
    if (const auto* text = std::get_if<std::string>(&declared)) {
      HostValue value;
      value.tag = Tag::string;
      value.string = *text;
      values.push_back(value);
    } else if (it == inputs.end()) {
      values.emplace_back();
    } else if (std::holds_alternative<compiler::PlannedTensor>(declared)) {
      values.push_back(to_host(*it));
    } else {
      const Tag tag = std::holds_alternative<int64_t>(declared)  ? Tag::integer
                      : std::holds_alternative<double>(declared) ? Tag::real
                                                                 : Tag::boolean;
      values.push_back(to_literal(*it, tag));
    }
  }
  std::vector<HostValue> results;
  ModuleError module_error;
  if (!module_->execute(method, values, &results, &module_error)) {
    *error = module_error.message;
    return false;
  }
  outputs->clear();
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t mutated = plan->mutated_inputs.size();
    const std::string name = i < mutated ? fmt::format("mut_{}", plan->mutated_inputs[i])
                                         : fmt::format("out{}", plan->output_leaves[i - mutated]);
    NamedArray array;
    if (from_host(results[i], name, &array)) outputs->push_back(std::move(array));
  }
  return true;
}

std::string difference(const NamedArray& got, const NamedArray& want, const ArrayTolerance& tolerance) {
  if (got.dtype != want.dtype)
    return fmt::format("dtype {} instead of {}", dtype_name(got.dtype), dtype_name(want.dtype));
  if (got.sizes != want.sizes)
    return fmt::format("sizes [{}] instead of [{}]", fmt::join(got.sizes, ", "), fmt::join(want.sizes, ", "));
  const size_t item = dtype_size_bytes(want.dtype), count = want.bytes.size() / item;
  double probe;
  const DType part = want.dtype == DType::c64 ? DType::f32 : want.dtype == DType::c128 ? DType::f64 : want.dtype;
  if (part != want.dtype) {
    NamedArray a = got, b = want;
    a.dtype = b.dtype = part;
    a.sizes = b.sizes = {static_cast<int64_t>(2 * count)};
    return difference(a, b, tolerance);
  }
  if (count == 0) return "";
  if (!to_real(want, 0, &probe)) {
    for (size_t i = 0; i < count; ++i) {
      if (memcmp(got.bytes.data() + i * item, want.bytes.data() + i * item, item) != 0)
        return fmt::format("element {} differs", i);
    }
    return "";
  }
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    double a = 0, b = 0;
    to_real(got, i, &a);
    to_real(want, i, &b);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    const double excess =
        std::fabs(a - b) / (tolerance.absolute + tolerance.relative * std::max(std::fabs(a), std::fabs(b)));
    const bool unequal = std::isnan(excess) || std::isinf(a) || std::isinf(b);
    if (unequal || excess > worst) {
      worst = unequal ? INFINITY : excess;
      at = i;
    }
  }
  if (worst <= 1) return "";
  double a = 0, b = 0;
  to_real(got, at, &a);
  to_real(want, at, &b);
  return fmt::format("element {} is {} instead of {} ({:.3g} times the tolerance)", at, a, b, worst);
}

std::string differences(const std::vector<NamedArray>& got, const std::vector<NamedArray>& want,
                        const ArrayTolerance& tolerance) {
  std::string out;
  for (const NamedArray& expected : want) {
    const auto it = std::find_if(got.begin(), got.end(), [&](const NamedArray& a) { return a.name == expected.name; });
    const std::string text = it == got.end() ? "is missing" : difference(*it, expected, tolerance);
    if (!text.empty()) out += fmt::format("{}: {}\n", expected.name, text);
  }
  return out;
}

}  // namespace wick::testing
