#include "backends/cortex_m/compile/requantization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {
namespace {

std::pair<int64_t, int64_t> pair_of(double factor) {
  const auto found = requantization(factor);
  EXPECT_TRUE(found.has_value()) << factor;
  return found ? std::pair<int64_t, int64_t>(found->multiplier, found->shift) : std::pair<int64_t, int64_t>(-1, -1);
}

TEST(CortexMRequantization, IsTheMantissaInQ31AndTheExponent) {
  EXPECT_EQ(pair_of(1.0), std::pair(int64_t{1} << 30, int64_t{1}));
  EXPECT_EQ(pair_of(0.5), std::pair(int64_t{1} << 30, int64_t{0}));
  EXPECT_EQ(pair_of(0.75), std::pair(int64_t{3} << 29, int64_t{0}));
  EXPECT_EQ(pair_of(3.0), std::pair(int64_t{3} << 29, int64_t{2}));
  EXPECT_EQ(pair_of(0.0), std::pair(int64_t{0}, int64_t{0}));
}

TEST(CortexMRequantization, RoundsHalvesToEven) {
  const double odd = 0x40000001, even = 0x40000002;  // numerators of Q31
  EXPECT_EQ(pair_of((odd + 0.5) * 0x1p-31).first, 0x40000002);
  EXPECT_EQ(pair_of((even + 0.5) * 0x1p-31).first, 0x40000002);
  EXPECT_EQ(pair_of((even + 0.50001) * 0x1p-31).first, 0x40000003);
}

TEST(CortexMRequantization, ARoundedMantissaOfOneMovesToTheExponent) {
  EXPECT_EQ(pair_of(std::nextafter(1.0, 0.0)), std::pair(int64_t{1} << 30, int64_t{1}));
  EXPECT_EQ(pair_of((0x1p31 - 1) * 0x1p-31), std::pair(int64_t{INT32_MAX}, int64_t{0}));
}

TEST(CortexMRequantization, ShiftsBeyondTheKernelsAreNone) {
  EXPECT_EQ(pair_of(0x1p-32), std::pair(int64_t{1} << 30, int64_t{-31}));
  EXPECT_FALSE(requantization(std::nextafter(0x1p-32, 0.0) * 0.999));
  EXPECT_EQ(pair_of(0x1.8p29), std::pair(int64_t{3} << 29, int64_t{30}));
  EXPECT_FALSE(requantization(0x1p30));
  EXPECT_FALSE(requantization(std::nextafter(0x1p30, 0.0))) << "it rounds up to 2^30";
  for (const double wrong : {-0.5, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_FALSE(requantization(wrong));
}

TEST(CortexMRequantization, NoSumCountsBelowTheShiftsOfTheKernels) {
  const auto of_sums = [](double factor) {
    const auto found = requantization_of_sums(factor);
    return found ? std::pair<int64_t, int64_t>(found->multiplier, found->shift) : std::pair<int64_t, int64_t>(-1, -1);
  };
  const double below = std::nextafter(0x1p-32, 0.0);
  EXPECT_EQ(of_sums(0x1p-32), std::pair(int64_t{1} << 30, int64_t{-31}));
  EXPECT_EQ(of_sums(below), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_LT(below * 0x1p31, 0.5) << "what the largest sum is";
  EXPECT_EQ(of_sums(1e-300), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(of_sums(0.75), pair_of(0.75));
  for (const double wrong : {-0.5, 0x1p30, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_FALSE(requantization_of_sums(wrong));
}

TEST(CortexMRequantization, StandsForTheFactor) {
  Random random(3);
  for (int i = 0; i < 10000; ++i) {
    const double factor = std::exp2(static_cast<double>(random.in(-3000, 2900)) / 100.0);
    const auto found = requantization(factor);
    ASSERT_TRUE(found.has_value()) << factor;
    EXPECT_GE(found->multiplier, 1 << 30);
    EXPECT_NEAR(std::ldexp(found->multiplier, found->shift - 31) / factor, 1, 0x1p-31);
  }
}

TEST(CortexMRequantization, SumsMustSurviveTheShift) {
  EXPECT_TRUE(keeps_32_bits(INT32_MAX, {1 << 30, 0}));
  EXPECT_TRUE(keeps_32_bits(INT32_MAX, {1 << 30, -31}));
  EXPECT_FALSE(keeps_32_bits(int64_t{INT32_MAX} + 1, {1 << 30, 0}));
  EXPECT_TRUE(keeps_32_bits(INT32_MAX >> 3, {1 << 30, 3}));
  EXPECT_FALSE(keeps_32_bits((INT32_MAX >> 3) + 1, {1 << 30, 3}));
}

TEST(CortexMRequantization, HalvesToEvenWhateverTheSign) {
  const std::pair<double, double> wanted[] = {{0.5, 0},   {1.5, 2},    {2.5, 2},   {-0.5, 0}, {-1.5, -2},
                                              {-2.5, -2}, {2.4999, 2}, {-3.7, -4}, {7, 7}};
  for (const auto& [value, rounded] : wanted) EXPECT_EQ(round_half_even(value), rounded) << value;
}

}  // namespace
}  // namespace wick::cortex_m
