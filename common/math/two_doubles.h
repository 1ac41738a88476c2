// Exact sums and products of doubles without fused multiply-add, and constants in two parts.
#pragma once
#include "common/math/math.h"

namespace wick::math {

constexpr double kLn2Hi = 0x1.62e42fefa3800p-1;  // 42 bits: n * kLn2Hi is exact for |n| < 2^11
constexpr double kLn2Lo = 0x1.ef35793c76730p-45;
constexpr double kHalfPiHi = 1.5707963267948966, kHalfPiLo = 6.123233995736766e-17;

/// a + b exactly, |a| >= |b|.
inline TwoDoubles fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
/// a + b exactly.
inline TwoDoubles two_sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
/// a * b exactly, |a|, |b| < 2^990 and no underflow. Source: Dekker 1971.
inline TwoDoubles two_product(double a, double b) {
  const double a_scaled = a * 134217729.0, b_scaled = b * 134217729.0;  // 2^27 + 1
  const double a_hi = a_scaled - (a_scaled - a), a_lo = a - a_hi;
  const double b_hi = b_scaled - (b_scaled - b), b_lo = b - b_hi;
  const double product = a * b;
  return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}
inline TwoDoubles add(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles sum = two_sum(a.hi, b.hi);
  return fast_two_sum(sum.hi, sum.lo + (a.lo + b.lo));
}
inline TwoDoubles multiply(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles product = two_product(a.hi, b.hi);
  return fast_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

}  // namespace wick::math
