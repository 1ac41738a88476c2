#include "common/math/math.h"
#include "common/math/polynomials.h"
#include "common/math/two_doubles.h"

namespace wick::math {
namespace {

constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kRoundShift = 0x1.8p52;

double power_of_two(int exponent) { return double_of(static_cast<uint64_t>(exponent + 1023) << 52); }

}  // namespace

double scale_by_power_of_two(double value, int exponent) {
  exponent = exponent > 3000 ? 3000 : exponent < -3000 ? -3000 : exponent;
  while (exponent > 1023) {
    value *= 0x1p1023;
    exponent -= 1023;
  }
  while (exponent < -1022 - 53) {
    value *= 0x1p-969;
    exponent += 969;
  }
  // The first product is exact, so that only the second one rounds.
  if (exponent < -1022) return value * power_of_two(exponent + 200) * 0x1p-200;
  return value * power_of_two(exponent);
}

double exp_of_sum(double x, double x_lo) {
  if (!(x >= -746)) return is_nan(x) ? x : 0.0;
  if (x > 710) return kInfinity;
  const double n = (x * kLog2e + kRoundShift) - kRoundShift;
  const double hi = x - n * kLn2Hi, lo = n * kLn2Lo - x_lo;
  const double r = hi - lo;
  const double result = 1 + (hi - (lo - r * r * horner(r, kExp)));
  return scale_by_power_of_two(result, static_cast<int>(n));
}

double exp(double x) { return exp_of_sum(x, 0); }

double expm1(double x) {
  if (is_nan(x)) return x;
  if (x > 709.782712893384) return kInfinity;
  if (x < -40) return -1;
  if (abs(x) < 0.34) return abs(x) < 0x1p-54 ? x : x + x * x * horner(x, kExp);
  const double n = (x * kLog2e + kRoundShift) - kRoundShift;
  const double hi = x - n * kLn2Hi, lo = n * kLn2Lo;
  const double r = hi - lo;
  const double p = hi - (lo - r * r * horner(r, kExp));  // exp(r) - 1
  const int k = static_cast<int>(n);
  if (k > 56) return scale_by_power_of_two(1 + p, k);
  const double scale = power_of_two(k);
  return k < 53 ? scale * p + (scale - 1) : scale * (p + (1 - power_of_two(-k)));
}

}  // namespace wick::math
