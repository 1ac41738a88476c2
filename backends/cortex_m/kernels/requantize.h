// The fixed-point arithmetic of all kernels: bit-exact with CMSIS-NN's double rounding. C++17, freestanding.
#pragma once
#include <stdint.h>

namespace wick::cortex_m {

constexpr int32_t kMinShift = -31, kMaxShift = 30;

/// Sums and products that wrap at 32 bits.
inline int32_t wrapping_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t wrapping_mul(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
inline int32_t wrapping_shift_left(int32_t value, int32_t shift) {
  return static_cast<int32_t>(static_cast<uint32_t>(value) << shift);
}

/// round(a * b / 2^31), halves up. Saturates if the result is 2^31, which happens if both factors are INT32_MIN.
inline int32_t doubling_high_mul(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
  return static_cast<int32_t>((static_cast<int64_t>(a) * b + (int64_t{1} << 30)) >> 31);
}

/// round(value / 2^exponent), halves away from zero. Requires: exponent in [0, 31].
inline int32_t divide_by_power_of_two(int32_t value, int32_t exponent) {
  const int64_t half = exponent == 0 ? 0 : int64_t{1} << (exponent - 1);
  const int64_t nudged = static_cast<int64_t>(value) + half - (value < 0 && exponent > 0 ? 1 : 0);
  return static_cast<int32_t>(nudged >> exponent);
}

/// value * multiplier * 2^(shift - 31), rounded in two steps. Requires: multiplier > INT32_MIN, shift in [kMinShift,
/// kMaxShift]. A left shift wraps. MVE's vector form (saturating multiplication, a correction of the sign, a rounding
/// shift) gives the same: it differs only if both factors are INT32_MIN.
inline int32_t requantize(int32_t value, int32_t multiplier, int32_t shift) {
  const int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
  return divide_by_power_of_two(doubling_high_mul(wrapping_shift_left(value, left), multiplier), right);
}

/// value * multiplier * 2^(shift - 31) with the multiplier rounded to 16 bits first; halves up. Products wrap at 64
/// bits, results at 32. Requires: shift in [kMinShift, kMaxWideShift]. Source: arm_nn_requantize_s64.
constexpr int32_t kMaxWideShift = 14;
inline int32_t requantize_wide(int64_t value, int32_t multiplier, int32_t shift) {
  const int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
  const auto product = static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(int64_t{reduced}));
  return wrapping_add(static_cast<int32_t>(product >> (14 - shift)), 1) >> 1;
}

/// The last steps of a kernel: from its int32 accumulator to an element of its output.
struct OutputStage {
  int32_t multiplier = 0, shift = 0, offset = 0, min = INT8_MIN, max = INT8_MAX;

  int8_t operator()(int32_t accumulator) const {
    const int32_t value = wrapping_add(requantize(accumulator, multiplier, shift), offset);
    return static_cast<int8_t>(value < min ? min : value > max ? max : value);
  }
};

}  // namespace wick::cortex_m
