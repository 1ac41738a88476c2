#include "common/math/math.h"
#include "common/math/polynomials.h"
#include "common/math/two_doubles.h"

namespace wick::math {
namespace {

/// x = 2^exponent * (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)), exact. x positive, finite.
void split(double x, int* exponent, double* fraction) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  // Adding the distance from sqrt(1/2) to 1 moves the carry into the exponent at sqrt(2).
  const uint64_t bits = bits_of(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  k += static_cast<int>(bits >> 52) - 1023;
  *fraction = double_of((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1;
  *exponent = k;
}

/// k ln 2 + log(1 + f + f_lo), f_lo below one unit in the last place of 1 + f.
double combine(int k, double f, double f_lo) {
  const double s = f / (2 + f), z = s * s;
  const double half_square = 0.5 * f * f;
  const double tail = s * (half_square + z * horner(z, kLog)) + (k * kLn2Lo + f_lo);
  return k * kLn2Hi - ((half_square - tail) - f);
}

/// Handles arguments without a finite logarithm. True if `*result` is the answer.
bool is_special(double x, double* result) {
  if (x > 0 && x < kInfinity) return false;
  *result = x == 0 ? -kInfinity : x < 0 ? kNaN : x;
  return true;
}

}  // namespace

double log(double x) {
  double special;
  if (is_special(x, &special)) return special;
  int k;
  double f;
  split(x, &k, &f);
  return combine(k, f, 0);
}

double log1p(double x) {
  if (!(x > -1)) return x == -1 ? -kInfinity : is_nan(x) ? x : kNaN;
  if (x == kInfinity) return x;
  if (x > -0.29 && x < 0.41) return abs(x) < 0x1p-54 ? x : combine(0, x, 0);
  const TwoDoubles sum = two_sum(1, x);
  int k;
  double f;
  split(sum.hi, &k, &f);
  return combine(k, f, sum.lo / sum.hi);
}

TwoDoubles log_accurate(double x) {
  int k;
  double f;
  split(x, &k, &f);
  // s = f / (2 + f) with its rounding error, then log(1 + f) = 2 s (1 + z/3 + z^2/5 + ..), z = s^2.
  const TwoDoubles d = fast_two_sum(2, f);
  const double s_hi = f / d.hi;
  const TwoDoubles back = two_product(s_hi, d.hi);
  const TwoDoubles s = {s_hi, (((f - back.hi) - back.lo) - s_hi * d.lo) / d.hi};
  const TwoDoubles z = multiply(s, s);
  constexpr TwoDoubles kThird = {0.3333333333333333, 1.850371707708594e-17};
  constexpr TwoDoubles kFifth = {0.2, -1.1102230246251566e-17};
  const TwoDoubles inner = add(kFifth, {z.hi * horner(z.hi, kLogTail), 0});
  const TwoDoubles series = multiply(z, add(kThird, multiply(z, inner)));
  const TwoDoubles two_s = {2 * s.hi, 2 * s.lo};
  const TwoDoubles fraction_log = add(two_s, multiply(two_s, series));
  const TwoDoubles power_log = fast_two_sum(k * kLn2Hi, k * kLn2Lo);
  return add(power_log, fraction_log);
}

double log2(double x) {
  double special;
  if (is_special(x, &special)) return special;
  int k;
  double f;
  split(x, &k, &f);
  const TwoDoubles scaled = multiply(log_accurate(1 + f), {1.4426950408889634, 2.0355273740931033e-17});
  const TwoDoubles sum = two_sum(static_cast<double>(k), scaled.hi);
  return sum.hi + (sum.lo + scaled.lo);
}

double log10(double x) {
  double special;
  if (is_special(x, &special)) return special;
  const TwoDoubles scaled = multiply(log_accurate(x), {0.4342944819032518, 1.098319650216765e-17});
  return scaled.hi + scaled.lo;
}

}  // namespace wick::math
