#include "wick/tensor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wick/error_text.h"
#include "wick/evalue.h"

namespace wick {
namespace {

struct Shape {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  Tensor tensor;
  Shape(std::vector<int32_t> s, std::vector<uint8_t> order)
      : sizes(std::move(s)), dim_order(std::move(order)), strides(sizes.size()) {
    tensor.rank = static_cast<uint8_t>(sizes.size());
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
    tensor.dim_order = dim_order.data();
  }
};

TEST(Tensor, StridesFollowTheDimOrder) {
  Shape nchw({2, 3, 4, 5}, {0, 1, 2, 3});
  ASSERT_EQ(compute_layout(nchw.tensor), Error::Ok);
  EXPECT_EQ(nchw.strides, (std::vector<int32_t>{60, 20, 5, 1}));
  EXPECT_EQ(nchw.tensor.numel, 120u);
  EXPECT_TRUE(is_contiguous(nchw.tensor));
  Shape nhwc({2, 3, 4, 5}, {0, 2, 3, 1});
  ASSERT_EQ(compute_layout(nhwc.tensor), Error::Ok);
  EXPECT_EQ(nhwc.strides, (std::vector<int32_t>{60, 1, 15, 3}));
  EXPECT_FALSE(is_contiguous(nhwc.tensor));
  EXPECT_FALSE(same_layout(nchw.tensor, nhwc.tensor));
}

TEST(Tensor, SizeOneDimensionsDoNotSpoilContiguity) {
  Shape a({2, 1, 3}, {0, 1, 2});
  Shape b({2, 1, 3}, {0, 2, 1});
  ASSERT_EQ(compute_layout(a.tensor), Error::Ok);
  ASSERT_EQ(compute_layout(b.tensor), Error::Ok);
  EXPECT_TRUE(is_contiguous(b.tensor));
  EXPECT_TRUE(same_layout(a.tensor, b.tensor));
}

TEST(Tensor, SizeZeroCountsAsOneInStrides) {
  Shape empty({2, 0, 3}, {0, 1, 2});
  ASSERT_EQ(compute_layout(empty.tensor), Error::Ok);
  EXPECT_EQ(empty.strides, (std::vector<int32_t>{3, 3, 1}));
  EXPECT_EQ(empty.tensor.numel, 0u);
}

TEST(Tensor, RefusesBadShapes) {
  Shape negative({2, -1}, {0, 1});
  Shape twice({2, 2}, {0, 0});
  Shape outside({2, 2}, {0, 2});
  Shape huge({65536, 32768}, {0, 1});
  Shape huge_empty({0, 65536, 65536}, {0, 1, 2});
  for (Shape* shape : {&negative, &twice, &outside, &huge, &huge_empty}) {
    EXPECT_EQ(compute_layout(shape->tensor), Error::InvalidProgram);
  }
}

TEST(Tensor, ResizeKeepsWithinItsBytes) {
  Shape shape({4, 3}, {1, 0});
  ASSERT_EQ(compute_layout(shape.tensor), Error::Ok);
  shape.tensor.capacity_bytes = 48;
  const int32_t other[] = {2, 3};
  const int32_t same[] = {4, 3};
  const int32_t taller[] = {12, 1};
  const int32_t larger[] = {13, 1};
  const int32_t flat[] = {12};
  EXPECT_EQ(resize(shape.tensor, other), Error::NotSupported);
  EXPECT_EQ(resize(shape.tensor, same), Error::Ok);
  shape.tensor.dynamism = ShapeDynamism::upper_bound;
  EXPECT_EQ(resize(shape.tensor, flat), Error::NotSupported);
  EXPECT_EQ(resize(shape.tensor, larger), Error::OutOfResources);
  EXPECT_EQ(shape.sizes, (std::vector<int32_t>{4, 3}));
  EXPECT_EQ(resize(shape.tensor, other), Error::Ok);
  EXPECT_EQ(shape.strides, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(shape.tensor.numel, 6u);
  EXPECT_EQ(resize(shape.tensor, taller), Error::Ok);
}

TEST(EValue, ToIntSaturates) {
  EXPECT_EQ(EValue::of_real(-2.9).to_int(), -2);
  EXPECT_EQ(EValue::of_real(1e300).to_int(), INT64_MAX);
  EXPECT_EQ(EValue::of_real(-1e300).to_int(), INT64_MIN);
  EXPECT_EQ(EValue::of_bool(true).to_int(), 1);
  EXPECT_EQ(EValue::of_int(-7).to_int(), -7);
}

TEST(ErrorText, CutsOffAndReplacesWhatTerminalsWouldObey) {
  char buffer[12];
  ErrorText text(buffer);
  text.append("\x1b[1m", INT64_MIN);
  EXPECT_STREQ(text.c_str(), "?[1m-922337");
  text.clear();
  text.append(uint64_t{0}, "|", int32_t{-5}, "|", UINT64_MAX);
  EXPECT_STREQ(text.c_str(), "0|-5|184467");
}

}  // namespace
}  // namespace wick
