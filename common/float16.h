// 16-bit floats as storage types: convert to float, compute there, convert back (round to nearest even).
#pragma once
#include <stdint.h>
#include <string.h>

namespace wick {

inline float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bits_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// IEEE 754 binary16.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(from_float(value)) {}
  operator float() const { return to_float(bits); }

  // Both directions select between their cases without branches, so that loops over them vectorise.
  static float to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t shifted = static_cast<uint32_t>(h & 0x7fffu) << 13;
    const uint32_t exponent = h & 0x7c00u;
    // Subnormal: 2^-14 + mantissa * 2^-24, less 2^-14; exact.
    const uint32_t subnormal = bits_from_float(float_from_bits(shifted + 0x38800000u) - 6.103515625e-05f);
    const uint32_t normal = shifted + (exponent == 0x7c00u ? 0x70000000u : 0x38000000u);
    return float_from_bits(sign | (exponent == 0 ? subnormal : normal));
  }
  static uint16_t from_float(float value) {
    const uint32_t bits = bits_from_float(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t odd = (magnitude >> 13) & 1;
    uint32_t half = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
    // Below the smallest normal: adding 0.5 puts the rounded result in the low mantissa bits.
    const uint32_t small = magnitude < 0x38800000u ? magnitude : 0u;
    const uint32_t subnormal = bits_from_float(float_from_bits(small) + 0.5f) - 0x3f000000u;
    half = magnitude < 0x38800000u ? subnormal : half;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // rounds to 65520 or more
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    return static_cast<uint16_t>(sign | half);
  }
};

/// The upper half of a float.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(from_float(value)) {}
  operator float() const { return float_from_bits(static_cast<uint32_t>(bits) << 16); }

  static uint16_t from_float(float value) {
    const uint32_t b = bits_from_float(value);
    const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1)) >> 16;
    return static_cast<uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
};

}  // namespace wick
