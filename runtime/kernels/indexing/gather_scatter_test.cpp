// Expected values are those of eager PyTorch.
#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Gather, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 1, 4}, {2, 0, 1, 1, 0, 0, 2, 1});
    TestTensor out = make_out(DType::f32, {2, 1, 4});
    ASSERT_EQ(call("aten::gather.out", {a, 1, b, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {8, 1, 6, 7, 12, 13, 22, 19}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {1, 1, 1}, {3});
    TestTensor out = make_out(DType::f32, {1, 1, 1});
    ASSERT_EQ(call("aten::gather.out", {a, -1, b, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3}));
  }
  {
    TestTensor a = make(DType::f32, {}, {5});
    TestTensor b = make(DType::i64, {}, {0});
    TestTensor out = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::gather.out", {a, 0, b, false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {5}));
  }
}

TEST(Scatter, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 1, 4}, {2, 0, 1, 1, 0, 0, 2, 1});
    TestTensor c = make(DType::f32, {2, 1, 4}, {-1, -2, -3, -4, -5, -6, -7, -8});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::scatter.src_out", {a, 1, b, c, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {0, -2, 2, 3, 4, 5, -3, -4, -1, 9, 10, 11, -5, -6, 14, 15, 16, 17, 18, -8, 20, 21, -7, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 1, 4}, {2, 0, 1, 1, 0, 0, 2, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::scatter.value_out", {a, 1, b, 9, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 9, 2, 3, 4, 5, 9, 9, 9, 9, 10, 11, 9, 9, 14, 15, 16, 17, 18, 9, 20, 21, 9, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 1, 4}, {2, 0, 1, 1, 0, 0, 2, 1});
    TestTensor c = make(DType::f32, {2, 1, 4}, {-1, -2, -3, -4, -5, -6, -7, -8});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::scatter.reduce_out", {a, 1, b, c, "add", out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, -1, 2, 3, 4, 5, 3, 3, 7, 9, 10, 11, 7, 7, 14, 15, 16, 17, 18, 11, 20, 21, 15, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 1, 4}, {2, 0, 1, 1, 0, 0, 2, 1});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::scatter.value_reduce_out", {a, 1, b, 3, "multiply", out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 3, 2, 3, 4, 5, 18, 21, 24, 9, 10, 11, 36, 39, 14, 15, 16, 17, 18, 57, 20, 21, 66, 23}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_add.out", {a, 0, b, c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {13, NAN, 30, 45}));
  }
}

TEST(ScatterReduce, FollowsEager) {
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "sum", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {13, NAN, 30, 45}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "sum", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {13, 28, 30, 45}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "sum", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, NAN, 30, 5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "sum", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {3, 8, 30, 5}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "prod", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {20, NAN, 30, 200}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "prod", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {20, -1680, 30, 200}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "prod", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, NAN, 30, 5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "prod", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, -84, 30, 5}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "mean", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {4.333333492279053, NAN, 30, 22.5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "mean", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {4, 7, 30, 22}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "mean", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1.5, NAN, 30, 5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "mean", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, 2, 30, 5}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amax", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {10, NAN, 30, 40}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amax", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {10, 20, 30, 40}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amax", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, NAN, 30, 5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amax", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {2, 7, 30, 5}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amin", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, NAN, 30, 5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amin", true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, -3, 30, 5}));
  }
  {
    TestTensor a = make(DType::f32, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::f32, {6}, {1, 2, -3, 4, NAN, 5});
    TestTensor out = make_out(DType::f32, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amin", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, NAN, 30, 5}));
  }
  {
    TestTensor a = make(DType::i64, {4}, {10, 20, 30, 40});
    TestTensor b = make(DType::i64, {6}, {0, 0, 1, 1, 1, 3});
    TestTensor c = make(DType::i64, {6}, {1, 2, -3, 4, 7, 5});
    TestTensor out = make_out(DType::i64, {4});
    ASSERT_EQ(call("aten::scatter_reduce.two_out", {a, 0, b, c, "amin", false, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {1, -3, 30, 5}));
  }
}

TEST(Masks, SelectAndScatter) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b =
        make(DType::boolean, {2, 3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor out = make_dynamic(DType::f32, {24});
    ASSERT_EQ(call("aten::masked_select.out", {a, b, out}), Error::Ok);
    EXPECT_TRUE(has_shape(out, {8}));
    EXPECT_TRUE(equals(out, {16, 17, 18, 19, 20, 21, 22, 23}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {4}, {1, 0, 0, 1});
    TestTensor out = make_dynamic(DType::f32, {24});
    ASSERT_EQ(call("aten::masked_select.out", {a, b, out}), Error::Ok);
    EXPECT_TRUE(has_shape(out, {12}));
    EXPECT_TRUE(equals(out, {0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23}));
  }
  {
    TestTensor a = make(DType::f32, {3}, {0, 1, 2});
    TestTensor b = make(DType::boolean, {3, 1}, {1, 0, 1});
    TestTensor out = make_out(DType::f32, {6});
    ASSERT_EQ(call("aten::masked_select.out", {a, b, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 0, 1, 2}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b =
        make(DType::boolean, {2, 3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
    TestTensor c = make(DType::f32, {10}, {-0.0, -1, -2, -3, -4, -5, -6, -7, -8, -9});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::masked_scatter.out", {a, b, c, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -0.0, -1, -2, -3, -4, -5, -6, -7}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::boolean, {4}, {1, 0, 0, 1});
    TestTensor c = make(DType::f32, {20},
                        {-0.0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17, -18, -19});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::masked_scatter.out", {a, b, c, out}), Error::Ok);
    EXPECT_TRUE(
        equals(out, {-0.0, 1, 2, -1, -2, 5, 6, -3, -4, 9, 10, -5, -6, 13, 14, -7, -8, 17, 18, -9, -10, 21, 22, -11}));
  }
}

TEST(Nonzero, ListsPositions) {
  {
    TestTensor a = make(DType::f32, {2, 3}, {0, 1, NAN, -0.0, 0, 2});
    TestTensor out = make_dynamic(DType::i64, {6, 2});
    ASSERT_EQ(call("aten::nonzero.out", {a, out}), Error::Ok);
    EXPECT_TRUE(has_shape(out, {3, 2}));
    EXPECT_TRUE(equals(out, {0, 1, 0, 2, 1, 2}));
  }
  {
    TestTensor a = make(DType::i64, {}, {3});
    TestTensor out = make_out(DType::i64, {1, 0});
    ASSERT_EQ(call("aten::nonzero.out", {a, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {}));
  }
  {
    TestTensor a = make(DType::f32, {3}, {0, 0, 0});
    TestTensor out = make_dynamic(DType::i64, {3, 1});
    ASSERT_EQ(call("aten::nonzero.out", {a, out}), Error::Ok);
    EXPECT_TRUE(has_shape(out, {0, 1}));
    EXPECT_TRUE(equals(out, {}));
  }
}

TEST(RepeatInterleave, RepeatsPositions) {
  TestTensor a = make(DType::i64, {3}, {2, 0, 3});
  TestTensor out = make_out(DType::i64, {5});
  ASSERT_EQ(call("aten::repeat_interleave.Tensor_out", {a, nullptr, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 0, 2, 2, 2}));
}

TEST(Take, ReadsFlatPositions) {
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {2, 2}, {0, -1, 5, 6});
    TestTensor out = make_out(DType::f32, {2, 2});
    ASSERT_EQ(call("aten::take.out", {a, b, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {0, 23, 5, 6}));
  }
  {
    TestTensor a = make(DType::f32, {2, 3, 4},
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    TestTensor b = make(DType::i64, {3}, {0, -1, 0});
    TestTensor c = make(DType::f32, {3}, {7, 8, 9});
    TestTensor out = make_out(DType::f32, {2, 3, 4});
    ASSERT_EQ(call("aten::put.out", {a, b, c, true, out}), Error::Ok);
    EXPECT_TRUE(equals(out, {16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 31}));
  }
}

/// Position `flat` of [sizes] with coordinate `dim` replaced by `value`.
size_t replaced(size_t flat, const std::vector<int32_t>& sizes, size_t dim, size_t value,
                const std::vector<int32_t>& of) {
  std::vector<size_t> at(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; flat /= static_cast<size_t>(sizes[d]))
    at[d] = flat % static_cast<size_t>(sizes[d]);
  at[dim] = value;
  size_t result = 0;
  for (size_t d = 0; d < of.size(); ++d) result = result * static_cast<size_t>(of[d]) + at[d];
  return result;
}

TEST(GatherScatter, FollowTheDefinitionForEveryRankDimensionAndOrderInMemory) {
  const std::vector<std::vector<int32_t>> shapes = {{5}, {3, 4}, {2, 3, 4}, {2, 1, 3, 2}};
  for (const auto& shape : shapes) {
    std::vector<uint8_t> reversed;
    for (size_t d = shape.size(); d-- > 0;) reversed.push_back(static_cast<uint8_t>(d));
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (const auto& order : {std::vector<uint8_t>(), reversed})
        for (const DType dtype : {DType::i64, DType::i32}) {
          std::vector<int32_t> index_sizes = shape;
          index_sizes[dim] += 2;  // more than self has there, fewer elsewhere
          for (size_t d = 0; d < shape.size(); ++d) index_sizes[d] -= d != dim && shape[d] > 1 ? 1 : 0;
          size_t count = 1, numel = 1;
          for (const int32_t size : index_sizes) count *= static_cast<size_t>(size);
          for (const int32_t size : shape) numel *= static_cast<size_t>(size);
          std::vector<double> self(numel), index(count), gathered(count);
          for (size_t i = 0; i < numel; ++i) self[i] = static_cast<double>(i);
          for (size_t i = 0; i < count; ++i) index[i] = static_cast<double>(i * 7 % static_cast<size_t>(shape[dim]));
          std::vector<double> scattered = self;
          for (size_t i = 0; i < count; ++i) {
            const size_t at = replaced(i, index_sizes, dim, static_cast<size_t>(index[i]), shape);
            gathered[i] = self[at];
            scattered[at] += static_cast<double>(i);
          }
          std::vector<double> src(count);
          for (size_t i = 0; i < count; ++i) src[i] = static_cast<double>(i);
          TestTensor x = make(DType::f32, shape, self, order), at = make(dtype, index_sizes, index, order);
          TestTensor values = make(DType::f32, index_sizes, src), out = make_out(DType::f32, index_sizes);
          TestTensor sums = make_out(DType::f32, shape, order);
          const int64_t d = static_cast<int64_t>(dim);
          ASSERT_EQ(call("aten::gather.out", {x, d, at, false, out}), Error::Ok);
          EXPECT_TRUE(equals(out, gathered)) << "rank " << shape.size() << " dim " << dim;
          ASSERT_EQ(call("aten::scatter_add.out", {x, d, at, values, sums}), Error::Ok);
          EXPECT_TRUE(equals(sums, scattered)) << "rank " << shape.size() << " dim " << dim;
        }
  }
}

}  // namespace
}  // namespace wick::test
