#include "common/math/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/math/math.h"

namespace wick::math {
namespace {

void expect_near(double got, double want, double relative = 1e-13) {
  EXPECT_LE(std::abs(got - want), relative * std::abs(want)) << got << " is not " << want;
}

// Reference values: tables of DLMF and of Abramowitz and Stegun.
TEST(Special, BesselFunctionsHaveTheirTabulatedValues) {
  expect_near(bessel_j0(1), 0.76519768655796655);
  expect_near(bessel_j1(1), 0.44005058574493352);
  expect_near(bessel_y0(1), 0.08825696421567696);
  expect_near(bessel_y1(1), -0.78121282130028872);
  expect_near(bessel_i0(1), 1.26606587775200834);
  expect_near(bessel_i1(1), 0.56515910399248503);
  expect_near(bessel_k0(1), 0.42102443824070834);
  expect_near(bessel_k1(1), 0.60190723019723457);
}

TEST(Special, BothFormsOfABesselFunctionAgreeWhereTheyMeet) {
  for (double (*f)(double) : {bessel_j0, bessel_j1, bessel_y0, bessel_y1})
    EXPECT_NEAR(f(25.0 - 1e-12), f(25.0 + 1e-12), 1e-12);
  expect_near(scaled_bessel_i0(30.0 - 1e-12), scaled_bessel_i0(30.0 + 1e-12));
  expect_near(scaled_bessel_k1(30.0 - 1e-12), scaled_bessel_k1(30.0 + 1e-12));
}

TEST(Special, InverseErrorFunctionInvertsErf) {
  for (double x : {-0.999999, -0.7, -0.3, 0.0, 1e-9, 0.1, 0.5, 0.9, 0.9999999}) EXPECT_NEAR(erf(erfinv(x)), x, 1e-15);
  EXPECT_EQ(erfinv(1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(erfinv(-1), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::signbit(erfinv(-0.0)));
  // Arguments where erfinv changes its form: 0.85, and 1 - 2 exp(-25). Reference values have 50 digits.
  expect_near(erfinv(1e-300), 8.862269254527580e-301);
  expect_near(erfinv(0.85), 1.0179024648320275);
  expect_near(erfinv(std::nextafter(0.85, 1)), 1.0179024648320275);
  expect_near(erfinv(0.99), 1.8213863677184496);
  expect_near(ndtri(1e-10), -6.3613409024040562);
  expect_near(ndtri(1.38e-11), -6.6588385028507655);
  expect_near(ndtri(1.39e-11), -6.6577770730492017);
  expect_near(ndtri(1e-300), -37.047096299361199);
  EXPECT_TRUE(std::isnan(erfinv(1.5)));
  expect_near(ndtri(1e-10), -6.361340902404056);
}

TEST(Special, ScaledComplementDecaysLikeItsAsymptote) {
  expect_near(erfcx(1), 0.42758357615580700);
  expect_near(erfcx(8.0 - 1e-12), erfcx(8.0 + 1e-12), 1e-11);
  expect_near(erfcx(1e6), 5.6418958354747e-7);
  expect_near(log_ndtr(-20), -203.91715537109727);
}

TEST(Special, ZetaAndPolygammaHaveTheirClosedForms) {
  expect_near(zeta(2, 1), kPi * kPi / 6);
  expect_near(zeta(4, 1), kPi * kPi * kPi * kPi / 90);
  expect_near(zeta(2, -0.5), kPi * kPi / 2 + 4, 1e-12);
  expect_near(polygamma(1, 0.5), kPi * kPi / 2);
  expect_near(polygamma(2, 1), -2.4041138063191886);
  EXPECT_TRUE(std::isnan(zeta(0.5, 1)));
}

TEST(Special, IncompleteGammaFunctionsAddUpToOne) {
  expect_near(gamma_lower(1, 2), 1 - std::exp(-2.0));
  expect_near(gamma_upper(0.5, 4), std::erfc(2.0), 1e-12);
  for (double a : {0.1, 1.0, 7.5, 100.0})
    for (double x : {0.01, 1.0, 8.0, 150.0}) EXPECT_NEAR(gamma_lower(a, x) + gamma_upper(a, x), 1, 1e-15);
  EXPECT_TRUE(std::isnan(gamma_lower(-1, 1)));
}

TEST(Special, AiryMatchesKnownValues) {
  expect_near(airy_ai(0), 0.35502805388781724);
  expect_near(airy_ai(1), 0.13529241631288141);
  expect_near(airy_ai(-1), 0.53556088329235207);
  expect_near(airy_ai(1 + 1e-12), airy_ai(1), 1e-11);
  expect_near(airy_ai(-1 - 1e-12), airy_ai(-1), 1e-11);
  expect_near(airy_ai(-2.5), -0.11232506769296606, 1e-13);
  expect_near(airy_ai(10), 1.1047532552898686e-10);
  EXPECT_EQ(airy_ai(200), 0);
  EXPECT_TRUE(std::isnan(airy_ai(kInfinity)));
}

}  // namespace
}  // namespace wick::math
