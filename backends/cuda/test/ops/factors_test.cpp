// Factors of matrices with more elements than a block has threads, and checks of data.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda::factors_test {
namespace {

using CudaFactors = CudaLower;

// Sizes for a warp, and for blocks of 128 and 256 threads.
constexpr int kSizes[] = {9, 40, 70};

TEST_F(CudaFactors, SystemsAndDeterminantsOfEverySize) {
  for (const int n : kSizes) {
    compile(fmt::format(R"(graph f(%x: f32[2, {0}, {0}], %b: f32[2, {0}, 3]) {{
  %lu: f32[2, {0}, {0}], %p: i32[2, {0}], %i: i32[2] = aten.linalg_lu_factor_ex(%x)
  %y: f32[2, {0}, 3] = aten.linalg_lu_solve(%lu, %p, %b)
  %z: f32[2, {0}, 3] = aten.linalg_lu_solve(%lu, %p, %b, true, true)
  %s: f32[2], %l: f32[2], %lu_2: f32[2, {0}, {0}], %p_2: i32[2, {0}] = aten._linalg_slogdet(%x)
  %j: i32[2] = aten.add.Scalar(%i, 1)
  %fp: f32[2, {0}] = aten._to_copy(%p, f32)
  %fj: f32[2] = aten._to_copy(%j, f32)
  return %y, %z, %s, %l, %fp, %fj
}})",
                        n));
    expect_like_portable({numbers(DType::f32, {2, n, n}, 1), numbers(DType::f32, {2, n, 3}, 2)}, 1e-3);
  }
}

TEST_F(CudaFactors, CholeskyAndTriangularSystems) {
  for (const int n : kSizes) {
    compile(fmt::format(R"(graph f(%x: f32[2, {0}, {0}], %b: f32[2, 3, {0}]) {{
  %t: f32[2, {0}, {0}] = aten.permute(%x, [0, 2, 1])
  %s: f32[2, {0}, {0}] = aten.bmm(%x, %t)
  %e: f32[{0}, {0}] = aten.eye({0})
  %d: f32[2, {0}, {0}] = aten.add.Tensor(%s, %e)
  %l: f32[2, {0}, {0}], %i: i32[2] = aten.linalg_cholesky_ex(%d, true)
  %y: f32[2, 3, {0}] = aten.linalg_solve_triangular(%l, %b, true, false)
  %v: f32[2, {0}, {0}], %j: i32[2] = aten.linalg_inv_ex(%d)
  return %l, %y, %v
}})",
                        n));
    expect_like_portable({numbers(DType::f32, {2, n, n}, 1), numbers(DType::f32, {2, 3, n}, 2)}, 1e-3);
  }
}

TEST_F(CudaFactors, ASingularMatrixFailsTheCallThatChecks) {
  for (const bool checks : {false, true}) {
    compile(fmt::format(R"(graph f(%x: f32[2, 3, 3]) {{
  %y: f32[2, 3, 3], %i: i32[2] = aten.linalg_inv_ex(%x, {})
  %f: f32[2] = aten._to_copy(%i, f32)
  return %f
}})",
                        checks));
    HostTensor x = numbers(DType::f32, {2, 3, 3}, 1);
    std::fill_n(x.bytes.begin() + 36 + 12, 12, uint8_t{0});  // makes a row of the second matrix 0
    if (checks) {
      expect_error({x}, "aten.linalg_inv_ex.default: a matrix is singular");
    } else {
      expect_like_portable({x}, 0);
    }
  }
}

}  // namespace
}  // namespace wick::cuda::factors_test
