// Deterministic mathematical functions: plain C++ without libm, tables of the host or contraction, so every host and
// compiler gives the same bits. Arguments and results at infinities, NaN, signed zeros and subnormals are those of C99.
// Error in units in the last place: double functions at most 2 (erfc 3), float versions (computed in double) below 1.
// Fast float versions for hot loops: float_math.h. C++17, freestanding.
#pragma once
#include <stdint.h>
#include <string.h>

namespace wick::math {

inline uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

constexpr double kInfinity = __builtin_inf();
constexpr double kNaN = __builtin_nan("");
constexpr double kPi = 3.141592653589793;

inline double abs(double x) { return double_of(bits_of(x) & ~(uint64_t{1} << 63)); }
inline bool is_nan(double x) { return x != x; }
inline bool is_inf(double x) { return abs(x) == kInfinity; }
inline bool is_finite(double x) { return abs(x) < kInfinity; }
inline bool sign_bit(double x) { return (bits_of(x) >> 63) != 0; }
inline double copy_sign(double x, double sign) {
  return double_of((bits_of(x) & ~(uint64_t{1} << 63)) | (bits_of(sign) & (uint64_t{1} << 63)));
}

/// Exact.
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float sqrt(float x) { return __builtin_sqrtf(x); }

/// To the nearest integer, ties to even. Exact; keeps the sign of zero.
inline double round_even(double x) {
  const double magnitude = abs(x), shift = 0x1p52;
  const double rounded = magnitude < shift ? (magnitude + shift) - shift : magnitude;
  return is_nan(x) ? x : copy_sign(rounded, x);
}
inline double floor(double x) {
  const double rounded = round_even(x);
  return copy_sign(rounded > x ? rounded - 1 : rounded, x);
}
inline double ceil(double x) {
  const double rounded = round_even(x);
  return copy_sign(rounded < x ? rounded + 1 : rounded, x);
}
inline double trunc(double x) { return sign_bit(x) ? ceil(x) : floor(x); }

/// value * 2^exponent, rounded once when the result is subnormal.
double scale_by_power_of_two(double value, int exponent);
/// The remainder of x / y with the sign of x. Exact.
double fmod(double x, double y);

double exp(double x);
double expm1(double x);
double log(double x);
double log1p(double x);
double log2(double x);
double log10(double x);
double pow(double x, double y);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double atan2(double y, double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double erf(double x);
double erfc(double x);
/// log |gamma(x)|. Absolute error 1e-14 near its zeros at 1 and 2 and on the negative axis.
double lgamma(double x);
/// Derivative of log gamma. Relative error 1e-13 away from its zeros.
double digamma(double x);

/// A value as the unevaluated sum hi + lo, |lo| at most half a unit in the last place of hi.
struct TwoDoubles {
  double hi, lo;
};
/// log(x) to about 2^-68, x positive and finite.
TwoDoubles log_accurate(double x);
/// exp(hi + lo).
double exp_of_sum(double hi, double lo);

}  // namespace wick::math
