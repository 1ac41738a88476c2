#include "common/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace wick {
namespace {

TEST(Checked, SumsThatFitAreExact) {
  uint64_t sum = 0;
  EXPECT_TRUE(checked_add<uint64_t>(std::numeric_limits<uint64_t>::max() - 1, 1, &sum));
  EXPECT_EQ(sum, std::numeric_limits<uint64_t>::max());
}

TEST(Checked, SumsThatDoNotFitAreReported) {
  uint64_t u = 0;
  int64_t i = 0;
  EXPECT_FALSE(checked_add<uint64_t>(std::numeric_limits<uint64_t>::max(), 1, &u));
  EXPECT_FALSE(checked_add<int64_t>(std::numeric_limits<int64_t>::max(), 1, &i));
  EXPECT_FALSE(checked_sub<int64_t>(std::numeric_limits<int64_t>::min(), 1, &i));
  EXPECT_FALSE(checked_sub<uint64_t>(0, 1, &u));
}

TEST(Checked, ProductsThatDoNotFitAreReported) {
  size_t s = 0;
  int64_t i = 0;
  EXPECT_TRUE(checked_mul<size_t>(size_t{1} << 32, (size_t{1} << 32) - 1, &s));
  EXPECT_FALSE(checked_mul<size_t>(size_t{1} << 32, size_t{1} << 32, &s));
  EXPECT_FALSE(checked_mul<int64_t>(std::numeric_limits<int64_t>::min(), -1, &i));
}

TEST(Checked, RangesAreComparedWithoutWrapping) {
  EXPECT_TRUE(range_fits(8, 2, 10));
  EXPECT_TRUE(range_fits(10, 0, 10));
  EXPECT_FALSE(range_fits(9, 2, 10));
  EXPECT_FALSE(range_fits(11, 0, 10));
  EXPECT_FALSE(range_fits(std::numeric_limits<uint64_t>::max(), 2, 10));
}

}  // namespace
}  // namespace wick
