// Airy's function Ai: its power series near 0; elsewhere the integral of exp(-t) t^(-1/6) (1 + t / (2 z))^(-1/6) over
// t > 0, where z = 2/3 |x|^(3/2), or i times that for negative x, by the double exponential rule.
// Error a few units in the last place, relative to the amplitude where it oscillates; eager's own is 1e-5 near -2.1.
#include "common/math/math.h"
#include "common/math/special.h"

namespace wick::math {
namespace {

/// Ai(x) = Ai(0) f - (-Ai'(0)) g for |x| <= 1.
double series(double x) {
  const double cube = x * x * x;
  double f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; k < 12; ++k) {
    f += f_term *= cube / ((3.0 * k - 1) * (3.0 * k));
    g += g_term *= cube / ((3.0 * k) * (3.0 * k + 1));
  }
  return 0.35502805388781723926 * f - 0.25881940379280679841 * g;
}

/// The integral divided by Gamma(5/6) for real z, or for z = i |z|.
struct Complex {
  double re, im;
};
Complex integral(double z, bool imaginary) {
  constexpr double kGamma = 1.1287870299081259612;
  constexpr double kStep = 1.0 / 32;
  Complex sum = {0, 0};
  for (int i = -160; i <= 160; ++i) {
    const double v = i * kStep, decay = exp(-v), t = exp(v - decay);
    if (t < 1e-300 || t > 720) continue;
    const double log_t = v - decay, ratio = t / (2 * z);
    const double weight = (1 + decay) * exp(log_t * (5.0 / 6) - t);
    if (!imaginary) {
      sum.re += weight * exp(log1p(ratio) * (-1.0 / 6));
      continue;
    }
    // (1 - i ratio)^(-1/6)
    const double size = exp(log1p(ratio * ratio) * (-1.0 / 12)), angle = atan(ratio) / 6;
    sum.re += weight * size * cos(angle);
    sum.im += weight * size * sin(angle);
  }
  return {sum.re * kStep / kGamma, sum.im * kStep / kGamma};
}

}  // namespace

double airy_ai(double x) {
  if (!is_finite(x)) return kNaN;
  const double size = abs(x);
  if (size <= 1) return series(x);
  if (x > 104) return 0;
  constexpr double kRootPi = 1.7724538509055160273;
  const double z = size * sqrt(size) * 2 / 3, scale = 1 / (kRootPi * sqrt(sqrt(size)));
  const Complex i = integral(z, x < 0);
  if (x > 0) return exp(-z) / 2 * scale * i.re;
  // The real part of exp(i (pi / 4 - z)) times the integral.
  const double c = cos(z - kPi / 4), s = sin(z - kPi / 4);
  return scale * (c * i.re + s * i.im);
}

}  // namespace wick::math
