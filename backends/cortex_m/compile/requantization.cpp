#include "backends/cortex_m/compile/requantization.h"

#include <cmath>

#include "backends/cortex_m/kernels/requantize.h"

namespace wick::cortex_m {

double round_half_even(double value) {
  const double below = std::floor(value), rest = value - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return up ? below + 1 : below;
}

std::optional<Requantization> requantization(double factor) {
  if (!std::isfinite(factor) || factor < 0) return {};
  if (factor == 0) return Requantization{};
  int shift = 0;
  double steps = round_half_even(std::ldexp(std::frexp(factor, &shift), 31));
  if (steps == 0x1p31) {
    steps = 0x1p30;
    ++shift;
  }
  if (shift < kMinShift || shift > kMaxShift) return {};
  return Requantization{static_cast<int32_t>(steps), shift};
}

std::optional<Requantization> requantization_of_sums(double factor) {
  constexpr double kLeast = 0x1p-32;  // 2^31 times less than this rounds to 0
  return factor >= 0 && factor < kLeast ? Requantization{} : requantization(factor);
}

bool keeps_32_bits(int64_t largest_sum, const Requantization& requantization) {
  const int left = requantization.shift > 0 ? requantization.shift : 0;
  return largest_sum <= (int64_t{INT32_MAX} >> left);
}

}  // namespace wick::cortex_m
