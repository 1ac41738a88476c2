// Complex numbers that are made of floats and read as floats: pairs of floats in one delegate.
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

// A complex input, and sin, which has no kernel, among other complex operators. Only sin stays outside, with views that
// split and join the parts of complex numbers.
TEST_F(CudaComplex, OperatorsBetweenOthersThatKnowOnlyComplexNumbersAreInside) {
  const std::string text = R"(graph f(%z: c64[4, 6], %w: f32[6, 6, 2], %r: f32[4, 1]) {
  %c: c64[6, 6] = aten.view_as_complex(%w)
  %f: c64[4, 6] = aten._fft_c2c(%z, [1], 0, true)
  %p: c64[4, 6] = aten.mm(%f, %c)
  %q: c64[4, 6] = aten.div.Tensor(%p, %r)
  %o: c64[4, 6] = aten.full([4, 6], 2.0, c64)
  %a: c64[4, 6] = aten.add.Tensor(%q, %o)
  %e: c64[4, 6] = aten.sin(%a)
  %g: c64[4, 6] = aten._fft_c2c(%e, [1], 2, false)
  %s: c64[4] = aten.sum.dim_IntList(%g, [1])
  %v: f32[4, 2] = aten.view_as_real(%s)
  %y: f32[4, 6] = aten.abs(%g)
  return %v, %y, %a
})";
  for (const auto& [op, reason] : outside_of(text)) {
    EXPECT_TRUE(op == "aten.sin.default" || op == "aten.view_as_real.default" || op == "aten.view_as_complex.default")
        << op << ": " << reason;
  }
  HostTensor z = numbers(DType::f32, {4, 6, 2}, 1), r = numbers(DType::f32, {4, 1}, 3);
  z.dtype = DType::c64;
  z.sizes = {4, 6};
  for (size_t i = 0; i < 4; ++i) r.bytes[4 * i + 3] = 0x40;  // at least 2
  const std::vector<HostValue> inputs = {z, numbers(DType::f32, {6, 6, 2}, 2), r};
  CompileResult result, ignored;
  const auto program = program_of(text, "cuda", {{"gpu", "none"}, {"twin", twin()}}, &result);
  EXPECT_GE(result.methods[0].delegates, 2u);
  const auto want = outputs_of(program_of(text, "portable", {}, &ignored), inputs, "");
  auto got = outputs_of(program, inputs, "cuda-twin=" + twin());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].tensor.dtype, want[i].tensor.dtype);
    ASSERT_EQ(got[i].tensor.bytes.size(), want[i].tensor.bytes.size());
    HostTensor a = got[i].tensor, b = want[i].tensor;
    a.dtype = b.dtype = DType::f32;  // real and imaginary parts
    for (size_t k = 0; k < b.bytes.size() / 4; ++k)
      EXPECT_NEAR(element(a, k), element(b, k), 1e-5 * (1 + std::fabs(element(b, k)))) << i << ", " << k;
  }
}

// Also with 0, infinities and NaN in each part.
TEST_F(CudaComplex, ExponentialsLogarithmsSelectsQuotientsAndProductsOfRowsAreInside) {
  compile(R"(graph f(%x: f32[64, 1, 2], %y: f32[64, 2], %r: f32[64]) {
  %a: c64[64, 1] = aten.view_as_complex(%x)
  %b: c64[64] = aten.view_as_complex(%y)
  %q: c64[64, 64] = aten.div.Tensor(%a, %b)
  %o: c64[64] = aten.div.Tensor(%r, %b)
  %e: c64[64] = aten.exp(%b)
  %l: c64[64] = aten.log(%b)
  %i: c64[64] = aten.reciprocal(%b)
  %s: c64[8, 8] = aten.view(%b, [8, 8])
  %t: c64[8, 4] = aten.slice.Tensor(%s, 1, 1, 5)
  %m: c64[8] = aten.prod.dim_int(%t, 1)
  %n: c64[1, 4] = aten.prod.dim_int(%t, -2, true)
  %p: bool[64] = aten.gt.Scalar(%r, 0.0)
  %w: c64[64] = aten.where.self(%p, %e, %o)
  %q2: f32[64, 64, 2] = aten.view_as_real(%q)
  %o2: f32[64, 2] = aten.view_as_real(%o)
  %e2: f32[64, 2] = aten.view_as_real(%e)
  %l2: f32[64, 2] = aten.view_as_real(%l)
  %w2: f32[64, 2] = aten.view_as_real(%w)
  %i2: f32[64, 2] = aten.view_as_real(%i)
  %m2: f32[8, 2] = aten.view_as_real(%m)
  %n2: f32[1, 4, 2] = aten.view_as_real(%n)
  return %q2, %o2, %e2, %l2, %w2, %i2, %m2, %n2
})");
  const float parts[] = {0.0f, -0.0f, 1.0f, -2.5f, 0.75f, INFINITY, -INFINITY, NAN};
  HostTensor x = numbers(DType::f32, {64, 1, 2}, 1), y = x;
  for (size_t i = 0; i < 64; ++i) {
    std::memcpy(&x.bytes[8 * i], &parts[i / 8], 4);
    std::memcpy(&x.bytes[8 * i + 4], &parts[i % 8], 4);
  }
  y.bytes = x.bytes;
  y.sizes = {64, 2};
  const std::vector<HostValue> inputs = {x, y, numbers(DType::f32, {64}, 3)};
  CompileResult ignored;
  const auto want = outputs_of(program_of(text_, "portable", {}, &ignored), inputs, "");
  const auto got = outputs_of(program_, inputs, "cuda-twin=" + twin());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    for (size_t k = 0; k < want[i].tensor.bytes.size() / 4; ++k) {
      const double a = element(got[i].tensor, k), b = element(want[i].tensor, k);
      EXPECT_TRUE(std::isfinite(b) ? std::fabs(a - b) <= 1e-6 * (1 + std::fabs(b))
                  : std::isnan(b)  ? std::isnan(a)
                                   : a == b)
          << "result " << i << ", " << k << ": " << a << ", wanted " << b;
    }
  }
}

// Transforms of one and of two factors, even and odd sizes, half of the values and all of them.
TEST_F(CudaComplex, LongTransformsAreMatmulsOfTheirFactors) {
  for (const int n : {513, 600, 1024, 1331}) {
    const int half = n / 2 + 1;
    compile(fmt::format(R"(graph f(%x: f32[2, {0}], %p: f32[2, {0}, 2]) {{
  %r: c64[2, {1}] = aten._fft_r2c(%x, [1], 0, true)
  %a: f32[2, {1}, 2] = aten.view_as_real(%r)
  %z: c64[2, {0}] = aten.view_as_complex(%p)
  %f: c64[2, {0}] = aten._fft_c2c(%z, [1], 1, true)
  %b: f32[2, {0}, 2] = aten.view_as_real(%f)
  %g: c64[2, {0}] = aten._fft_c2c(%f, [1], 1, false)
  %c: f32[2, {0}, 2] = aten.view_as_real(%g)
  %d: f32[2, {0}] = aten._fft_c2r(%r, [1], 2, {0})
  return %a, %b, %c, %d
}})",
                        n, half));
    expect_like_portable({numbers(DType::f32, {2, n}, 1), numbers(DType::f32, {2, n, 2}, 2)}, 2e-6);
  }
}

// All kinds of transforms of a signal of `size` values. `range`: bounds of the symbol.
std::string transforms_of(const std::string& size, const std::string& half, const std::string& range) {
  return fmt::format(R"(graph f(%x: f32[2, {0}], %p: f32[2, {0}, 2]) {{{2}
  %r: c64[2, {1}] = aten._fft_r2c(%x, [1], 0, true)
  %a: f32[2, {1}, 2] = aten.view_as_real(%r)
  %z: c64[2, {0}] = aten.view_as_complex(%p)
  %f: c64[2, {0}] = aten._fft_c2c(%z, [0, 1], 1, true)
  %b: f32[2, {0}, 2] = aten.view_as_real(%f)
  %g: c64[2, {0}] = aten._fft_c2c(%f, [1], 2, false)
  %c: f32[2, {0}, 2] = aten.view_as_real(%g)
  %d: f32[2, {0}] = aten._fft_c2r(%r, [1], 2, {0})
  return %a, %b, %c, %d
}})",
                     size, half, range);
}

// The program computes the matrices; for 513 points and more it uses a convolution.
TEST_F(CudaComplex, TransformsOfPointsKnownAtRunTimeAreInside) {
  for (const int most : {64, 600}) {
    compile(transforms_of("s0", "floordiv(s0, 2) + 1", fmt::format("\n  range s0: 2..{}", most)));
    for (const int n : {2, 17, most - 1})
      expect_like_portable({numbers(DType::f32, {2, n}, 1), numbers(DType::f32, {2, n, 2}, 2)}, 2e-6);
  }
}

TEST_F(CudaComplex, TransformsOfLargePrimeFactorsAreConvolutions) {
  compile(transforms_of("1042", "522", ""));
  expect_like_portable({numbers(DType::f32, {2, 1042}, 1), numbers(DType::f32, {2, 1042, 2}, 2)}, 2e-6);
}

// With f32 alone, the error would be 3e-8 of the signal.
TEST_F(CudaComplex, TransformsOfF64AreInside) {
  compile(R"(graph f(%x: f32[2, 21]) {
  %w: f64[2, 21] = aten._to_copy(%x, f64)
  %r: c128[2, 11] = aten._fft_r2c(%w, [1], 0, true)
  %g: f64[2, 21] = aten._fft_c2r(%r, [1], 2, 21)
  %e: f64[2, 21] = aten.sub.Tensor(%g, %w)
  %m: f64[2, 21] = aten.mul.Scalar(%e, 1e9)
  %b: f64[2, 21] = aten.add.Tensor(%w, %m)
  %y: f32[2, 21] = aten._to_copy(%b, f32)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {2, 21}, 1)}, 1e-5);
}

TEST_F(CudaComplex, PartsHaveTheDtypeOfTheirNumber) {
  compile(R"(graph f(%x: f32[2, 3, 2], %r: f32[2, 3]) {
  %z: c64[2, 3] = aten.view_as_complex(%x)
  %w: c128[2, 3] = aten._to_copy(%z, c128)
  %o: c128[2, 3] = aten._to_copy(%r, c128)
  %s: c128[2, 3] = aten.mul.Tensor(%w, %o)
  %m: c128[2, 3] = aten.add.Tensor(%s, %z)
  %d: c64[2, 3] = aten._to_copy(%m, c64)
  %y: f32[2, 3, 2] = aten.view_as_real(%d)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {2, 3, 2}, 1), numbers(DType::f32, {2, 3}, 2)}, 1e-6);
}

TEST_F(CudaComplex, ASpectrogramOfLongFramesIsOneDelegate) {
  compile(R"(graph f(%x: f32[1, 4000], %w: f32[1024]) {
  %s: c64[1, 513, 16] = aten.stft.center(%x, 1024, 256, 1024, %w, true, "reflect", false, true, true)
  %a: f32[1, 513, 16] = aten.abs(%s)
  %y: f32[1, 513, 16] = aten.log1p(%a)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {1, 4000}, 1), numbers(DType::f32, {1024}, 2)}, 1e-5);
}

}  // namespace
}  // namespace wick::cuda
