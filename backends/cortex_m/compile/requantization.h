// Real factors as the integers that kernels multiply and shift by. C++20.
#pragma once
#include <cstdint>
#include <optional>

namespace wick::cortex_m {

/// Stands for multiplier * 2^(shift - 31). The multiplier of a positive factor is at least 2^30.
struct Requantization {
  int32_t multiplier = 0, shift = 0;
};

/// The nearest one, halves to even. Nothing if the factor is negative, not finite, or so large or small that the shift
/// is outside what kernels take (kMinShift, kMaxShift). 0 is {0, 0}.
std::optional<Requantization> requantization(double factor);

/// The same for sums of 32 bits: 0 is also what stands for factors so small that all of them round to 0.
std::optional<Requantization> requantization_of_sums(double factor);

/// Whether a sum of at most this size survives the shift to the left that comes before the multiplication.
bool keeps_32_bits(int64_t largest_sum, const Requantization& requantization);

/// round(value), halves to even, whatever rounding mode the process has. |value| < 2^52.
double round_half_even(double value);

}  // namespace wick::cortex_m
