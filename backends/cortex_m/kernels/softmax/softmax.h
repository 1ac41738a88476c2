// The checked arguments of softmax, and its fixed-point functions. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

constexpr int32_t kSoftmaxSumShift = 12;
constexpr int32_t kSoftmaxZeroPoint = -128;
constexpr char kSoftmaxSumTooLarge[] = "the sum of a row of softmax exceeds 31 bits";

/// exp(x) for x <= 0 with 5 integer bits; the result has no integer bits.
int32_t exp_of_negative(int32_t x);
/// round(difference * multiplier * 2^(shift - 31)), halves up, but at least INT32_MIN. Requires: difference <= 0,
/// multiplier >= 0, shift in [kMinShift, kMaxShift].
inline int32_t exponent_of(int32_t difference, int32_t multiplier, int32_t shift) {
  const int32_t right = 31 - shift;
  const int64_t value = (static_cast<int64_t>(difference) * multiplier + (int64_t{1} << (right - 1))) >> right;
  return value < INT32_MIN ? INT32_MIN : static_cast<int32_t>(value);
}
/// 1 / (1 + x) for x in [0, 1), both without integer bits.
int32_t one_over_one_plus(int32_t x);

struct Softmax {
  int32_t multiplier = 0, shift = 0, diff_min = 0;
  int64_t count = 0;  // size of a row
  size_t total = 0;
  const int8_t* x = nullptr;
  int8_t* y = nullptr;

  /// exp of a difference to the row's maximum.
  int32_t exp_of(int32_t difference) const {
    return exp_of_negative(doubling_high_mul(wrapping_shift_left(difference, shift), multiplier));
  }
};
bool read_softmax(KernelContext& context, Span<EValue*> args, Softmax* softmax);

/// Converts exp(x - max) to an element: the reciprocal of the row's sum, and a shift to the right.
struct SoftmaxScale {
  int32_t inverse, bits;
};
/// Requires: `sum` is positive. It always is, as the maximum adds 2^19.
SoftmaxScale scale_of_sum(int32_t sum);

}  // namespace wick::cortex_m
