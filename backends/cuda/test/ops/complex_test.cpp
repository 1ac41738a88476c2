// Complex numbers between floats: pairs of floats in one delegate.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

using CudaComplex = CudaLower;

TEST_F(CudaComplex, RotaryEmbeddingsByComplexNumbersAreOneDelegate) {
  compile(R"(graph f(%q: f32[2, 10, 4, 16], %radius: f32[10, 8], %angle: f32[10, 8]) {
  %pairs: f32[2, 10, 4, 8, 2] = aten.view(%q, [2, 10, 4, 8, 2])
  %z: c64[2, 10, 4, 8] = aten.view_as_complex(%pairs)
  %turn: c64[10, 8] = aten.polar(%radius, %angle)
  %wide: c64[1, 10, 1, 8] = aten.view(%turn, [1, 10, 1, 8])
  %turned: c64[2, 10, 4, 8] = aten.mul.Tensor(%z, %wide)
  %real: f32[2, 10, 4, 8, 2] = aten.view_as_real(%turned)
  %y: f32[2, 10, 4, 16] = aten.view(%real, [2, 10, 4, 16])
  return %y
})");
  expect_like_portable(
      {numbers(DType::f32, {2, 10, 4, 16}, 1), numbers(DType::f32, {10, 8}, 2), numbers(DType::f32, {10, 8}, 3)}, 1e-6);
}

TEST_F(CudaComplex, ASmallSpectrogramIsOneDelegate) {
  compile(R"(graph f(%x: f32[2, 400], %w: f32[64]) {
  %s: c64[2, 33, 26] = aten.stft.center(%x, 64, 16, 64, %w, true, "reflect", false, true, true)
  %a: f32[2, 33, 26] = aten.abs(%s)
  %y: f32[2, 33, 26] = aten.log1p(%a)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {2, 400}, 1), numbers(DType::f32, {64}, 2)}, 1e-5);
}

}  // namespace
}  // namespace wick::cuda
