#include "common/math/math.h"
#include "common/math/two_doubles.h"

namespace wick::math {
namespace {
constexpr double kLn2 = 0.6931471805599453;
}  // namespace

double sinh(double x) {
  const double magnitude = abs(x);
  if (is_nan(x) || magnitude < 0x1p-28) return x;
  double result;
  if (magnitude < 22) {
    const double e = expm1(magnitude);
    result = magnitude < 1 ? 0.5 * (2 * e - e * e / (e + 1)) : 0.5 * (e + e / (e + 1));
  } else if (magnitude < 709) {
    result = 0.5 * exp(magnitude);
  } else {
    result = magnitude > 711 ? kInfinity : exp_of_sum(magnitude - 1, 0) * (0.5 * 2.718281828459045);
  }
  return copy_sign(result, x);
}

double cosh(double x) {
  const double magnitude = abs(x);
  if (is_nan(x)) return x;
  if (magnitude < 22) {
    const double e = exp(magnitude);
    return 0.5 * e + 0.5 / e;
  }
  if (magnitude < 709) return 0.5 * exp(magnitude);
  return magnitude > 711 ? kInfinity : exp_of_sum(magnitude - 1, 0) * (0.5 * 2.718281828459045);
}

double tanh(double x) {
  const double magnitude = abs(x);
  if (is_nan(x) || magnitude < 0x1p-28) return x;
  double result;
  if (magnitude < 1) {
    const double e = expm1(2 * magnitude);
    result = e / (e + 2);
  } else {
    result = magnitude > 22 ? 1 : 1 - 2 / (expm1(2 * magnitude) + 2);
  }
  return copy_sign(result, x);
}

double asinh(double x) {
  const double magnitude = abs(x);
  if (!is_finite(x) || magnitude < 0x1p-28) return x;
  double result;
  if (magnitude > 0x1p28) {
    result = log(magnitude) + kLn2;
  } else if (magnitude > 2) {
    result = log(2 * magnitude + 1 / (sqrt(magnitude * magnitude + 1) + magnitude));
  } else {
    const double square = magnitude * magnitude;
    result = log1p(magnitude + square / (1 + sqrt(1 + square)));
  }
  return copy_sign(result, x);
}

double acosh(double x) {
  if (!(x >= 1)) return is_nan(x) ? x : kNaN;
  if (x > 0x1p28) return x == kInfinity ? x : log(x) + kLn2;
  if (x > 2) return log(2 * x - 1 / (x + sqrt(x * x - 1)));
  const double t = x - 1;
  return log1p(t + sqrt(2 * t + t * t));
}

double atanh(double x) {
  const double magnitude = abs(x);
  if (!(magnitude < 1)) return magnitude == 1 ? copy_sign(kInfinity, x) : is_nan(x) ? x : kNaN;
  if (magnitude < 0x1p-28) return x;
  double argument;
  if (magnitude < 0.5) {
    argument = 2 * magnitude + 2 * magnitude * magnitude / (1 - magnitude);
  } else {
    argument = 2 * magnitude / (1 - magnitude);
  }
  return copy_sign(0.5 * log1p(argument), x);
}

}  // namespace wick::math
