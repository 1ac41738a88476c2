#include "common/math/float_math.h"

#include <gtest/gtest.h>
#include <math.h>

namespace wick::math::float_math_test {
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

TEST(FloatMath, RemaindersAreExact) {
  const float values[] = {0.0f,  1.0f,    0.1f,        3.5f,        7.0f,     1e-40f,
                          1e10f, 2.5e30f, 16777215.0f, 0.33333334f, INFINITY, NAN};
  for (float x : values) {
    for (float y : values) {
      for (int signs = 0; signs < 4; ++signs) {
        const float a = signs & 1 ? -x : x, b = signs & 2 ? -y : y;
        EXPECT_EQ(ulps(fmod_f(a, b), ::fmod(static_cast<double>(a), static_cast<double>(b))), 0) << a << " mod " << b;
      }
    }
  }
  for (uint32_t i = 0; i < 200000; ++i) {
    const float a = float_from_bits(0x3f800000u + i * 491u), b = float_from_bits(0x3f000000u + i * 83u);
    ASSERT_EQ(fmod_f(a, b), static_cast<float>(::fmod(static_cast<double>(a), static_cast<double>(b))))
        << a << " " << b;
  }
}

/// The value of a finite half, by its definition.
double value_of_half(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const double magnitude = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}

TEST(Half, ConvertsEveryValueBothWays) {
  for (uint32_t h = 0; h < 0x10000u; ++h) {
    const float value = Half::to_float(static_cast<uint16_t>(h));
    if ((h & 0x7c00u) == 0x7c00u) {
      EXPECT_EQ((h & 0x3ffu) != 0, ::isnan(value)) << h;
      EXPECT_EQ(std::signbit(value), (h & 0x8000u) != 0) << h;
      EXPECT_EQ(Half::from_float(value), (h & 0x3ffu) ? (h & 0x8000u) | 0x7e00u : h);
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), value_of_half(static_cast<uint16_t>(h)));
    ASSERT_EQ(Half::from_float(value), h);
    // Between this value and the next one away from zero: ties go to the even one.
    const double next =
        (h & 0x7fffu) == 0x7bffu ? (h & 0x8000u ? -65536.0 : 65536.0) : value_of_half(static_cast<uint16_t>(h + 1));
    const float middle = static_cast<float>((static_cast<double>(value) + next) / 2);
    ASSERT_EQ(Half::from_float(middle), h & 1 ? h + 1 : h);
    ASSERT_EQ(Half::from_float(::nextafterf(middle, 0)), h);
    ASSERT_EQ(Half::from_float(::nextafterf(middle, h & 0x8000u ? -INFINITY : INFINITY)), h + 1);
  }
  EXPECT_EQ(Half::from_float(3e38f), 0x7c00);
  EXPECT_EQ(Half::from_float(-1e-30f), 0x8000);
}

}  // namespace
}  // namespace wick::math::float_math_test
