#include "tests/conformance/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/float16.h"

namespace wick::conformance {
namespace {

template <typename T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Element `i` of a floating dtype; a complex element counts as two.
double element(DType dtype, const std::vector<uint8_t>& bytes, size_t i) {
  switch (dtype) {
    case DType::f16: return Half::to_float(load<uint16_t>(&bytes[i * 2]));
    case DType::bf16: return float_from_bits(static_cast<uint32_t>(load<uint16_t>(&bytes[i * 2])) << 16);
    case DType::f32:
    case DType::c64: return load<float>(&bytes[i * 4]);
    default: return load<double>(&bytes[i * 8]);
  }
}

bool agree(double got, double want, Tolerance tolerance) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  if (!std::isfinite(got) || !std::isfinite(want)) return false;
  return std::fabs(got - want) <= tolerance.absolute + tolerance.relative * std::fabs(want);
}

std::string shape_text(const HostTensor& tensor) {
  return fmt::format("{}[{}]", dtype_name(tensor.dtype), fmt::join(tensor.sizes, ", "));
}

int64_t integer(DType dtype, const uint8_t* at) {
  switch (dtype) {
    case DType::i8: return load<int8_t>(at);
    case DType::i16: return load<int16_t>(at);
    case DType::i32: return load<int32_t>(at);
    case DType::u16: return load<uint16_t>(at);
    case DType::u32: return load<uint32_t>(at);
    case DType::i64:
    case DType::u64: return load<int64_t>(at);
    default: return *at;
  }
}

}  // namespace

double largest_element(const HostTensor& tensor) {
  const bool complex = is_complex(tensor.dtype);
  const size_t step = dtype_size_bytes(tensor.dtype) / (complex ? 2 : 1);
  double largest = 0;
  for (size_t i = 0; i < tensor.bytes.size() / step; ++i) {
    const double value = std::fabs(element(tensor.dtype, tensor.bytes, i));
    if (std::isfinite(value) && value > largest) largest = value;
  }
  return largest;
}

Tolerance tolerance_of(const compiler::Tolerances& tolerances, const HostTensor& want) {
  Tolerance out;
  switch (want.dtype) {
    case DType::f16: out = tolerances.f16; break;
    case DType::bf16: out = tolerances.bf16; break;
    case DType::f32:
    case DType::c64: out = tolerances.f32; break;
    case DType::f64:
    case DType::c128: out = tolerances.f64; break;
    default: return {};
  }
  if (out.of_largest != 0) out.absolute = std::max(out.absolute, out.of_largest * largest_element(want));
  return out;
}

std::string shape_difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype == want.dtype && got.sizes == want.sizes) return "";
  return fmt::format("got {}, expected {}", shape_text(got), shape_text(want));
}

std::string difference(const HostTensor& got, const HostTensor& want, Tolerance tolerance,
                       const std::vector<size_t>& quirks) {
  if (std::string shape = shape_difference(got, want); !shape.empty()) return shape;
  if (got.bytes.size() != want.bytes.size())
    return fmt::format("got {} bytes, expected {}", got.bytes.size(), want.bytes.size());
  const bool complex = is_complex(want.dtype), floating = is_floating(want.dtype) || complex;
  const size_t step = dtype_size_bytes(want.dtype) / (complex ? 2 : 1), count = step ? want.bytes.size() / step : 0;
  std::string first;
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool is_quirk = std::find(quirks.begin(), quirks.end(), i) != quirks.end();
    const bool by_value = floating && step > 1;
    const double a =
        by_value ? element(want.dtype, got.bytes, i) : static_cast<double>(integer(want.dtype, &got.bytes[i * step]));
    const double b =
        by_value ? element(want.dtype, want.bytes, i) : static_cast<double>(integer(want.dtype, &want.bytes[i * step]));
    const bool same =
        by_value ? agree(a, b, tolerance) : std::memcmp(&got.bytes[i * step], &want.bytes[i * step], step) == 0;
    if (same != is_quirk) continue;
    if (wrong++ == 0)
      first = fmt::format("[{}] got {:.9g}, expected {:.9g}{}", i, a, b, is_quirk ? " and a difference" : "");
  }
  return wrong == 0 ? "" : fmt::format("{} of {} elements of {} differ: {}", wrong, count, shape_text(want), first);
}

double largest_error(const HostTensor& got, const HostTensor& want) {
  const bool complex = is_complex(want.dtype);
  const size_t step = dtype_size_bytes(want.dtype) / (complex ? 2 : 1);
  const auto value = [&](const HostTensor& tensor, size_t i) {
    return is_floating(want.dtype) || complex ? element(want.dtype, tensor.bytes, i)
                                              : static_cast<double>(integer(want.dtype, &tensor.bytes[i * step]));
  };
  double largest = 0;
  for (size_t i = 0; i < want.bytes.size() / step; ++i) {
    const double a = value(got, i), b = value(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
    largest = std::max(largest, std::fabs(a - b));
  }
  return largest;
}

void overlook_infinite(HostTensor& got, const HostTensor& want) {
  if (!is_floating(want.dtype)) return;
  const size_t step = dtype_size_bytes(want.dtype);
  for (size_t i = 0; i < want.bytes.size() / step; ++i) {
    if (!std::isfinite(element(want.dtype, want.bytes, i)))
      std::memcpy(&got.bytes[i * step], &want.bytes[i * step], step);
  }
}

}  // namespace wick::conformance
