#include "common/random.h"

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

TEST(Philox, GivesThePublishedVectors) {
  const RandomBlock zero = philox4x32(0, 0);
  EXPECT_EQ(zero.words[0], 0x6627e8d5u);
  EXPECT_EQ(zero.words[1], 0xe169c58du);
  EXPECT_EQ(zero.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.words[3], 0x9b00dbd8u);
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

TEST(Rand, IsUniformAndIndependentOfTheSplit) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    TestTensor a = make_out(dtype, {5, 2001}), b = make_out(dtype, {5, 2001});
    ASSERT_EQ(call("aten::rand.out", {std::vector<int64_t>{5, 2001}, a}), Error::Ok);
    ASSERT_EQ(call_split("aten::rand.out", {std::vector<int64_t>{5, 2001}, b}), Error::Ok);
    EXPECT_EQ(a.bytes(), b.bytes());
    const std::vector<double> v = values(a);
    EXPECT_GE(*std::min_element(v.begin(), v.end()), 0);
    EXPECT_LT(*std::max_element(v.begin(), v.end()), 1);
    EXPECT_NEAR(mean(v), 0.5, 0.02);
  }
}

TEST(Randn, HasMeanZeroAndVarianceOne) {
  TestTensor a = make_out(DType::f32, {20000});
  ASSERT_EQ(call("aten::randn.out", {std::vector<int64_t>{20000}, a}), Error::Ok);
  std::vector<double> v = values(a);
  EXPECT_NEAR(mean(v), 0, 0.03);
  for (double& x : v) x *= x;
  EXPECT_NEAR(mean(v), 1, 0.05);
}

TEST(Randint, StaysInItsRange) {
  TestTensor a = make_out(DType::i64, {1000});
  ASSERT_EQ(call("aten::randint.low_out", {-3, 4, std::vector<int64_t>{1000}, a}), Error::Ok);
  const std::vector<int64_t> v = ints(a);
  EXPECT_EQ(*std::min_element(v.begin(), v.end()), -3);
  EXPECT_EQ(*std::max_element(v.begin(), v.end()), 3);
  EXPECT_EQ(call("aten::randint.low_out", {3, 3, std::vector<int64_t>{1000}, a}), Error::InvalidArgument);
}

TEST(Randperm, IsAPermutation) {
  TestTensor a = make_out(DType::i64, {100});
  ASSERT_EQ(call("aten::randperm.out", {100, a}), Error::Ok);
  std::vector<int64_t> v = ints(a), sorted = v;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(sorted[static_cast<size_t>(i)], i);
  EXPECT_NE(v, sorted);
}

TEST(Bernoulli, FollowsTheProbabilities) {
  TestTensor p = make(DType::f32, {4}, {0, 1, 0, 1}), a = make_out(DType::f32, {4}), b = make_out(DType::f32, {10000});
  ASSERT_EQ(call("aten::bernoulli.out", {p, nullptr, a}), Error::Ok);
  EXPECT_TRUE(equals(a, {0, 1, 0, 1}));
  TestTensor like = make(DType::f32, {10000}, {0});
  ASSERT_EQ(call("aten::bernoulli.float_out", {like, 0.25, nullptr, b}), Error::Ok);
  EXPECT_NEAR(mean(values(b)), 0.25, 0.02);
  TestTensor bad = make(DType::f32, {4}, {0, 1.5, 0, 1});
  EXPECT_EQ(call("aten::bernoulli.out", {bad, nullptr, a}), Error::InvalidArgument);
}

TEST(Multinomial, DrawsOnlyPositiveWeights) {
  TestTensor w = make(DType::f32, {2, 3}, {0, 1, 2, 5, 0, 0}), a = make_out(DType::i64, {2, 4});
  ASSERT_EQ(call("aten::multinomial.out", {w, 4, true, nullptr, a}), Error::Ok);
  const std::vector<int64_t> v = ints(a);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_GE(v[i], 1);
    EXPECT_EQ(v[4 + i], 0);
  }
  EXPECT_EQ(call("aten::multinomial.out", {w, 4, false, nullptr, a}), Error::InvalidArgument);
}

}  // namespace
}  // namespace wick::test
