#include "compiler/ir/sym/ratio.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wick::compiler {
namespace {

const Ratio kSize{Sym::symbol("s0")};

TEST(Ratio, RoundsAsPythonDoes) {
  const Ratio half = *divide(kSize, {2}), third = *divide(kSize, {-3});
  for (int64_t size = 0; size < 100; ++size) {
    const SymValues values = {{"s0", size}};
    const double x = static_cast<double>(size);
    EXPECT_EQ(evaluate(ceil(half), values), static_cast<int64_t>(std::ceil(x / 2)));
    EXPECT_EQ(evaluate(floor(half), values), static_cast<int64_t>(std::floor(x / 2)));
    EXPECT_EQ(evaluate(ceil(third), values), static_cast<int64_t>(std::ceil(x / -3)));
    EXPECT_EQ(evaluate(floor(third), values), static_cast<int64_t>(std::floor(x / -3)));
    EXPECT_EQ(evaluate(ceil(*add(half, *ratio_of(0.25))), values), static_cast<int64_t>(std::ceil(x / 2 + 0.25)));
    EXPECT_EQ(evaluate(compared(SymOp::le, half, third), values), x / 2 <= x / -3);
    EXPECT_EQ(evaluate(compared(SymOp::lt, *multiply(half, *read_decimal("-1.5")), *ratio_of(-7.5)), values),
              x / 2 * -1.5 < -7.5);
  }
}

TEST(Ratio, WhatDoublesRoundIsNoRatio) {
  const Ratio third = *divide(kSize, {3});
  EXPECT_FALSE(add(third, {1}));
  EXPECT_FALSE(multiply(third, {3}));
  EXPECT_FALSE(divide(third, {3}));
  EXPECT_FALSE(divide(kSize, kSize));
  EXPECT_FALSE(divide(kSize, {0}));
  EXPECT_FALSE(ratio_of(0.1));
  EXPECT_FALSE(ratio_of(INFINITY));
  EXPECT_FALSE(ratio_of(NAN));
  EXPECT_FALSE(ratio_of(1e300));
}

TEST(Ratio, AScaleRoundsAsDoublesDo) {
  int found = 0;
  for (int i = 1; i < 400; ++i) {
    const double value = i / 100.0;
    const std::optional<Ratio> down = scale_of(value, false), up = scale_of(value, true);
    found += down.has_value() + up.has_value();
    for (int64_t size = 0; size < 5000; size += 1 + size / 1000) {
      const double product = value * static_cast<double>(size);
      if (down) {
        ASSERT_EQ(size * down->numerator.value() / down->denominator, std::trunc(product)) << value << " " << size;
      }
      if (up) {
        const int64_t parts = size * up->numerator.value();
        ASSERT_EQ((parts + up->denominator - 1) / up->denominator, std::ceil(product)) << value << " " << size;
      }
    }
  }
  for (const double value : {1.7, 7.3, 99.9, 511.37, 1023.999}) {
    for (const bool up : {false, true}) {
      const std::optional<Ratio> scale = scale_of(value, up);
      for (int64_t size = (int64_t{1} << 31) - 3000; scale && size <= int64_t{1} << 31; ++size) {
        const double product = value * static_cast<double>(size);
        const int64_t parts = size * scale->numerator.value();
        const int64_t whole = (parts + (up ? scale->denominator - 1 : 0)) / scale->denominator;
        ASSERT_EQ(whole, up ? std::ceil(product) : std::trunc(product)) << value << " " << size;
      }
    }
  }
  EXPECT_GT(found, 600);
  EXPECT_LT(found, 2 * 399);
  for (const double wrong : {0.0, -1.5, 1e4, 1e-4, 3.141592653589793, 1e300, HUGE_VAL})
    EXPECT_FALSE(scale_of(wrong, false));
}

TEST(Ratio, DecimalsAreRead) {
  EXPECT_EQ(read_decimal("-2.0")->numerator.value(), -2);
  EXPECT_EQ(read_decimal("0.375")->denominator, 8);
  for (const char* text : {"", "x", "1.5x", "0.3", "inf", "nan", "1e400"}) EXPECT_FALSE(read_decimal(text)) << text;
}

}  // namespace
}  // namespace wick::compiler
