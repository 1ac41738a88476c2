#include "cli/program/program_inputs.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/arrays/array_summary.h"
#include "cli/program/symbol_choice.h"
#include "common/float16.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

std::string input_label(const MethodFacts& facts, size_t index) {
  return fmt::format("input {} ('{}')", index, compiler::printable(facts.inputs[index].name, 60));
}

// Strings have no array form, and None has no value.
bool takes_array(const MethodMeta& method, size_t index) {
  const Tag tag = method.tag(method.input(index));
  return tag != Tag::none && tag != Tag::string;
}

std::string list_inputs(const MethodMeta& method, const MethodFacts& facts) {
  std::string text;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    if (!takes_array(method, i)) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", compiler::printable(facts.inputs[i].name, 60),
                        input_text(method, facts, i));
  }
  return text.empty() ? "none" : text;
}

using Slots = std::vector<std::optional<NamedArray>>;

size_t slot_of(const MethodMeta& method, const MethodFacts& facts, const std::string& name) {
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    if (takes_array(method, i) && facts.inputs[i].name == name) return i;
  }
  return facts.inputs.size();
}

WantedInputs wanted_inputs(const MethodMeta& method, const MethodFacts& facts) {
  WantedInputs wanted;
  wanted.known = facts.known;
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    if (!takes_array(method, i)) continue;
    wanted.names.push_back(facts.inputs[i].name);
    wanted.places.push_back(i);
  }
  return wanted;
}

Status fill_slots(const MethodMeta& method, const MethodFacts& facts, std::vector<InputFile> files, Slots* slots) {
  std::vector<NamedArray> in_order;
  size_t given = 0;
  const WantedInputs inputs = wanted_inputs(method, facts);
  for (InputFile& file : files) {
    given += file.arrays.size();
    ASSIGN_OR_RETURN(const bool by_name, order_by_names(inputs, in_order.size(), file));
    for (NamedArray& array : file.arrays) {
      if (!by_name) {
        in_order.push_back(std::move(array));
        continue;
      }
      const size_t slot = slot_of(method, facts, array.name);
      if ((*slots)[slot]) return Diag(Code::usage, fmt::format("{} is given twice", input_label(facts, slot)));
      (*slots)[slot] = std::move(array);
    }
  }
  size_t wanted = 0, all = method.num_inputs(), next = 0;
  for (size_t i = 0; i < all; ++i) wanted += takes_array(method, i);
  // Stock keeps no value of a symbolic int, so its input looks like None; an array for it may be there or not.
  const bool fill_none = given == all && given != wanted;
  for (size_t i = 0; i < all && next < in_order.size(); ++i) {
    if (!(*slots)[i] && (fill_none || takes_array(method, i))) (*slots)[i] = std::move(in_order[next++]);
  }
  bool missing = false;
  for (size_t i = 0; i < all; ++i) missing = missing || (takes_array(method, i) && !(*slots)[i]);
  if (missing || next < in_order.size()) {
    return Diag(Code::usage, fmt::format("method '{}' takes a different number of inputs", method.name()))
        .expected(fmt::format("{} arrays", given), fmt::format("{} ({})", wanted, list_inputs(method, facts)));
  }
  return {};
}

Diag wrong_type(const MethodMeta& method, const MethodFacts& facts, size_t index, const NamedArray& array,
                const std::string& what) {
  return Diag(Code::usage, fmt::format("{} has a different {}", input_label(facts, index), what))
      .expected(array_text(array.dtype, array.sizes), input_text(method, facts, index))
      .with_help("arrays are never cast; save it with the wanted type");
}

Result<HostValue> to_tensor(const MethodMeta& method, const MethodFacts& facts, size_t index, NamedArray array) {
  const TensorMeta meta = method.input_value(index).tensor;
  if (array.dtype != meta.dtype) return wrong_type(method, facts, index, array, "dtype");
  if (array.sizes.size() != meta.sizes.size()) return wrong_type(method, facts, index, array, "rank");
  HostTensor tensor;
  tensor.dtype = array.dtype;
  for (int64_t size : array.sizes) {
    if (size > INT32_MAX) return wrong_type(method, facts, index, array, "shape");
    tensor.sizes.push_back(static_cast<int32_t>(size));
  }
  tensor.bytes = std::move(array.bytes);
  return HostValue(std::move(tensor));
}

template <typename T>
T scalar_of(const NamedArray& array) {
  T value;
  memcpy(&value, array.bytes.data(), sizeof value);
  return value;
}

bool about_equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         (std::isfinite(b) && std::fabs(a - b) <= 1e-4 + 1e-5 * std::fabs(b));
}

// The values of int, float and bool inputs were fixed at export: the array must repeat them.
Result<HostValue> to_number(const MethodMeta& method, const MethodFacts& facts, size_t index, const NamedArray& array) {
  const ValueMeta meta = method.input_value(index);
  if (!array.sizes.empty()) return wrong_type(method, facts, index, array, "rank");
  HostValue value;
  std::string found;
  bool same = false;
  if (meta.tag == Tag::real) {
    if (array.dtype != DType::f64) return wrong_type(method, facts, index, array, "dtype");
    value = HostValue::of_real(scalar_of<double>(array));
    found = fmt::format("{}", value.real);
    same = about_equal(value.real, meta.real);
  } else if (meta.tag == Tag::boolean) {
    if (array.dtype != DType::boolean) return wrong_type(method, facts, index, array, "dtype");
    value = HostValue::of_bool(scalar_of<uint8_t>(array) != 0);
    found = fmt::format("{}", value.boolean);
    same = value.boolean == meta.boolean;
  } else if (meta.tag == Tag::integer || meta.tag == Tag::none) {
    if (array.dtype != DType::i64) return wrong_type(method, facts, index, array, "dtype");
    value = HostValue::of_int(scalar_of<int64_t>(array));
    found = fmt::format("{}", value.integer);
    same = meta.tag == Tag::none || value.integer == meta.integer;
  } else {
    return Diag(Code::incompatible_file, fmt::format("{} is a list", input_label(facts, index)));
  }
  if (same) return value;
  return Diag(Code::usage, fmt::format("{} was fixed when the model was exported and has a different value here",
                                       input_label(facts, index)))
      .expected(found, input_text(method, facts, index))
      .with_help("export the model again with the value you need, or make it a tensor input");
}

HostValue burnt_in(const ValueMeta& meta) {
  switch (meta.tag) {
    case Tag::integer: return HostValue::of_int(meta.integer);
    case Tag::real: return HostValue::of_real(meta.real);
    case Tag::boolean: return HostValue::of_bool(meta.boolean);
    default: break;
  }
  HostValue value;
  value.tag = meta.tag;
  if (meta.tag == Tag::string) value.string.assign(meta.string.data(), meta.string.size());
  return value;
}

// Output i of splitmix64: a plain counter, so element i does not depend on the others.
uint64_t random_word(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

float random_float(uint64_t word) { return static_cast<float>(word >> 40) * 0x1p-23f - 1.0f; }

// Truncates to the bits that the 16-bit types have, so that no value rounds up to 1.
float cut_bits(float value, int count) { return float_from_bits(bits_from_float(value) >> count << count); }

void put_random(DType dtype, uint64_t word, uint8_t* at) {
  const float real = random_float(word);
  const double wide = real;
  const uint64_t bit = word >> 63, small = word >> 57;
  switch (dtype) {
    case DType::f32: memcpy(at, &real, 4); return;
    case DType::f64: memcpy(at, &wide, 8); return;
    case DType::f16: {
      const Half half(cut_bits(real, 13));
      memcpy(at, &half, 2);
      return;
    }
    case DType::bf16: {
      const BFloat16 half(cut_bits(real, 16));
      memcpy(at, &half, 2);
      return;
    }
    case DType::c64: {
      const float imaginary = random_float(word << 24);
      memcpy(at, &real, 4);
      memcpy(at + 4, &imaginary, 4);
      return;
    }
    case DType::i32:
    case DType::u32:
    case DType::qi32: memcpy(at, &bit, 4); return;
    case DType::i64:
    case DType::u64: memcpy(at, &bit, 8); return;
    case DType::i16:
    case DType::u16: memcpy(at, &small, 2); return;
    case DType::i8:
    case DType::u8:
    case DType::qi8:
    case DType::qu8: memcpy(at, &small, 1); return;
    case DType::boolean: memcpy(at, &bit, 1); return;
    default: return;  // stays zero
  }
}

// Sets element `index` of a tensor of integers. Assumes a little-endian host, as all files are little-endian.
void put_number(int64_t number, size_t index, HostTensor* tensor) {
  const size_t item = dtype_size_bytes(tensor->dtype);
  if ((index + 1) * item > tensor->bytes.size()) return;
  memcpy(tensor->bytes.data() + index * item, &number, std::min(sizeof number, item));
}

// Changes elements that are no indices into `count` elements to valid indices.
void limit_indices(int64_t count, HostTensor* tensor) {
  const size_t item = dtype_size_bytes(tensor->dtype);
  for (size_t i = 0; (i + 1) * item <= tensor->bytes.size(); ++i) {
    int64_t index = 0;  // random integers are not negative
    memcpy(&index, tensor->bytes.data() + i * item, std::min(sizeof index, item));
    put_number(index % count, i, tensor);
  }
}

HostTensor random_tensor(DType dtype, std::vector<int32_t> sizes, uint64_t seed) {
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.sizes = std::move(sizes);
  size_t count = 1;
  for (int32_t size : tensor.sizes) count *= static_cast<size_t>(size);
  const size_t item = dtype_size_bytes(dtype);
  tensor.bytes.resize(count * item);
  for (size_t i = 0; i < count; ++i) put_random(dtype, random_word(seed, i), tensor.bytes.data() + i * item);
  return tensor;
}

}  // namespace

Result<std::vector<InputFile>> read_input_files(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(std::vector<NamedArray> arrays, read_arrays(path));
    files.push_back({path, std::move(arrays)});
  }
  return files;
}

Result<std::vector<HostValue>> bind_inputs(const MethodMeta& method, const MethodFacts& facts,
                                           std::vector<InputFile> files) {
  Slots slots(method.num_inputs());
  RETURN_IF_ERROR(fill_slots(method, facts, std::move(files), &slots));
  std::vector<HostValue> values;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i]) {
      values.push_back(burnt_in(method.input_value(i)));
    } else if (method.tag(method.input(i)) == Tag::tensor) {
      ASSIGN_OR_RETURN(HostValue value, to_tensor(method, facts, i, std::move(*slots[i])));
      values.push_back(std::move(value));
    } else {
      ASSIGN_OR_RETURN(HostValue value, to_number(method, facts, i, *slots[i]));
      values.push_back(std::move(value));
    }
  }
  RETURN_IF_ERROR(check_sizes(method, facts, values));
  return values;
}

Result<std::vector<HostValue>> random_inputs(const MethodMeta& method, const MethodFacts& facts, uint64_t seed) {
  ASSIGN_OR_RETURN(compiler::SymValues symbols, choose_symbols(facts));
  std::vector<HostValue> values;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    const ValueMeta meta = method.input_value(i);
    if (meta.tag != Tag::tensor) {
      values.push_back(burnt_in(meta));
      continue;
    }
    std::vector<int32_t> sizes(meta.tensor.sizes.begin(), meta.tensor.sizes.end());
    for (size_t d = 0; facts.inputs[i].type && d < sizes.size(); ++d) {
      const auto size = compiler::evaluate(facts.inputs[i].type->tensor.sizes[d], symbols);
      const int64_t most = meta.tensor.dynamism == ShapeDynamism::unbounded ? INT32_MAX : sizes[d];
      if (size && *size >= 0 && *size <= most) sizes[d] = static_cast<int32_t>(*size);
    }
    values.push_back(HostValue(random_tensor(meta.tensor.dtype, std::move(sizes), random_word(seed, i))));
    if (!is_integral(meta.tensor.dtype)) continue;
    const InputFacts& input = facts.inputs[i];
    const auto below = compiler::evaluate(input.below, symbols);
    if (below && *below > 0) limit_indices(*below, &values.back().tensor);
    for (size_t at = 0; at < input.numbers.size(); ++at) {
      const auto number = compiler::evaluate(input.numbers[at], symbols);
      if (number && !input.numbers[at].is_const()) put_number(*number, at, &values.back().tensor);
    }
  }
  RETURN_IF_ERROR(check_sizes(method, facts, values));
  return values;
}

}  // namespace wick::cli
