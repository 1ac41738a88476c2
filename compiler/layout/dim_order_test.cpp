#include "compiler/layout/dim_order.h"

#include <gtest/gtest.h>

namespace wick::compiler::layout {
namespace {

TEST(DimOrder, ChannelsLastMovesDimensionOneToTheEnd) {
  EXPECT_EQ(channels_last_order(4), (DimOrder{0, 2, 3, 1}));
  EXPECT_EQ(physical({2, 3, 5, 7}, channels_last_order(4)), (Sizes{2, 5, 7, 3}));
}

TEST(DimOrder, DimensionsOfSizeOneDoNotMatter) {
  EXPECT_TRUE(same_bytes({1, 8, 1, 1}, {0, 1, 2, 3}, {0, 2, 3, 1}));
  EXPECT_FALSE(same_bytes({1, 8, 2, 1}, {0, 1, 2, 3}, {0, 2, 3, 1}));
}

TEST(DimOrder, APermuteIsUndoneByItsOperandsDimOrder) {
  const std::vector<int64_t> perm{0, 2, 3, 1};
  EXPECT_EQ(permuted(channels_last_order(4), perm), plain_order(4));
  for (const DimOrder& order : {DimOrder{0, 1, 2, 3}, DimOrder{3, 1, 0, 2}, DimOrder{2, 3, 1, 0}})
    EXPECT_EQ(before_permute(permuted(order, perm), perm), order);
}

TEST(DimOrder, AViewThatMergesNeighboursKeepsTheDimOrder) {
  // [n, c, h, w] channels innermost, flattened to [n, c, h w]: [n, h w, c] in memory.
  const auto flat = through_view({2, 3, 4, 5}, {0, 2, 3, 1}, {2, 3, 20});
  ASSERT_TRUE(flat);
  EXPECT_EQ(*flat, (DimOrder{0, 2, 1}));
  const auto back = through_view({2, 3, 20}, *flat, {2, 3, 4, 5});
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, (DimOrder{0, 2, 3, 1}));
}

TEST(DimOrder, AViewThatMergesStrangersDoesNot) {
  EXPECT_FALSE(through_view({2, 3, 4, 5}, {0, 2, 3, 1}, {2, 12, 5}));
  EXPECT_FALSE(through_view({4, 6}, {1, 0}, {24}));
  EXPECT_TRUE(through_view({4, 6}, {0, 1}, {24}));
}

TEST(DimOrder, AViewMaySplitAndAddOnes) {
  const auto heads = through_view({1, 10, 12}, {0, 1, 2}, {1, 10, 3, 4});
  ASSERT_TRUE(heads);
  EXPECT_EQ(*heads, plain_order(4));
  const auto pooled = through_view({2, 8, 1, 1}, {0, 2, 3, 1}, {2, 8});
  ASSERT_TRUE(pooled);
  EXPECT_EQ(*pooled, plain_order(2));
}

TEST(DimOrder, LeadingOnesComeAndGo) {
  EXPECT_EQ(with_leading_ones({1, 0}, 4), (DimOrder{0, 1, 3, 2}));
  EXPECT_EQ(without_leading({0, 2, 3, 1}, 3), (DimOrder{1, 2, 0}));
}

TEST(DimOrder, ADimensionIsTakenOutAndPutBack) {
  EXPECT_EQ(without_dim({2, 0, 1}, 0), (DimOrder{1, 0}));
  EXPECT_EQ(with_dim({1, 0}, 0), (DimOrder{0, 2, 1}));
}

TEST(DimOrder, AdjacentRunsLookPastOnes) {
  EXPECT_EQ(adjacent_run({2, 3, 4, 5}, {0, 2, 3, 1}, {false, false, true, true}), 1u);
  EXPECT_FALSE(adjacent_run({2, 3, 4, 5}, {0, 1, 2, 3}, {false, true, false, true}));
  EXPECT_EQ(adjacent_run({2, 3, 1, 5}, {0, 1, 2, 3}, {false, true, false, true}), 1u);
}

}  // namespace
}  // namespace wick::compiler::layout
