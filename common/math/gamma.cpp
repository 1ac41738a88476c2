#include "common/math/math.h"

namespace wick::math {
namespace {

constexpr double kHalfLogTwoPi = 0.9189385332046728;
constexpr double kLogPi = 1.1447298858494002;

/// sin(pi x) without the rounding error of the product.
double sin_pi(double x) {
  const double rest = fmod(abs(x), 2);
  const double n = round_even(rest * 2);
  const double angle = (rest - 0.5 * n) * kPi;
  const int quadrant = static_cast<int>(n) & 3;
  const double value = (quadrant & 1) ? cos(angle) : sin(angle);
  return copy_sign(1, x) * ((quadrant & 2) ? -value : value);
}

/// log gamma, x > 0: shifts x to at least 12, then Stirling's series.
double log_gamma_positive(double x) {
  if (x == 1 || x == 2) return 0;
  if (x > 1e17) return x * (log(x) - 1);
  double product = 1;
  while (x < 12) {
    product *= x;
    x += 1;
  }
  const double w = 1 / (x * x);
  const double series =
      (1.0 / 12 -
       w * (1.0 / 360 - w * (1.0 / 1260 - w * (1.0 / 1680 - w * (1.0 / 1188 - w * (691.0 / 360360 - w / 156)))))) /
      x;
  return (x - 0.5) * log(x) - x + kHalfLogTwoPi + series - log(product);
}

}  // namespace

double lgamma(double x) {
  if (is_nan(x)) return x;
  if (is_inf(x)) return kInfinity;
  if (x > 0) return log_gamma_positive(x);
  if (floor(x) == x) return kInfinity;
  if (abs(x) < 0x1p-54) return -log(abs(x));
  return kLogPi - log(abs(sin_pi(x))) - log_gamma_positive(1 - x);
}

double digamma(double x) {
  if (x == 0) return copy_sign(kInfinity, -x);
  if (is_nan(x) || x == kInfinity) return x;
  double result = 0;
  if (x < 0) {
    if (is_inf(x) || floor(x) == x) return kNaN;
    // digamma(1 - x) - digamma(x) = pi / tan(pi x)
    const double rest = x - trunc(x);
    result = -kPi / tan(kPi * rest);
    x = 1 - x;
  }
  while (x < 12) {
    result -= 1 / x;
    x += 1;
  }
  const double w = 1 / (x * x);
  const double series =
      w *
      (1.0 / 12 - w * (1.0 / 120 - w * (1.0 / 252 - w * (1.0 / 240 - w * (1.0 / 132 - w * (691.0 / 32760 - w / 12))))));
  return result + log(x) - 0.5 / x - series;
}

}  // namespace wick::math
