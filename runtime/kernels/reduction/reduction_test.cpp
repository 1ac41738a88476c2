#include <math.h>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(SumOut, ReducesAnyDimensionsInAnyOrder) {
  for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    TestTensor x = make(DType::f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, order);
    TestTensor inner = make_out(DType::f32, {2, 2}), middle = make_out(DType::f32, {2, 1, 2}),
               all = make_out(DType::f32, {});
    ASSERT_EQ(call("aten::sum.IntList_out", {x, int_list({-1}), false, nullptr, inner}), Error::Ok);
    EXPECT_TRUE(equals(inner, {3, 7, 11, 15}));
    ASSERT_EQ(call("aten::sum.IntList_out", {x, int_list({1}), true, nullptr, middle}), Error::Ok);
    EXPECT_TRUE(equals(middle, {4, 6, 12, 14}));
    ASSERT_EQ(call("aten::sum.IntList_out", {x, nullptr, false, nullptr, all}), Error::Ok);
    EXPECT_TRUE(equals(all, {36}));
  }
}

TEST(SumOut, LosesNothingInLongSums) {
  TestTensor x = make(DType::f32, {1 << 20}, {0.1}), out = make_out(DType::f32, {});
  ASSERT_EQ(call("aten::sum.IntList_out", {x, nullptr, false, nullptr, out}), Error::Ok);
  EXPECT_TRUE(near(out, {104857.6015625}, 4e-7));
}

TEST(SumOut, OfNothingIsZeroAndRefusesBadDims) {
  TestTensor x = make_out(DType::f32, {2, 0}), out = make_out(DType::f32, {2}), wrong = make_out(DType::f32, {2});
  ASSERT_EQ(call("aten::sum.IntList_out", {x, int_list({1}), false, nullptr, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0, 0}));
  ASSERT_EQ(call("aten::mean.out", {x, int_list({1}), false, nullptr, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {NAN, NAN}));
  EXPECT_EQ(call("aten::amax.out", {x, int_list({1}), false, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::sum.IntList_out", {x, int_list({2}), false, nullptr, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::sum.IntList_out", {x, int_list({1, -1}), false, nullptr, out}), Error::InvalidArgument);
}

TEST(MaxDim, FindsTheFirstNan) {
  TestTensor x = make(DType::f32, {2, 4}, {1, 5, 5, 2, 1, NAN, 7, NAN});
  TestTensor values_out = make_out(DType::f32, {2}), indices = make_out(DType::i64, {2});
  ASSERT_EQ(call("aten::max.dim_max", {x, 1, false, values_out, indices}), Error::Ok);
  EXPECT_TRUE(equals(values_out, {5, NAN}));
  EXPECT_TRUE(equals(indices, {1, 1}));
  ASSERT_EQ(call("aten::argmin.out", {x, 1, false, indices}), Error::Ok);
  EXPECT_TRUE(equals(indices, {0, 1}));
}

TEST(Argmax, CountsInLogicalOrderWithoutADim) {
  TestTensor x = make(DType::f32, {2, 3}, {0, 1, 2, 9, 4, 5}, {1, 0}), out = make_out(DType::i64, {});
  ASSERT_EQ(call("aten::argmax.out", {x, nullptr, false, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {3}));
}

TEST(Variance, UsesTheCorrection) {
  TestTensor x = make(DType::f32, {4}, {1, 2, 3, 6}), out = make_out(DType::f32, {}), mean = make_out(DType::f32, {});
  ASSERT_EQ(call("aten::var.correction_out", {x, nullptr, 0, false, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {3.5}));
  ASSERT_EQ(call("aten::var_mean.correction_out", {x, nullptr, nullptr, false, out, mean}), Error::Ok);
  EXPECT_TRUE(near(out, {14.0 / 3}));
  EXPECT_TRUE(equals(mean, {3}));
}

TEST(Truth, AnyAndAllOfNothing) {
  TestTensor x = make_out(DType::f32, {0}), y = make(DType::f32, {2}, {0, NAN}), out = make_out(DType::boolean, {});
  ASSERT_EQ(call("aten::any.all_out", {x, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {0}));
  ASSERT_EQ(call("aten::all.all_out", {x, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1}));
  ASSERT_EQ(call("aten::any.all_out", {y, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1}));
}

TEST(Cumsum, RunsAlongTheDimension) {
  TestTensor x = make(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6}), out = make_out(DType::i64, {2, 3});
  ASSERT_EQ(call("aten::cumsum.out", {x, 0, nullptr, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, 2, 3, 5, 7, 9}));
  ASSERT_EQ(call_split("aten::cumsum.out", {x, -1, nullptr, out}), Error::Ok);
  EXPECT_TRUE(equals(out, {1, 3, 6, 4, 9, 15}));
}

TEST(VectorNorm, TakesAnyOrder) {
  TestTensor x = make(DType::f32, {3}, {3, -4, 0}), out = make_out(DType::f32, {});
  const double inf = INFINITY;
  const std::pair<double, double> cases[] = {{2, 5}, {1, 7}, {0, 2}, {inf, 4}, {-inf, 0}, {3, 4.497941445}};
  for (const auto& [order, wanted] : cases) {
    ASSERT_EQ(call("aten::linalg_vector_norm.out", {x, order, nullptr, false, nullptr, out}), Error::Ok);
    EXPECT_TRUE(near(out, {wanted})) << order;
  }
}

}  // namespace
}  // namespace wick::test
