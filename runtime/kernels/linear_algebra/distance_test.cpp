#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::distance_test {
namespace {

double distance(const double* a, const double* b, size_t count, double p) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double d = fabs(a[i] - b[i]);
    if (isinf(p))
      sum = d > sum || isnan(d) ? d : sum;
    else
      sum += p == 0 ? (d != 0) : pow(d, p);
  }
  return isinf(p) || p == 0 ? sum : pow(sum, 1 / p);
}

std::vector<double> numbers(std::mt19937& rng, size_t count) {
  std::vector<double> out(count);
  for (double& v : out) v = static_cast<double>(static_cast<int>(rng() % 257) - 128) / 16;
  return out;
}

TEST(Distances, FollowTheDefinitionForEveryWidthNormAndDtype) {
  std::mt19937 rng(1);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    for (const double p : {0.0, 1.0, 2.0, 3.0, static_cast<double>(INFINITY)}) {
      for (const size_t width : {0, 1, 7, 8, 13, 64, 65, 150}) {
        const int32_t k = static_cast<int32_t>(width);
        const auto x = numbers(rng, 2 * 3 * width), y = numbers(rng, 2 * 4 * width);
        TestTensor a = make(dtype, {2, 3, k}, x), b = make(dtype, {2, 4, k}, y), out = make_out(dtype, {2, 3, 4});
        ASSERT_EQ(call("aten::_cdist_forward.out", {a, b, p, nullptr, out}), Error::Ok);
        std::vector<double> expected, pairs;
        for (size_t i = 0; i < 6; ++i)
          for (size_t j = 0; j < 4; ++j)
            expected.push_back(distance(x.data() + i * width, y.data() + (i / 3 * 4 + j) * width, width, p));
        const double error = dtype == DType::f16 ? 1e-3 : dtype == DType::f32 ? 1e-6 : 1e-14;
        EXPECT_TRUE(near(out, expected, error)) << "p " << p << " width " << width;
        TestTensor rows = make(dtype, {6, k}, x, {1, 0}), between = make_out(dtype, {15});
        ASSERT_EQ(call("aten::_pdist_forward.out", {rows, p, between}), Error::Ok);
        for (size_t i = 0; i < 6; ++i)
          for (size_t j = i + 1; j < 6; ++j)
            pairs.push_back(distance(x.data() + i * width, x.data() + j * width, width, p));
        EXPECT_TRUE(near(between, pairs, error)) << "p " << p << " width " << width;
      }
    }
  }
}

TEST(Distances, NotANumberAnywhereIsNotANumber) {
  std::vector<double> x(20, 1.0);
  for (const size_t at : {0, 9, 19}) {
    x.assign(20, 1.0);
    x[at] = NAN;
    TestTensor a = make(DType::f32, {1, 20}, x), b = make(DType::f32, {1, 20}, {0}), out = make_out(DType::f32, {1, 1});
    for (const double p : {1.0, 2.0, 3.0, static_cast<double>(INFINITY)}) {
      ASSERT_EQ(call("aten::_cdist_forward.out", {a, b, p, nullptr, out}), Error::Ok);
      EXPECT_TRUE(isnan(values(out)[0])) << "p " << p;
    }
  }
}

}  // namespace
}  // namespace wick::test::distance_test
