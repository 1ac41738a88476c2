// Special functions in double, by plain C++: Bessel functions, the inverse error function, zeta and incomplete gamma
// functions. Error a few units in the last place in the ranges models use, relative to the largest value nearby where
// a function oscillates. C++17, freestanding.
#pragma once

namespace wick::math {

/// Inverse of erf on [-1, 1]; NaN outside.
double erfinv(double x);
/// Quantile of the standard normal distribution; NaN outside [0, 1].
double ndtri(double p);
/// exp(x^2) erfc(x).
double erfcx(double x);
/// Logarithm of the distribution function of the standard normal distribution.
double log_ndtr(double x);

/// Modified Bessel functions of the first kind; the scaled ones are times exp(-|x|).
double bessel_i0(double x);
double bessel_i1(double x);
double scaled_bessel_i0(double x);
double scaled_bessel_i1(double x);
/// Modified Bessel functions of the second kind; the scaled ones are times exp(x). NaN below 0.
double bessel_k0(double x);
double bessel_k1(double x);
double scaled_bessel_k0(double x);
double scaled_bessel_k1(double x);
/// Bessel functions of the first and second kind.
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
/// sin(x) / x.
double spherical_bessel_j0(double x);

/// Airy's function Ai.
double airy_ai(double x);

/// Hurwitz's zeta function: the sum of (q + k)^-s over k = 0, 1, ..
double zeta(double s, double q);
/// Derivative number `n` of digamma.
double polygamma(double n, double x);
/// Regularised incomplete gamma functions: lower and upper.
double gamma_lower(double a, double x);
double gamma_upper(double a, double x);

}  // namespace wick::math
