// The inverse error function, zeta, polygamma and the incomplete gamma functions.
#include "common/math/special.h"

#include "common/math/math.h"

namespace wick::math {
namespace {

constexpr double kRootPi = 1.77245385090551602730;
constexpr double kRootTwo = 1.41421356237309504880;

/// y with erfc(y) = q for 0 < q <= 1, by Halley's method from an asymptotic start.
double erfc_inverse(double q) {
  if (q == 0) return kInfinity;
  double y = 1 - q;
  if (q < 0.3) {
    const double t = -log(q * kRootPi);
    y = sqrt(t - 0.5 * log(t > 1 ? t : 1));
  }
  for (int i = 0; i < 8; ++i) {
    const double ratio = (erfcx(y) - q * exp(y * y)) * kRootPi / 2;  // -f / f'
    if (!is_finite(ratio)) break;
    const double change = ratio / (1 + y * ratio);
    y += change;
    if (abs(change) < 1e-16 * abs(y)) break;
  }
  return y;
}

}  // namespace

double erfinv(double x) {
  const double magnitude = abs(x);
  if (!(magnitude <= 1)) return kNaN;
  if (magnitude > 0.5) return copy_sign(erfc_inverse(1 - magnitude), x);
  double y = x * kRootPi / 2;
  for (int i = 0; i < 8; ++i) {
    const double step = (x - erf(y)) * exp(y * y) * kRootPi / 2, change = step / (1 - y * step);
    y += change;
    if (abs(change) <= 1e-17 * abs(y)) break;
  }
  return y;
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p > 0.25 && p < 0.75) return kRootTwo * erfinv(2 * p - 1);
  return p <= 0.5 ? -kRootTwo * erfc_inverse(2 * p) : kRootTwo * erfc_inverse(2 * (1 - p));
}

double erfcx(double x) {
  const double size = abs(x);
  double value;
  if (size < 8) {
    value = exp(x * x) * erfc(size);
  } else {
    double term = 1, sum = 1;
    for (int k = 1; k < 30; ++k) sum += term *= -(2 * k - 1) / (2 * x * x);
    value = sum / (size * kRootPi);
  }
  if (x < 0) return x < -27 ? kInfinity : 2 * exp(x * x) - value;
  return value;
}

double log_ndtr(double x) {
  const double t = x / kRootTwo;
  return x < -1 ? log(erfcx(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

namespace {
/// The sum for q > 0 by Euler and Maclaurin.
double positive_zeta(double s, double q) {
  // B_2k / (2k)!
  static constexpr double kTail[] = {1.0 / 12,
                                     -1.0 / 720,
                                     1.0 / 30240,
                                     -1.0 / 1209600,
                                     1.0 / 47900160,
                                     -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0,
                                     -3617.0 / 10670622842880000.0};
  double sum = 0;
  for (; q < 12; q += 1) sum += pow(q, -s);
  const double power = pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  double factor = power * s / q;
  for (int k = 0; k < 8; ++k) {
    sum += kTail[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}
}  // namespace

double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (!(s > 1) || is_nan(q)) return kNaN;
  if (s == kInfinity || q == kInfinity) return s == kInfinity && q < 1 && q > 0 ? kInfinity : s == kInfinity && q == 1;
  if (q > 0) return positive_zeta(s, q);
  const double below = floor(q), fraction = q - below;
  if (fraction == 0) return kInfinity;
  if (s != floor(s)) return kNaN;
  // The terms below zero are those of a sum upwards with the sign of (-1)^s.
  const double steps = -below, mirrored = positive_zeta(s, 1 - fraction) - positive_zeta(s, steps + 1 - fraction);
  return positive_zeta(s, fraction) + (fmod(s, 2) == 0 ? mirrored : -mirrored);
}

double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  const double factorial = exp(lgamma(n + 1)), value = (n < 19 ? round_even(factorial) : factorial) * zeta(n + 1, x);
  return fmod(n, 2) == 0 ? -value : value;
}

namespace {

constexpr int kMaxTerms = 20000;

double scale_of(double a, double x) { return exp(a * log(x) - x - lgamma(a)); }

/// x^a e^-x / Gamma(a + 1) (1 + x / (a + 1) + ..)
double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < kMaxTerms && term > sum * 1e-17; ++k) sum += term *= x / (a + k);
  return sum * scale_of(a, x);
}

/// Lentz's continued fraction.
double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / (b == 0 ? kTiny : b), h = d;
  for (int i = 1; i < kMaxTerms; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    d = 1 / (d == 0 ? kTiny : d);
    c = b + an / c;
    c = c == 0 ? kTiny : c;
    const double change = d * c;
    h *= change;
    if (abs(change - 1) < 1e-16) break;
  }
  return h * scale_of(a, x);
}

/// The lower function; `*upper` is 1 minus it without cancellation.
double incomplete(double a, double x, double* upper) {
  double lower = 0;
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (is_inf(a) && is_inf(x))) {
    lower = *upper = kNaN;
  } else if (x == 0 || is_inf(a)) {
    *upper = 1;
  } else if (a == 0 || is_inf(x)) {
    lower = 1;
    *upper = 0;
  } else if (x < a + 1) {
    lower = lower_series(a, x);
    *upper = 1 - lower;
  } else {
    *upper = upper_fraction(a, x);
    lower = 1 - *upper;
  }
  return lower;
}

}  // namespace

double gamma_lower(double a, double x) {
  double upper;
  return incomplete(a, x, &upper);
}
double gamma_upper(double a, double x) {
  double upper;
  incomplete(a, x, &upper);
  return upper;
}

}  // namespace wick::math
