#include "common/math/float_math.h"

#include <gtest/gtest.h>
#include <math.h>

namespace wick::math {
namespace {

double ulps(float actual, double wanted) {
  const float rounded = static_cast<float>(wanted);
  if (::isnan(actual) || ::isnan(rounded)) return ::isnan(actual) == ::isnan(rounded) ? 0 : 1e30;
  if (::isinf(actual) || ::isinf(rounded)) return actual == rounded ? 0 : 1e30;
  if (actual == 0 && rounded == 0) return std::signbit(actual) == std::signbit(rounded) ? 0 : 1e30;
  int exponent;
  ::frexp(rounded == 0 ? 1e-45 : rounded, &exponent);
  return fabs(actual - wanted) / ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

/// Every 997th float of all signs and magnitudes, and the edges.
void expect_close(const char* name, float (*mine)(float), double (*truth)(double), double limit) {
  double worst = 0;
  float worst_x = 0;
  auto check = [&](uint32_t bits) {
    const float x = float_from_bits(bits);
    const double error = ulps(mine(x), truth(x));
    if (error > worst) worst = error, worst_x = x;
  };
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 997) check(bits), check(bits | 0x80000000u);
  for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f7fffffu, 0xff7fffffu, 1u, 0x80000001u}) check(bits);
  EXPECT_LE(worst, limit) << name << "(" << worst_x << ") = " << mine(worst_x) << ", wanted " << truth(worst_x);
}

TEST(FloatMath, FastFunctionsAreWithinTwoUlp) {
  expect_close("exp_f", exp_f, ::exp, 1);
  expect_close("tanh_f", tanh_f, ::tanh, 2);
  expect_close("erf_f", erf_f, ::erf, 3);
  // Below -88 exp(-x) overflows to infinity and the quotient is 0, as in eager.
  expect_close(
      "sigmoid_f", [](float x) { return x < -88 ? 0.0f : sigmoid_f(x); },
      [](double x) { return x < -88 ? 0.0 : 1 / (1 + ::exp(-x)); }, 2.5);
}

TEST(FloatMath, RoundingIsExact) {
  expect_close("round", round_even_f, ::nearbyint, 0);
  expect_close("floor", floor_f, ::floor, 0);
  expect_close("ceil", ceil_f, ::ceil, 0);
  expect_close("trunc", trunc_f, ::trunc, 0);
}

TEST(FloatMath, FunctionsComputedInDoubleAreBelowOneUlp) {
  expect_close("log_f", log_f, ::log, 0.51);
  expect_close("sin_f", sin_f, ::sin, 0.51);
  expect_close("cos_f", cos_f, ::cos, 0.51);
  expect_close("expm1_f", expm1_f, ::expm1, 0.51);
  expect_close("log1p_f", log1p_f, ::log1p, 0.51);
}

}  // namespace
}  // namespace wick::math
