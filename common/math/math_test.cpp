#include "common/math/math.h"

#include <gtest/gtest.h>
#include <math.h>

#include <initializer_list>

#include "common/math/arithmetic.h"

namespace wick::math::math_test {
namespace {

constexpr double kEdges[] = {0.0,     -0.0,   1.0,     -1.0,     2.0,    -2.0,  0.5,    -0.5,     1e-300,
                             -1e-300, 5e-324, -5e-324, 1e300,    -1e300, 1e-20, -1e-20, INFINITY, -INFINITY,
                             NAN,     3.0,    -3.0,    2.5,      -2.5,   1.5,   710.0,  -745.2,   708.9,
                             -708.5,  0x1p52, 0x1p53,  0x1.8p52, 1e22,   88.7,  -104.0, 0.25,     0.75};

/// Distance in units in the last place of the wanted value; 0 for equal or both NaN, huge if only one is special.
double ulps(double actual, long double wanted) {
  const double rounded = static_cast<double>(wanted);
  if (::isnan(actual) || ::isnan(rounded)) return ::isnan(actual) == ::isnan(rounded) ? 0 : 1e30;
  if (::isinf(actual) || ::isinf(rounded)) return actual == rounded ? 0 : 1e30;
  if (rounded == 0 && actual == 0) return std::signbit(actual) == std::signbit(rounded) ? 0 : 1e30;
  int exponent;
  ::frexp(rounded == 0 ? 5e-324 : rounded, &exponent);
  return static_cast<double>(fabsl(actual - wanted) / ldexpl(1, exponent - 53 < -1074 ? -1074 : exponent - 53));
}

using Unary = double (*)(double);
using LongUnary = long double (*)(long double);

void expect_close(const char* name, Unary mine, LongUnary truth, double lo, double hi, double limit) {
  double worst = 0, worst_x = 0;
  auto check = [&](double x) {
    const double error = ulps(mine(x), truth(x));
    if (error > worst) {
      worst = error;
      worst_x = x;
    }
  };
  for (double x : kEdges) check(x);
  const int steps = 20000;
  for (int i = 0; i <= steps; ++i) check(lo + (hi - lo) * i / steps);
  double x = 1e-12;
  for (int i = 0; i < 4000; ++i, x *= 1.0131) {
    if (x <= hi) check(x);
    if (-x >= lo) check(-x);
  }
  EXPECT_LE(worst, limit) << name << "(" << worst_x << ") = " << mine(worst_x) << ", wanted "
                          << static_cast<double>(truth(worst_x));
}

TEST(Math, ExponentialsAreWithinTwoUlp) {
  expect_close("exp", exp, expl, -750, 715, 1);
  expect_close("exp near zero", exp, expl, -2, 2, 1);
  expect_close("expm1", expm1, expm1l, -60, 715, 2);
  expect_close("expm1 near zero", expm1, expm1l, -2, 2, 2);
}

TEST(Math, LogarithmsAreWithinTwoUlp) {
  expect_close("log", log, logl, 0, 3, 1);
  expect_close("log far", log, logl, 0, 1e300, 1);
  expect_close("log1p", log1p, log1pl, -0.999999, 4, 2);
  expect_close("log1p far", log1p, log1pl, 1, 1e18, 2);
  expect_close("log2", log2, log2l, 0, 3, 1);
  expect_close("log2 far", log2, log2l, 0, 1e300, 1);
  expect_close("log10", log10, log10l, 0, 3, 1);
  expect_close("log10 far", log10, log10l, 0, 1e300, 1);
}

TEST(Math, TrigonometryIsWithinTwoUlpForSmallAndLargeArguments) {
  for (double range : {1.0, 10.0, 1e4, 1e7, 1e15, 1e22, 1e100, 1.7e308}) {
    expect_close("sin", sin, sinl, -range, range, range > 1e15 ? 1e6 : 1);
    expect_close("cos", cos, cosl, -range, range, range > 1e15 ? 1e6 : 1);
  }
  expect_close("tan", tan, tanl, -10, 10, 2);
  expect_close("tan far", tan, tanl, -1e6, 1e6, 2);
}

TEST(Math, InverseTrigonometryIsWithinTwoUlp) {
  expect_close("asin", asin, asinl, -1, 1, 2);
  expect_close("acos", acos, acosl, -1, 1, 2);
  expect_close("atan", atan, atanl, -5, 5, 2);
  expect_close("atan far", atan, atanl, -1e9, 1e9, 2);
}

TEST(Math, HyperbolicsAreWithinTwoUlp) {
  expect_close("sinh", sinh, sinhl, -25, 25, 2);
  expect_close("sinh far", sinh, sinhl, -712, 712, 3);
  expect_close("cosh", cosh, coshl, -25, 25, 2);
  expect_close("cosh far", cosh, coshl, -712, 712, 3);
  expect_close("tanh", tanh, tanhl, -25, 25, 2);
  expect_close("tanh near zero", tanh, tanhl, -1.5, 1.5, 2);
  expect_close("asinh", asinh, asinhl, -10, 10, 2);
  expect_close("asinh far", asinh, asinhl, -1e12, 1e12, 2);
  expect_close("acosh", acosh, acoshl, 1, 10, 2);
  expect_close("acosh far", acosh, acoshl, 1, 1e12, 2);
  expect_close("atanh", atanh, atanhl, -1, 1, 2);
}

TEST(Math, ErrorFunctionsAreWithinTwoUlp) {
  expect_close("erf", erf, erfl, -7, 7, 2);
  expect_close("erfc", erfc, erfcl, -7, 7, 3);
  expect_close("erfc far", erfc, erfcl, 5, 28, 3);
}

TEST(Math, GammaFunctionsAreCloseAwayFromTheirZeros) {
  for (double x = 0.01; x < 300; x *= 1.01) {
    EXPECT_NEAR(lgamma(x), static_cast<double>(lgammal(x)), 1e-14 + 4e-15 * fabs(::lgamma(x))) << x;
  }
  for (double x = -0.35; x > -20; x -= 0.7) EXPECT_NEAR(lgamma(x), ::lgamma(x), 2e-13) << x;
  EXPECT_NEAR(digamma(1), -0.57721566490153286, 1e-14);
  EXPECT_NEAR(digamma(0.5), -1.9635100260214235, 1e-14);
  EXPECT_NEAR(digamma(-1.5), 0.70315664064524319, 1e-13);
  EXPECT_NEAR(digamma(100), 4.6001618527380874, 1e-13);
}

TEST(Math, PowIsWithinTwoUlpAndFollowsC99AtTheEdges) {
  double worst = 0, worst_x = 0, worst_y = 0;
  auto check = [&](double x, double y) {
    const double error = ulps(pow(x, y), powl(x, y));
    if (error > worst) worst = error, worst_x = x, worst_y = y;
  };
  for (double x : kEdges) {
    for (double y : kEdges) check(x, y);
  }
  for (double x = 1e-300; x < 1e300; x *= 17.31) {
    for (double y = -4.1; y < 4.1; y += 0.0137) check(x, y);
  }
  for (double x = 0.9; x < 1.1; x += 0.00127) {
    for (double y = -6000; y < 6000; y += 91.3) check(x, y);
  }
  for (double x = -9; x < 9; x += 0.37) {
    for (double y = -40; y <= 40; y += 1) check(x, y);
  }
  EXPECT_LE(worst, 2) << worst_x << " ^ " << worst_y << " = " << pow(worst_x, worst_y);
}

TEST(Math, Atan2FollowsC99InAllQuadrants) {
  double worst = 0, worst_x = 0, worst_y = 0;
  auto check = [&](double y, double x) {
    const double error = ulps(atan2(y, x), atan2l(y, x));
    if (error > worst) worst = error, worst_x = x, worst_y = y;
  };
  for (double x : kEdges) {
    for (double y : kEdges) check(y, x);
  }
  for (double angle = 0; angle < 6.3; angle += 0.001) check(::sin(angle), ::cos(angle));
  EXPECT_LE(worst, 2) << worst_y << ", " << worst_x;
}

TEST(Math, RoundingAndRemainderAreExact) {
  for (double x : kEdges) {
    EXPECT_EQ(ulps(round_even(x), ::nearbyint(x)), 0) << x;
    EXPECT_EQ(ulps(floor(x), ::floor(x)), 0) << x;
    EXPECT_EQ(ulps(ceil(x), ::ceil(x)), 0) << x;
    EXPECT_EQ(ulps(trunc(x), ::trunc(x)), 0) << x;
    for (double y : kEdges) EXPECT_EQ(ulps(fmod(x, y), ::fmod(x, y)), 0) << x << " mod " << y;
  }
  for (double x = -7.3; x < 7.3; x += 0.113) {
    EXPECT_EQ(round_even(x), ::nearbyint(x));
    EXPECT_EQ(ulps(floor(x), ::floor(x)), 0);
    EXPECT_EQ(ulps(ceil(x), ::ceil(x)), 0);
    EXPECT_EQ(ulps(trunc(x), ::trunc(x)), 0);
    for (double y = -3.1; y < 3; y += 0.17) EXPECT_EQ(ulps(fmod(x, y), ::fmod(x, y)), 0);
  }
}

TEST(Math, NeighboursAndExponentsAreThoseOfC) {
  for (double x : kEdges) {
    int wanted;
    const double mantissa = ::frexp(x, &wanted);
    int32_t exponent;
    EXPECT_EQ(ulps(split_exponent(x, &exponent), mantissa), 0) << x;
    if (is_finite(x)) EXPECT_EQ(exponent, wanted) << x;
    for (double y : kEdges) {
      EXPECT_EQ(ulps(next_after(x, y), ::nextafter(x, y)), 0) << x << " to " << y;
      const auto a = static_cast<float>(x), b = static_cast<float>(y);
      const float next = next_after(a, b), right = ::nextafterf(a, b);
      EXPECT_TRUE(next == right || (next != next && right != right)) << a << " to " << b;
    }
  }
}

TEST(Math, QuotientsAreRoundedDown) {
  for (double a : {-7.5, -7.0, -0.1, 0.0, 0.1, 7.0, 0x1p60}) {
    for (double b : {-2.5, -0.1, 0.1, 2.0, 1e300}) {
      const double quotient = floor_quotient(a, b, fmod(a, b));
      EXPECT_EQ(quotient, ::floor(quotient));
      EXPECT_NEAR(quotient, ::floor(a / b), ::fabs(a / b) * 1e-15 + 1) << a << " // " << b;
    }
  }
  EXPECT_EQ(floor_quotient(-7.0, 2.0, fmod(-7.0, 2.0)), -4);
  EXPECT_EQ(floor_quotient(7.0f, -2.0f, fmod_f(7.0f, -2.0f)), -4);
  EXPECT_EQ(floor_quotient(1.0, 0.1, fmod(1.0, 0.1)), 9);  // 0.1 is above a tenth
  EXPECT_TRUE(sign_bit(floor_quotient(-0.0, 2.0, fmod(-0.0, 2.0))));
}

TEST(Math, IntegersAreDividedAsByPython) {
  const int64_t cases[][4] = {{7, 2, 3, 1},
                              {-7, 2, -4, 1},
                              {7, -2, -4, -1},
                              {-7, -2, 3, -1},
                              {6, -2, -3, 0},
                              {0, 5, 0, 0},
                              {INT64_MIN, 3, INT64_MIN / 3 - 1, 1}};
  for (const auto& [a, b, quotient, rest] : cases) {
    EXPECT_EQ(floor_divide(a, b), quotient) << a << " // " << b;
    EXPECT_EQ(floor_modulo(a, b), rest) << a << " % " << b;
  }
  EXPECT_EQ(floor_modulo(INT64_MIN, -1), 0);
}

TEST(Math, CommonDivisorsOfExtremes) {
  EXPECT_EQ(greatest_common_divisor(0, 0), 0u);
  EXPECT_EQ(greatest_common_divisor(-12, 18), 6u);
  EXPECT_EQ(greatest_common_divisor(INT64_MIN, 0), uint64_t{1} << 63);
  EXPECT_EQ(least_common_multiple(-4, 6), 12);
  EXPECT_EQ(least_common_multiple(0, 0), 0);
}

}  // namespace
}  // namespace wick::math::math_test
