// The 8-bit floats of the OCP and fnuz families, as storage types.
#include "common/float16.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

struct Format {
  int mantissa_bits;
  int bias;
  bool fnuz;      // one NaN (0x80), no negative zero, no infinity
  bool infinity;  // e5m2: the largest exponent means infinity or NaN
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f8e5m2: return {2, 15, false, true};
    case DType::f8e4m3fn: return {3, 7, false, false};
    case DType::f8e5m2fnuz: return {2, 16, true, false};
    default: return {3, 8, true, false};
  }
}

/// 2^exponent for -149 <= exponent <= 127.
float power_of_two(int exponent) {
  return exponent >= -126 ? float_from_bits(static_cast<uint32_t>(exponent + 127) << 23)
                          : float_from_bits(1u << (exponent + 149));
}

/// f8e8m0fnu is a bare exponent: rounds to the nearest power of two, ties away from zero in the exponent.
uint8_t e8m0_from_float(float value) {
  const uint32_t bits = bits_from_float(value);
  const uint32_t exponent = (bits >> 23) & 0xff;
  if (exponent == 0xff) return 0xff;
  const bool half = bits & 0x400000u;
  const bool rest = bits & 0x3fffffu;
  const bool up = half && (exponent > 0 || rest);
  return static_cast<uint8_t>(exponent + (up ? 1 : 0));
}

}  // namespace

float float_from_f8(uint8_t bits, DType dtype) {
  const float nan = float_from_bits(0x7fc00000u);
  if (dtype == DType::f8e8m0fnu) return bits == 0xff ? nan : power_of_two(static_cast<int>(bits) - 127);
  const Format format = format_of(dtype);
  const int exponent = (bits & 0x7f) >> format.mantissa_bits;
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  if (format.fnuz && bits == 0x80) return nan;
  if (format.infinity && exponent == 31) {
    return mantissa ? nan : float_from_bits(0x7f800000u | static_cast<uint32_t>(bits & 0x80) << 24);
  }
  if (dtype == DType::f8e4m3fn && (bits & 0x7f) == 0x7f) return nan;
  const int scale = (exponent ? exponent : 1) - format.bias - format.mantissa_bits;
  const float value =
      static_cast<float>(exponent ? mantissa | 1 << format.mantissa_bits : mantissa) * power_of_two(scale);
  return bits & 0x80 ? -value : value;
}

uint8_t f8_from_float(float value, DType dtype) {
  if (dtype == DType::f8e8m0fnu) return e8m0_from_float(value);
  const Format format = format_of(dtype);
  const uint32_t bits = bits_from_float(value);
  const uint8_t sign = static_cast<uint8_t>(bits >> 24 & 0x80);
  const uint8_t not_a_number = format.fnuz ? 0x80 : static_cast<uint8_t>(sign | 0x7f);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return not_a_number;
  // e4m3fn saturates, infinity too; the fnuz formats overflow to NaN.
  const uint8_t overflow = format.infinity ? static_cast<uint8_t>(sign | 0x7c)
                           : format.fnuz   ? not_a_number
                                           : static_cast<uint8_t>(sign | 0x7e);
  if (magnitude == 0x7f800000u) return overflow;
  // Exponent of the result's last place, then round the magnitude to a whole number of such places.
  const int min_exponent = 1 - format.bias;
  const int value_exponent = static_cast<int>(magnitude >> 23) - 127;
  const int exponent = value_exponent < min_exponent ? min_exponent : value_exponent;
  const int drop = 23 - format.mantissa_bits + (exponent - (value_exponent < -126 ? -126 : value_exponent));
  const uint32_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
  uint32_t places = 0;
  if (drop < 26) {
    const uint32_t half = 1u << (drop - 1);
    const uint32_t odd = significand >> drop & 1;
    places = (significand + half - 1 + odd) >> drop;
  }
  // `places` counts from the bottom of this binade; carrying into the next one is what the encoding does by itself.
  const uint32_t encoded = places + (static_cast<uint32_t>(exponent - min_exponent) << format.mantissa_bits);
  const uint32_t largest = format.infinity ? 0x7b : format.fnuz ? 0x7f : 0x7e;
  if (encoded > largest) return overflow;
  if (format.fnuz && encoded == 0) return 0;
  return static_cast<uint8_t>(sign | encoded);
}

}  // namespace kernels
}  // namespace wick
