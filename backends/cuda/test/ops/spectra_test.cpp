// Orthogonal factors and spectra of matrices with more elements than a block has threads. Vectors are unique only up to
// their sign, so products of them are compared.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::spectra_test {
namespace {

using CudaSpectra = CudaLower;

// Sizes for a warp, and for blocks of 128 and 256 threads.
constexpr int kSizes[] = {9, 40, 66};

TEST_F(CudaSpectra, OrthogonalFactorsOfEverySize) {
  for (const int n : kSizes) {
    const int m = n + 3;
    compile(fmt::format(R"(graph f(%x: f32[2, {1}, {0}], %w: f32[{0}, {1}]) {{
  %q: f32[2, {1}, {0}], %r: f32[2, {0}, {0}] = aten.linalg_qr(%x)
  %c: f32[2, {1}, {1}], %s: f32[2, {1}, {0}] = aten.linalg_qr(%x, "complete")
  %wq: f32[{0}, {0}], %wr: f32[{0}, {1}] = aten.linalg_qr(%w)
  %a: f32[2, {1}, {0}], %t: f32[2, {0}] = aten.geqrf(%x)
  %h: f32[2, {1}, {0}] = aten.linalg_householder_product(%a, %t)
  return %q, %r, %c, %s, %wq, %wr, %a, %t, %h
}})",
                        n, m));
    expect_like_portable({numbers(DType::f32, {2, m, n}, 1), numbers(DType::f32, {n, m}, 2)}, 1e-5);
  }
}

TEST_F(CudaSpectra, EigenvaluesAndWhatTheirVectorsMake) {
  for (const int n : kSizes) {
    compile(fmt::format(R"(graph f(%x: f32[2, {0}, {0}]) {{
  %w: f32[2, {0}], %v: f32[2, {0}, {0}] = aten._linalg_eigh(%x, "L", true)
  %u: f32[2, {0}], %none: f32[0] = aten._linalg_eigh(%x, "U", false)
  %wide: f32[2, 1, {0}] = aten.view(%w, [2, 1, {0}])
  %scaled: f32[2, {0}, {0}] = aten.mul.Tensor(%v, %wide)
  %t: f32[2, {0}, {0}] = aten.permute(%v, [0, 2, 1])
  %again: f32[2, {0}, {0}] = aten.bmm(%scaled, %t)
  %unit: f32[2, {0}, {0}] = aten.bmm(%t, %v)
  return %w, %u, %again, %unit
}})",
                        n));
    expect_like_portable({numbers(DType::f32, {2, n, n}, 1)}, 1e-5);
  }
}

TEST_F(CudaSpectra, SingularValuesAndWhatTheirVectorsMake) {
  for (const auto& [m, n] : {std::pair{9, 5}, {5, 9}, {70, 20}}) {
    const int small = std::min(m, n);
    compile(fmt::format(R"(graph f(%x: f32[2, {0}, {1}]) {{
  %u: f32[2, {0}, {2}], %s: f32[2, {2}], %v: f32[2, {2}, {1}] = aten._linalg_svd(%x, false, true)
  %wide: f32[2, 1, {2}] = aten.view(%s, [2, 1, {2}])
  %scaled: f32[2, {0}, {2}] = aten.mul.Tensor(%u, %wide)
  %again: f32[2, {0}, {1}] = aten.bmm(%scaled, %v)
  %fu: f32[2, {0}, {0}], %fs: f32[2, {2}], %fv: f32[2, {1}, {1}] = aten._linalg_svd(%x, true, true)
  %ut: f32[2, {0}, {0}] = aten.permute(%fu, [0, 2, 1])
  %vt: f32[2, {1}, {1}] = aten.permute(%fv, [0, 2, 1])
  %unit_u: f32[2, {0}, {0}] = aten.bmm(%ut, %fu)
  %unit_v: f32[2, {1}, {1}] = aten.bmm(%vt, %fv)
  %e: f32[0], %only: f32[2, {2}], %f: f32[0] = aten._linalg_svd(%x, false, false)
  return %s, %again, %unit_u, %unit_v, %only
}})",
                        m, n, small));
    expect_like_portable({numbers(DType::f32, {2, m, n}, 1)}, 1e-5);
  }
}

// A row of zeros, and two equal rows: vectors for singular values of 0 are any that are orthogonal to the others.
TEST_F(CudaSpectra, MatricesOfLowRank) {
  compile(R"(graph f(%x: f32[3, 6]) {
  %z: f32[1, 6] = aten.full([1, 6], 0.0, f32)
  %a: f32[7, 6] = aten.cat([%x, %z, %x], 0)
  %u: f32[7, 6], %s: f32[6], %v: f32[6, 6] = aten._linalg_svd(%a, false, true)
  %scaled: f32[7, 6] = aten.mul.Tensor(%u, %s)
  %again: f32[7, 6] = aten.mm(%scaled, %v)
  %ut: f32[6, 7] = aten.t(%u)
  %unit: f32[6, 6] = aten.mm(%ut, %u)
  %at: f32[6, 7] = aten.t(%a)
  %square: f32[7, 7] = aten.mm(%a, %at)
  %w: f32[7], %q: f32[7, 7] = aten._linalg_eigh(%square, "L", true)
  %p: f32[6, 7] = aten.linalg_pinv(%a, 0.001)
  return %s, %again, %unit, %w, %p
})");
  expect_like_portable({numbers(DType::f32, {3, 6}, 1)}, 1e-5);
}

TEST_F(CudaSpectra, ExponentialsOfEverySize) {
  for (const int n : kSizes) {
    compile(fmt::format(R"(graph f(%x: f32[2, {0}, {0}]) {{
  %y: f32[2, {0}, {0}] = aten.linalg_matrix_exp(%x)
  return %y
}})",
                        n));
    expect_like_portable({numbers(DType::f32, {2, n, n}, 1)}, 1e-5);
  }
}

}  // namespace
}  // namespace wick::cuda::spectra_test
