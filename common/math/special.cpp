// The inverse error function, zeta, polygamma and the incomplete gamma functions.
#include "common/math/special.h"

#include "common/math/math.h"
#include "common/math/polynomials.h"

namespace wick::math {
namespace {

constexpr double kRootPi = 1.77245385090551602730;
constexpr double kRootTwo = 1.41421356237309504880;

// The quantile of the standard normal distribution by rational functions.   Source: Wichura's algorithm AS 241, PPND16.
// x / q in 0.180625 - q^2, q = p - 1/2, |q| <= 0.425.
constexpr double kMiddle[] = {3.3871328727963666080,    1.3314166789178437745e+2, 1.9715909503065514427e+3,
                              1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                              3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kMiddleUnder[] = {1,
                                   4.2313330701600911252e+1,
                                   6.8718700749205790830e+2,
                                   5.3941960214247511077e+3,
                                   2.1213794301586595867e+4,
                                   3.9307895800092710610e+4,
                                   2.8729085735721942674e+4,
                                   5.2264952788528545610e+3};
// -x in r - 1.6, r = sqrt(-log(p)), r <= 5.
constexpr double kNearTail[] = {1.42343711074968357734,    4.63033784615654529590,   5.76949722146069140550,
                                3.64784832476320460504,    1.27045825245236838258,   2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kNearTailUnder[] = {1,
                                     2.05319162663775882187,
                                     1.67638483018380384940,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
// -x in r - 5, 5 < r <= 27.
constexpr double kFarTail[] = {6.65790464350110377720,    5.46378491116411436990,    1.78482653991729133580,
                               2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kFarTailUnder[] = {1,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};

constexpr double kMiddleHalf = 0.425;

double middle_quantile(double q) {
  const double z = 0.180625 - q * q;
  return q * horner(z, kMiddle) / horner(z, kMiddleUnder);
}

/// The quantile of 1 - p. Requires: p < 1/2 - kMiddleHalf.
double tail_quantile(double p) {
  if (p <= 0) return kInfinity;
  const double r = sqrt(-log(p));
  return r <= 5 ? horner(r - 1.6, kNearTail) / horner(r - 1.6, kNearTailUnder)
                : horner(r - 5, kFarTail) / horner(r - 5, kFarTailUnder);
}

}  // namespace

double erfinv(double x) {
  const double magnitude = abs(x);
  if (!(magnitude <= 1)) return kNaN;
  if (magnitude <= 2 * kMiddleHalf) return middle_quantile(x / 2) / kRootTwo;
  return copy_sign(tail_quantile((1 - magnitude) / 2) / kRootTwo, x);
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  const double q = p - 0.5;
  if (abs(q) <= kMiddleHalf) return middle_quantile(q);
  return q < 0 ? -tail_quantile(p) : tail_quantile(1 - p);
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
/// The zeta function for q > 0, by Euler and Maclaurin.
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
  // The terms with q + k < 0 are (-1)^s times those of a sum of positive numbers.
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

/// The upper function by Lentz's continued fraction.
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

/// The lower incomplete gamma function; `*upper` is 1 minus it, without cancellation.
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
