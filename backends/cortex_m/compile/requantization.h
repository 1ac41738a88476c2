// Converts real factors to the integers by which kernels multiply and shift. C++20.
#pragma once
#include <cstdint>
#include <optional>

namespace wick::cortex_m {

/// The factor multiplier * 2^(shift - 31). The multiplier of a positive factor is at least 2^30.
struct Requantization {
  int32_t multiplier = 0, shift = 0;
};

/// The nearest such factor, halves to even; 0 is {0, 0}. Nullopt if the factor is negative or not finite, or if its
/// shift is outside the range of the kernels (kMinShift, kMaxShift).
std::optional<Requantization> requantization(double factor);

/// The same for sums of 32 bits. Factors so small that every sum rounds to 0 become 0.
std::optional<Requantization> requantization_of_sums(double factor);

/// Whether a sum of this magnitude does not overflow in the left shift before the multiplication.
bool keeps_32_bits(int64_t largest_sum, const Requantization& requantization);

/// round(value), halves to even, in any rounding mode. Requires: |value| < 2^52.
double round_half_even(double value);

}  // namespace wick::cortex_m
