#include <cmath>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments out;
  for (const double v : x) out.mean += v / static_cast<double>(x.size());
  for (const double v : x) out.variance += (v - out.mean) * (v - out.mean) / static_cast<double>(x.size());
  return out;
}

constexpr int kDraws = 40000;

TestTensor all(double value, DType dtype = DType::f64) { return make(dtype, {kDraws}, {value}); }

// In 40000 draws the mean deviates by more than 5 standard errors less than once in a million times; the variance by 8
// percent.
void expect_moments(const TestTensor& drawn, double mean, double variance) {
  const Moments got = moments(values(drawn));
  EXPECT_NEAR(got.mean, mean, 5 * std::sqrt(variance / kDraws) + 1e-9 * mean);
  EXPECT_NEAR(got.variance, variance, 0.08 * variance + 1e-9 * mean);
}

TEST(Poisson, HasMeanAndVarianceOfItsRate) {
  for (const double rate : {0.0, 0.3, 4.0, 9.99, 10.0, 35.0, 1e6}) {
    TestTensor out = make_out(DType::f64, {kDraws});
    ASSERT_EQ(call("wick::poisson.out", {all(rate), out}), Error::Ok);
    expect_moments(out, rate, rate);
    for (const double x : values(out)) ASSERT_TRUE(x >= 0 && x == std::floor(x));
  }
}

TEST(Poisson, HasTheChancesOfSmallNumbers) {
  TestTensor out = make_out(DType::f64, {kDraws});
  ASSERT_EQ(call("wick::poisson.out", {all(12), out}), Error::Ok);
  std::vector<double> counts(40, 0);
  for (const double x : values(out)) {
    if (x < 40) counts[static_cast<size_t>(x)] += 1.0 / kDraws;
  }
  for (int k = 0; k < 40; ++k)
    EXPECT_NEAR(counts[static_cast<size_t>(k)], std::exp(k * std::log(12) - 12 - std::lgamma(k + 1)), 0.01);
}

TEST(Binomial, HasMeanAndVarianceOfItsTrials) {
  for (const double count : {1.0, 7.0, 50.0, 2000.0}) {
    for (const double chance : {0.0, 0.02, 0.3, 0.5, 0.9, 1.0}) {
      TestTensor out = make_out(DType::f64, {kDraws});
      ASSERT_EQ(call("wick::binomial.out", {all(count), all(chance), out}), Error::Ok);
      SCOPED_TRACE(testing::Message() << count << " trials of " << chance);
      expect_moments(out, count * chance, count * chance * (1 - chance));
      for (const double x : values(out)) ASSERT_TRUE(x >= 0 && x <= count && x == std::floor(x));
    }
  }
}

TEST(Binomial, OfAnUnknownChanceIsUnknown) {
  TestTensor count = make(DType::f32, {2}, {3, 3}), chance = make(DType::f32, {2}, {NAN, 1});
  TestTensor out = make_out(DType::f32, {2});
  ASSERT_EQ(call("wick::binomial.out", {count, chance, out}), Error::Ok);
  EXPECT_TRUE(std::isnan(values(out)[0]));
  EXPECT_EQ(values(out)[1], 3);
}

TEST(StandardGamma, HasMeanAndVarianceOfItsShape) {
  for (const double shape : {0.0, 0.05, 0.7, 1.0, 3.5, 400.0}) {
    TestTensor out = make_out(DType::f64, {kDraws});
    ASSERT_EQ(call("wick::standard_gamma.out", {all(shape), out}), Error::Ok);
    SCOPED_TRACE(shape);
    const Moments got = moments(values(out));
    EXPECT_NEAR(got.mean, shape, 5 * std::sqrt(shape / kDraws) + 1e-12);
    EXPECT_NEAR(got.variance, shape, 0.25 * shape + 1e-12);  // for skewed distributions
    for (const double x : values(out)) ASSERT_GE(x, 0);
  }
}

TEST(Distributions, DoNotDependOnTheSplitNorOnTheDType) {
  const std::pair<const char*, bool> kernels[] = {
      {"wick::poisson.out", false}, {"wick::standard_gamma.out", false}, {"wick::binomial.out", true}};
  for (const auto& [name, two] : kernels) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      TestTensor x = make(dtype, {5, 300}, {2}), p = make(dtype, {5, 300}, {0.25});
      TestTensor a = make_out(dtype, {5, 300}), b = make_out(dtype, {5, 300});
      const auto run = [&](TestTensor& out, bool split) {
        std::vector<Arg> args = two ? std::vector<Arg>{x, p, out} : std::vector<Arg>{x, out};
        return split ? call_split(name, std::move(args)) : call(name, std::move(args));
      };
      ASSERT_EQ(run(a, false), Error::Ok);
      ASSERT_EQ(run(b, true), Error::Ok);
      EXPECT_EQ(a.bytes(), b.bytes());
    }
  }
}

TEST(Distributions, RefuseWhatIsNoParameter) {
  TestTensor out = make_out(DType::f32, {1});
  for (const double bad : {-1.0, double{NAN}, double{INFINITY}}) {
    TestTensor x = make(DType::f32, {1}, {bad}), one = make(DType::f32, {1}, {1});
    EXPECT_EQ(call("wick::poisson.out", {x, out}), Error::InvalidArgument);
    EXPECT_EQ(call("wick::standard_gamma.out", {x, out}), Error::InvalidArgument);
    EXPECT_EQ(call("wick::binomial.out", {x, one, out}), Error::InvalidArgument);
  }
  TestTensor integers = make(DType::i64, {1}, {1}), two = make(DType::f32, {2}, {1, 1}),
             one = make(DType::f32, {1}, {1});
  EXPECT_EQ(call("wick::poisson.out", {integers, out}), Error::InvalidType);
  EXPECT_EQ(call("wick::binomial.out", {one, two, out}), Error::InvalidArgument);
}

}  // namespace
}  // namespace wick::test
