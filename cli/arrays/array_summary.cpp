#include "cli/arrays/array_summary.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/float16.h"

namespace wick::cli {
namespace {

constexpr size_t kShownElements = 6;

template <typename T>
T load(const NamedArray& array, size_t index, size_t stride) {
  T value;
  memcpy(&value, array.bytes.data() + index * stride, sizeof value);
  return value;
}

bool is_whole(DType dtype) {
  return is_integral(dtype) || dtype == DType::qi8 || dtype == DType::qu8 || dtype == DType::qi32 ||
         dtype == DType::bits16;
}

std::string element_text(const NamedArray& array, size_t index) {
  if (array.dtype == DType::boolean) return array.bytes[index] ? "true" : "false";
  if (array.dtype == DType::i64) return fmt::format("{}", load<int64_t>(array, index, 8));
  if (array.dtype == DType::u64) return fmt::format("{}", load<uint64_t>(array, index, 8));
  if (is_whole(array.dtype)) return fmt::format("{:.0f}", element_of(array, index));
  if (!is_complex(array.dtype)) return fmt::format("{:.6g}", element_of(array, index));
  const double imaginary = array.dtype == DType::c32   ? double{Half::to_float(load<uint16_t>(array, 2 * index + 1, 2))}
                           : array.dtype == DType::c64 ? double{load<float>(array, 2 * index + 1, 4)}
                                                       : load<double>(array, 2 * index + 1, 8);
  return fmt::format("{:.6g}{:+.6g}j", element_of(array, index), imaginary);
}

struct Statistics {
  size_t count = 0, nan_count = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least, mean = 0;
  bool is_meaningful = false;  // real numbers that are not all NaN
};

Statistics statistics_of(const NamedArray& array) {
  Statistics result;
  const size_t item = dtype_size_bytes(array.dtype);
  result.count = item == 0 ? 0 : array.bytes.size() / item;
  double sum = 0;
  for (size_t i = 0; i < result.count; ++i) {
    const double value = element_of(array, i);
    if (std::isnan(value)) {
      ++result.nan_count;
      continue;
    }
    result.least = std::min(result.least, value);
    result.most = std::max(result.most, value);
    sum += value;
  }
  const size_t numbers = result.count - result.nan_count;
  if (numbers > 0) result.mean = sum / static_cast<double>(numbers);
  result.is_meaningful = numbers > 0 && array.dtype != DType::boolean && !is_complex(array.dtype);
  return result;
}

}  // namespace

double element_of(const NamedArray& array, size_t index) {
  switch (array.dtype) {
    case DType::f32: return load<float>(array, index, 4);
    case DType::f64: return load<double>(array, index, 8);
    case DType::f16: return Half::to_float(load<uint16_t>(array, index, 2));
    case DType::bf16: return float_from_bits(uint32_t{load<uint16_t>(array, index, 2)} << 16);
    case DType::c32: return Half::to_float(load<uint16_t>(array, index, 4));
    case DType::c64: return load<float>(array, index, 8);
    case DType::c128: return load<double>(array, index, 16);
    case DType::i8:
    case DType::qi8: return load<int8_t>(array, index, 1);
    case DType::u8:
    case DType::qu8:
    case DType::boolean: return load<uint8_t>(array, index, 1);
    case DType::i16: return load<int16_t>(array, index, 2);
    case DType::u16:
    case DType::bits16: return load<uint16_t>(array, index, 2);
    case DType::i32:
    case DType::qi32: return load<int32_t>(array, index, 4);
    case DType::u32: return load<uint32_t>(array, index, 4);
    case DType::i64: return static_cast<double>(load<int64_t>(array, index, 8));
    case DType::u64: return static_cast<double>(load<uint64_t>(array, index, 8));
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

std::string array_text(DType dtype, const std::vector<int64_t>& sizes) {
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(sizes, ", "));
}

std::string summary(const NamedArray& array) {
  std::string text = fmt::format("{}  {}", array.name, array_text(array.dtype, array.sizes));
  if (array.sizes.empty()) return text + "  " + element_text(array, 0);
  const Statistics numbers = statistics_of(array);
  if (numbers.is_meaningful)
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", numbers.least, numbers.most, numbers.mean);
  if (numbers.nan_count > 0) text += fmt::format("  {} NaN", numbers.nan_count);
  text += "  [";
  for (size_t i = 0; i < std::min(numbers.count, kShownElements); ++i) text += (i ? ", " : "") + element_text(array, i);
  return text + (numbers.count > kShownElements ? ", ..]" : "]");
}

void write_summary(const NamedArray& array, compiler::JsonWriter& json) {
  json.object();
  json.field("name", array.name);
  json.field("dtype", dtype_name(array.dtype));
  json.key("sizes");
  json.array();
  for (int64_t size : array.sizes) json.value(size);
  json.end();
  const Statistics numbers = statistics_of(array);
  if (numbers.is_meaningful) {
    json.field("min", numbers.least);
    json.field("max", numbers.most);
    json.field("mean", numbers.mean);
  }
  json.field("nan_count", static_cast<uint64_t>(numbers.nan_count));
  json.end();
}

}  // namespace wick::cli
