#include <cstdint>
#include <random>

#include "common/math/math.h"
#include "runtime/kernels/kernel_test_support.h"
#include "runtime/kernels/linear_algebra/dense.h"

namespace wick::test {
namespace {

std::vector<double> random_matrix(uint32_t seed, int64_t count) {
  std::mt19937 rng(seed);
  std::vector<double> out(static_cast<size_t>(count));
  for (double& v : out) v = (static_cast<double>(rng() % 2001) - 1000) / 500;
  return out;
}

TEST(Dense, SingularValuesRebuildTheMatrixEvenOfLowRank) {
  for (const bool low_rank : {false, true}) {
    const int64_t m = 6, n = 4;
    std::vector<double> a = random_matrix(3, m * n), s(4), v(16);
    if (low_rank)
      for (int64_t i = 0; i < m; ++i) a[static_cast<size_t>(i * n + 3)] = 2 * a[static_cast<size_t>(i * n)];
    const std::vector<double> before = a;
    dense::singular_values(a.data(), m, n, s.data(), v.data());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < n; ++k)
          sum += a[static_cast<size_t>(i * n + k)] * s[static_cast<size_t>(k)] * v[static_cast<size_t>(j * n + k)];
        EXPECT_NEAR(sum, before[static_cast<size_t>(i * n + j)], 1e-13);
      }
    }
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = 0; k < n; ++k) {
        double dot = 0;
        for (int64_t i = 0; i < m; ++i) dot += a[static_cast<size_t>(i * n + j)] * a[static_cast<size_t>(i * n + k)];
        EXPECT_NEAR(dot, j == k ? 1 : 0, 1e-13);
      }
    }
  }
}

TEST(Dense, NotANumberEndsTheRotations) {
  std::vector<double> a(9, math::kNaN), values(3), v(9);
  dense::eigen_symmetric(a.data(), 3, values.data(), v.data());
  EXPECT_TRUE(std::isnan(values[0]));
}

TEST(Dense, IndefiniteFactorsSolveTheirSystem) {
  for (const size_t n : {1, 2, 3, 7, 12}) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      std::vector<double> a = random_matrix(seed, static_cast<int64_t>(n * n)),
                          b = random_matrix(seed + 99, 2 * static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) {
        if (n > 1) a[i * n + i] = 0;  // the first pivot must be a block of two rows
        for (size_t j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
      }
      std::vector<double> ld = a, x = b;
      std::vector<int32_t> pivots(n);
      ASSERT_EQ(dense::ldl(ld.data(), static_cast<int64_t>(n), false, pivots.data()), 0);
      ASSERT_TRUE(dense::ldl_pivots_fit(pivots.data(), static_cast<int64_t>(n)));
      EXPECT_EQ(pivots[0] < 0, n > 1);
      dense::ldl_solve(ld.data(), pivots.data(), static_cast<int64_t>(n), false, x.data(), 2);
      for (size_t i = 0; i < n; ++i) {
        for (size_t c = 0; c < 2; ++c) {
          double sum = 0, size = 0;
          for (size_t j = 0; j < n; ++j) {
            sum += a[i * n + j] * x[2 * j + c];
            size += std::abs(a[i * n + j] * x[2 * j + c]);
          }
          EXPECT_NEAR(sum, b[2 * i + c], 1e-12 * size);
        }
      }
    }
  }
}

TEST(Dense, PivotsStandInPairsAndNameRows) {
  const auto fit = [](std::vector<int32_t> pivots) {
    return dense::ldl_pivots_fit(pivots.data(), static_cast<int64_t>(pivots.size()));
  };
  EXPECT_TRUE(fit({}));
  EXPECT_TRUE(fit({1, 3, 3}));
  EXPECT_TRUE(fit({-2, -2, 3}));
  EXPECT_TRUE(fit({-3, -1, 1}));
  for (const std::vector<int32_t>& bad : std::vector<std::vector<int32_t>>{{0},
                                                                           {2},
                                                                           {-1},
                                                                           {1, -2},
                                                                           {-1, 2},
                                                                           {-3, -3},
                                                                           {1, 2, -3},
                                                                           {-2, -2, -3},
                                                                           {INT32_MIN, INT32_MIN},
                                                                           {INT32_MAX, 1}})
    EXPECT_FALSE(fit(bad)) << bad[0];
}

/// A matrix of the magnitude of `scale`.
std::vector<double> scaled_matrix(double scale) {
  std::vector<double> a = {1, 2, 3, 4, 5, 6};
  for (double& v : a) v *= scale;
  return a;
}

// Values of eager PyTorch for the matrix of scale 1.
const std::vector<double> kSingular = {9.525518091565104, 0.5143005806586442};
const std::vector<double> kR = {-5.916079783099616, -7.437357441610946, 0, 0.828078671210825};
const std::vector<double> kQ = {-0.1690308509457033, 0.8970852271450604,  -0.50709255283711,
                                0.2760262237369417,  -0.8451542547285166, -0.3450327796711774};

TEST(Factorizations, TheMagnitudeOfAMatrixDoesNotMatter) {
  for (DType dtype : {DType::f64, DType::f32}) {
    const double tiny = dtype == DType::f64 ? 0x1p-1000 : 0x1p-120, error = dtype == DType::f64 ? 1e-13 : 1e-6;
    for (const double scale : {1.0, tiny, 1 / tiny}) {
      TestTensor a = make(dtype, {3, 2}, scaled_matrix(scale)), u = make_out(dtype, {3, 2}), s = make_out(dtype, {2}),
                 vh = make_out(dtype, {2, 2}), q = make_out(dtype, {3, 2}), r = make_out(dtype, {2, 2});
      ASSERT_EQ(call("aten::_linalg_svd.U", {a, false, true, nullptr, u, s, vh}), Error::Ok);
      ASSERT_EQ(call("aten::linalg_qr.out", {a, "reduced", q, r}), Error::Ok);
      EXPECT_TRUE(near(s, {kSingular[0] * scale, kSingular[1] * scale}, error));
      EXPECT_TRUE(near(q, kQ, error));
      EXPECT_TRUE(near(r, {kR[0] * scale, kR[1] * scale, 0, kR[3] * scale}, error));
      TestTensor b = make(dtype, {2, 2}, {2 * scale, scale, scale, 3 * scale}), w = make_out(dtype, {2}),
                 v = make_out(dtype, {2, 2});
      ASSERT_EQ(call("aten::_linalg_eigh.eigenvalues", {b, "L", true, w, v}), Error::Ok);
      EXPECT_TRUE(near(w, {1.381966011250105 * scale, 3.618033988749895 * scale}, error));
    }
  }
}

TEST(Dense, SingularValuesOfVeryDifferentSizeAreKept) {
  std::vector<double> a = {1e-200, 0, 0, 1}, s(2), v(4);
  dense::singular_values(a.data(), 2, 2, s.data(), v.data());
  EXPECT_EQ(s[0], 1);
  EXPECT_NEAR(s[1], 1e-200, 1e-214);
}

TEST(Factorizations, AColumnThatStartsWithZeroIsReflectedAsInEager) {
  TestTensor a = make(DType::f64, {2, 2}, {0, 1, 1, 0}), q = make_out(DType::f64, {2, 2}),
             r = make_out(DType::f64, {2, 2});
  ASSERT_EQ(call("aten::linalg_qr.out", {a, "reduced", q, r}), Error::Ok);
  EXPECT_TRUE(near(q, {0, -1, -1, 0}));
  EXPECT_TRUE(near(r, {-1, 0, 0, -1}));
}

TEST(Factorizations, ASingularMatrixIsRefusedOnlyIfErrorsAreChecked) {
  TestTensor a = make(DType::f32, {2, 2}, {1, 2, 2, 4}), out = make_out(DType::f32, {2, 2}),
             info = make_out(DType::i32, {});
  EXPECT_EQ(call("aten::linalg_inv_ex.inverse", {a, true, out, info}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::linalg_inv_ex.inverse", {a, false, out, info}), Error::Ok);
  EXPECT_EQ(ints(info), std::vector<int64_t>{2});
}

TEST(Factorizations, MatricesThatDoNotFitAreRefused) {
  TestTensor square = make(DType::f32, {2, 2}, {1, 2, 3, 4}), wide = make(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}),
             vector = make(DType::f32, {2}, {1, 2}), out = make_out(DType::f32, {2, 2}),
             number = make_out(DType::f32, {}), lu = make_out(DType::f32, {2, 2}), pivots = make_out(DType::i32, {2});
  EXPECT_EQ(call("aten::_linalg_det.result", {wide, number, lu, pivots}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::_linalg_det.result", {vector, number, lu, pivots}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::linalg_solve_triangular.out", {square, vector, true, true, false, out}),
            Error::InvalidArgument);
  EXPECT_EQ(call("aten::_linalg_det.result", {square, number, lu, pivots}), Error::Ok);
  EXPECT_NEAR(values(number)[0], -2, 1e-6);
}

TEST(Factorizations, PivotsOutsideTheMatrixAreRefused) {
  TestTensor lu = make(DType::f32, {2, 2}, {1, 2, 3, 4}), right = make(DType::f32, {2, 1}, {1, 2}),
             out = make_out(DType::f32, {2, 1});
  for (const int64_t wrong : {0, 3, -1}) {
    TestTensor pivots = make_ints(DType::i32, {2}, {1, wrong});
    EXPECT_EQ(call("aten::linalg_lu_solve.out", {lu, pivots, right, true, false, out}), Error::InvalidArgument);
  }
}

}  // namespace
}  // namespace wick::test
