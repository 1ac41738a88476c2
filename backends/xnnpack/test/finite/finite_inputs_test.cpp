// Programs that make infinities and NaN of finite inputs, and hide them again: what is finite on portable kernels is
// the same with XNNPACK. Written by hand; finite_programs_test.cpp makes more by chance.
#include <limits>

#include "backends/xnnpack/test/finite/finite_inputs_test_support.h"
#include "common/float16.h"

namespace wick::testing::finite_inputs_test {
namespace {

using namespace finite_inputs;  // NOLINT(google-build-using-namespace)

// --- programs by hand ---

// Common ways in which models hide infinities and NaN; %o is the result.
struct Known {
  const char* what;
  const char* body;
  bool one_delegate = false;
};
constexpr Known kKnown[] = {
    {"reciprocal square root of degrees, isolated nodes set to zero",
     " %d = aten.relu(%x)\n %s = aten.sum.dim_IntList(%d, [1], true)\n %r = aten.pow.Tensor_Scalar(%s, -0.5)\n"
     " %c = aten.eq.Scalar(%r, inf)\n %k = aten.masked_fill.Scalar(%r, %c, 0)\n %o = aten.mul.Tensor(%k, %y)\n"},
    {"reciprocal square root that becomes a denominator",
     " %a = aten.relu(%x)\n %r = aten.rsqrt(%a)\n %o = aten.reciprocal(%r)\n", true},
    {"reciprocal square root, clamped", " %a = aten.relu(%x)\n %r = aten.rsqrt(%a)\n %o = aten.clamp(%r, none, 10)\n",
     true},
    {"root of an infinity as a denominator",
     " %a = aten.abs(%x)\n %r = aten.reciprocal(%a)\n %s = aten.sqrt(%r)\n %t = aten.reciprocal(%s)\n"
     " %o = aten.add.Tensor(%t, %y)\n",
     true},
    {"logarithm of an infinity",
     " %a = aten.abs(%x)\n %r = aten.reciprocal(%a)\n %l = aten.log(%r)\n %n = aten.neg(%l)\n %o = aten.exp(%n)\n",
     true},
    {"sigmoid of infinities", " %r = aten.reciprocal(%x)\n %o = aten.sigmoid(%r)\n", true},
    {"cross entropy as PyTorch clamps it",
     " %p = aten.hardtanh(%x, 0, 1)\n %l = aten.log(%p)\n %c = aten.clamp(%l, -100)\n %q = aten.rsub.Scalar(%p, 1)\n"
     " %k = aten.log(%q)\n %e = aten.clamp(%k, -100)\n %o = aten.add.Tensor(%c, %e)\n",
     true},
    {"sums of exponentials without any",
     " %s = aten.masked_fill.Scalar(%x, %m, -inf)\n %l = aten.logsumexp(%s, [1], true)\n %e = aten.exp(%l)\n"
     " %o = aten.add.Tensor(%e, %y)\n"},
    {"log domain: minus infinity is nothing",
     " %s = aten.masked_fill.Scalar(%x, %m, -inf)\n %a = aten.logaddexp(%s, %s)\n %l = aten.logaddexp(%a, %y)\n"
     " %o = aten.neg(%l)\n"},
    {"softmax of rows masked throughout, NaN made zero",
     " %s = aten.masked_fill.Scalar(%x, %m, -inf)\n %p = aten._softmax(%s, 1, false)\n %t = aten.permute(%y, [1, 0])\n"
     " %a = aten.mm(%p, %t)\n %b = aten.mm(%a, %y)\n %o = aten.nan_to_num(%b)\n"},
    {"softmax of logarithms of zeros, guarded",
     " %a = aten.relu(%x)\n %l = aten.log(%a)\n %p = aten._softmax(%l, 1, false)\n %c = aten.isnan(%p)\n"
     " %o = aten.masked_fill.Scalar(%p, %c, 0)\n"},
    {"scores of minus infinity and a mask",
     " %a = aten.relu(%x)\n %l = aten.log(%a)\n %s = aten.masked_fill.Scalar(%l, %m, -inf)\n"
     " %o = aten._softmax(%s, 1, false)\n"},
    {"scores that are NaN where they are masked",
     " %l = aten.log(%x)\n %c = aten.le.Scalar(%x, 0)\n %s = aten.masked_fill.Scalar(%l, %c, -inf)\n"
     " %p = aten._softmax(%s, 1, false)\n %o = aten.nan_to_num(%p)\n"},
    {"zero vectors normalized",
     " %q = aten.square(%x)\n %s = aten.sum.dim_IntList(%q, [1], true)\n %n = aten.sqrt(%s)\n"
     " %d = aten.div.Tensor(%x, %n)\n %o = aten.nan_to_num(%d)\n"},
    {"boxes without area",
     " %i = aten.minimum(%x, %y)\n %j = aten.relu(%i)\n %u = aten.add.Tensor(%x, %y)\n %d = aten.div.Tensor(%j, %u)\n"
     " %c = aten.eq.Scalar(%u, 0)\n %o = aten.masked_fill.Scalar(%d, %c, 0)\n"},
    {"powers of e that are zero in f32, divided by their sum",
     " %s = aten.sub.Scalar(%x, 200)\n %e = aten.exp(%s)\n %t = aten.sum.dim_IntList(%e, [1], true)\n"
     " %d = aten.div.Tensor(%e, %t)\n %k = aten.maximum(%d, %y)\n %o = aten.nan_to_num(%k, 5)\n"},
    {"lengths with an infinite side beside NaN",
     " %s = aten.mul.Scalar(%x, 1e3)\n %e = aten.exp(%s)\n %l = aten.log(%y)\n %h = aten.hypot(%e, %l)\n"
     " %o = aten.clamp(%h, none, 5)\n"},
    {"sizes of complex numbers with an infinite part beside NaN",
     " %s = aten.mul.Scalar(%x, 1e3)\n %e = aten.exp(%s)\n %l = aten.log(%y)\n %c: c64[4, 6] = aten.complex(%l, %e)\n"
     " %a = aten.abs(%c)\n %o = aten.reciprocal(%a)\n"},
    {"lengths of what divides by zero",
     " %r = aten.reciprocal(%x)\n %h = aten.hypot(%r, %y)\n %o = aten.reciprocal(%h)\n", true},
    {"entropy",
     " %p = aten.hardtanh(%x, 0, 1)\n %l = aten.log(%p)\n %e = aten.mul.Tensor(%p, %l)\n %o = aten.nan_to_num(%e)\n"},
    {"running sums beside infinities",
     " %r = aten.reciprocal(%x)\n %s = aten.cumsum(%r, 1)\n %t = aten.tanh(%s)\n %o = aten.nan_to_num(%t)\n"},
    {"powers that overflow, as denominators and clamped",
     " %h = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%h)\n %c = aten.clamp(%e, none, 10)\n"
     " %r = aten.reciprocal(%e)\n %o = aten.add.Tensor(%c, %r)\n",
     true},
    {"norms that overflow, as denominators",
     " %h = aten.mul.Scalar(%x, 1e30)\n %q = aten.square(%h)\n %a = aten.sum.dim_IntList(%q, [1], true)\n"
     " %n = aten.sqrt(%a)\n %m1 = aten.add.Scalar(%n, 1)\n %o = aten.div.Tensor(%h, %m1)\n",
     true},
    {"zeros that are filled in have no sign",
     " %t = aten.tanh(%x)\n %k = aten.masked_fill.Scalar(%t, %m, 0)\n %r = aten.reciprocal(%k)\n"
     " %o = aten.sigmoid(%r)\n"},
    {"tiny divisors of what is not chosen",
     " %t = aten.tanh(%x)\n %d = aten.div.Tensor(%t, 1e-39)\n %o = aten.where.self(%m, %t, %d)\n"},
    {"negative zeros", " %n = aten.neg(%x)\n %r = aten.reciprocal(%n)\n %o = aten.sigmoid(%r)\n", true},
    {"a threshold over minus infinity", " %a = aten.relu(%x)\n %l = aten.log(%a)\n %o = aten.threshold(%l, -4, 9)\n"},
    {"extremes that drop nothing",
     " %t = aten.tanh(%x)\n %q = aten.sqrt(%t)\n %a = aten.amax(%q, [1], true)\n %c = aten.isnan(%a)\n"
     " %o = aten.where.self(%c, %y, %q)\n"},
    {"a product with a gate that overflows",
     " %h = aten.mul.Scalar(%x, 1e38)\n %g = aten.hardswish(%h)\n %r = aten.reciprocal(%g)\n"
     " %o = aten.mul.Scalar(%r, 1e38)\n"},
    {"norms of numbers whose squares overflow",
     " %h = aten.mul.Scalar(%x, 1e30)\n %n = aten.rms_norm(%h, [6], none, 1e-06)\n"
     " %l, %a, %b = aten.native_layer_norm(%h, [6], none, none, 1e-05)\n %s = aten.add.Tensor(%n, %l)\n"
     " %o = aten.add.Tensor(%s, %y)\n",
     true},
    {"running sums of what has overflowed",
     " %h = aten.mul.Scalar(%x, 1e30)\n %q = aten.square(%h)\n %s = aten.cumsum(%q, 1)\n %o = aten.neg(%s)\n", true},
    {"running sums of what has overflowed, hidden",
     " %h = aten.mul.Scalar(%x, 1e30)\n %q = aten.mul.Tensor(%h, %h)\n %s = aten.cumsum(%q, 0)\n"
     " %o = aten.clamp(%s, none, 5)\n",
     true},
    {"reciprocals of chosen zeros",
     " %k = aten.where.self(%m, %x, %y)\n %r = aten.reciprocal(%k)\n %o = aten.sigmoid(%r)\n"},
    {"quotients by zeros that were kept",
     " %t = aten.tanh(%x)\n %k = aten.masked_fill.Scalar(%t, %m, 0)\n %d = aten.div.Tensor(%y, %k)\n"
     " %o = aten.clamp(%d, -9, 9)\n"},
    {"the sign of chosen zeros",
     " %t = aten.tanh(%x)\n %k = aten.where.self(%m, %t, %y)\n %o = aten.copysign.Tensor(%y, %k)\n"},
    {"the angle of chosen zeros", " %t = aten.tanh(%x)\n %k = aten.where.self(%m, %t, %y)\n %o = aten.atan2(%k, %y)\n"},
    {"windows beside NaN and infinities",
     " const %w: f32[4, 1, 3] = ...\n %d = aten.div.Tensor(%x, %y)\n %v = aten.view(%d, [1, 4, 6])\n"
     " %c = aten.convolution(%v, %w, none, [1], [1], [1], false, [0], 4)\n %o = aten.view(%c, [4, 6])\n",
     true},
    {"the sign of a zero whose reciprocal is kept",
     " %r = aten.reciprocal(%x)\n %t = aten.tril(%r)\n %u = aten.unsqueeze(%t, 1)\n"
     " %p = aten.max_pool1d(%u, [3], [1], [1])\n %o = aten.squeeze.dim(%p, 1)\n"},
    {"an overflow behind a select, tested",
     " %h = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%h)\n %c = aten.le.Scalar(%x, 0)\n"
     " %k = aten.masked_fill.Scalar(%e, %c, 0)\n %i = aten.isinf(%k)\n %o = aten.masked_fill.Scalar(%k, %i, 0)\n"},
    {"an overflow behind a mask, compared",
     " %h = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%h)\n %k = aten.masked_fill.Scalar(%e, %m, 0)\n"
     " %i = aten.eq.Scalar(%k, inf)\n %o = aten.masked_fill.Scalar(%k, %i, 0)\n"},
    {"an overflow behind a select, replaced",
     " %h = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%h)\n %c = aten.le.Scalar(%x, 0)\n"
     " %k = aten.masked_fill.Scalar(%e, %c, 0)\n %o = aten.nan_to_num(%k, none, 1)\n"},
    {"an overflow behind a select, clamped",
     " %h = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%h)\n %c = aten.le.Scalar(%x, 0)\n"
     " %k = aten.masked_fill.Scalar(%e, %c, 1)\n %l = aten.log(%k)\n %o = aten.clamp(%l, none, 95)\n",
     true},
    {"overflows of both signs behind a triangle, clamped",
     " %h = aten.mul.Scalar(%x, 2e38)\n %k = aten.tril(%h)\n %l = aten.mul.Scalar(%k, 1e-30)\n"
     " %o = aten.clamp(%l, -1e10, 1e10)\n",
     true},
    {"a choice between two overflows, clamped",
     " %h = aten.mul.Scalar(%x, 2e38)\n %g = aten.mul.Scalar(%y, -2e38)\n %c = aten.gt.Tensor(%x, %y)\n"
     " %k = aten.where.self(%c, %h, %g)\n %l = aten.mul.Scalar(%k, 1e-30)\n %o = aten.clamp(%l, -1e10, 1e10)\n",
     true},
    {"an overflow or minus infinity, clamped",
     " %h = aten.mul.Scalar(%x, 2e38)\n %k = aten.masked_fill.Scalar(%h, %m, -inf)\n %l = aten.mul.Scalar(%k, 1e-30)\n"
     " %o = aten.clamp(%l, -1e10, 1e10)\n",
     true},
    {"a quotient by an overflow that is selected",
     " %h = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%h)\n %c = aten.le.Scalar(%x, 0)\n %g = aten.mul.Scalar(%y, "
     "1e38)\n"
     " %q = aten.div.Tensor(%g, %e)\n %o = aten.masked_fill.Scalar(%q, %c, 0)\n",
     true},
    {"a condition on quotients by weights that vanish",
     " %f = aten.mul.Scalar(%x, 100)\n %p = aten._softmax(%f, 1, false)\n %q = aten.div.Tensor(%y, %p)\n"
     " %s = aten.sum.dim_IntList(%q, [1], true)\n %c = aten.gt.Scalar(%s, 0)\n %o = aten.where.self(%c, %x, %y)\n"},
    {"a condition on shares of the largest weights",
     " %f = aten.mul.Scalar(%x, 100)\n %p = aten._softmax(%f, 1, false)\n"
     " %s = aten.sum.dim_IntList(%p, [1], true)\n %q = aten.div.Tensor(%p, %s)\n %c = aten.gt.Scalar(%q, 0.5)\n"
     " %o = aten.where.self(%c, %x, %y)\n",
     true},
    {"the sign of a difference of running products that overflow",
     " %a = aten.abs(%x)\n %b = aten.add.Scalar(%a, 1)\n %f = aten.mul.Scalar(%b, 1e10)\n %p = aten.cumprod(%f, 1)\n"
     " %q = aten.mul.Scalar(%p, 2)\n %d = aten.sub.Tensor(%p, %q)\n %o = aten.sign(%d)\n"},
    {"logarithms of probabilities below the least normal number",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %o = aten.log(%p)\n", true},
    {"logarithms of probabilities, limited",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %l = aten.log(%p)\n"
     " %o = aten.clamp(%l, -100)\n",
     true},
    {"logarithms of sigmoids below the least normal number",
     " %f = aten.mul.Scalar(%x, 44)\n %p = aten.sigmoid(%f)\n %o = aten.log(%p)\n", true},
    {"reciprocals of numbers below the least normal one",
     " %f = aten.mul.Scalar(%x, 44)\n %e = aten.exp(%f)\n %r = aten.reciprocal(%e)\n %s = aten.sigmoid(%f)\n"
     " %q = aten.reciprocal(%s)\n %o = aten.maximum(%r, %q)\n",
     true},
    {"conditions on probabilities below the least normal number",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %c = aten.gt.Scalar(%p, 0)\n"
     " %o = aten.where.self(%c, %x, %y)\n"},
    {"signs of probabilities below the least normal number",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %h = aten.mul.Scalar(%p, 2)\n"
     " %o = aten.sign(%h)\n"},
    {"signs of what curves and selects make of probabilities below the least normal number",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %t = aten.tanh(%p)\n"
     " %g = aten.gelu(%t)\n %n = aten.minimum(%g, %y)\n %k = aten.masked_fill.Scalar(%n, %m, 2)\n"
     " %o = aten.sign(%k)\n"},
    {"the next whole numbers of probabilities below the least normal number",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %c = aten.ceil(%p)\n"
     " %r = aten.remainder.Scalar(%p, -3)\n %h = aten.threshold(%p, 0, 7)\n %a = aten.add.Tensor(%c, %r)\n"
     " %o = aten.add.Tensor(%a, %h)\n"},
    {"whole numbers below probabilities stay inside",
     " %p = aten._softmax(%x, 1, false)\n %t = aten.tanh(%p)\n %f = aten.floor(%t)\n"
     " %r = aten.remainder.Scalar(%p, 3)\n %o = aten.add.Tensor(%f, %r)\n",
     true},
    {"quotients by numbers below the least normal one",
     " %f = aten.mul.Scalar(%x, 44)\n %e = aten.exp(%f)\n %o = aten.div.Tensor(%y, %e)\n", true},
    {"quotients by what makes infinities of them, which a reader hides",
     " %f = aten.mul.Scalar(%x, 53)\n %e = aten.exp(%f)\n %g = aten.mul.Scalar(%y, 1e-3)\n"
     " %q = aten.div.Tensor(%g, %e)\n %r = aten.reciprocal(%q)\n %o = aten.nan_to_num(%r, 5, 7, 9)\n"},
    {"quotients by sigmoids, as a layer reads them",
     " %f = aten.mul.Scalar(%x, 46)\n %e = aten.sigmoid(%f)\n %g = aten.mul.Scalar(%y, 1e-30)\n"
     " %q = aten.div.Tensor(%g, %e)\n %o = aten.tanh(%q)\n",
     true},
    {"quotients by softmax, as a layer reads them",
     " %f = aten.mul.Scalar(%x, 18)\n %e = aten._softmax(%f, 1, false)\n %g = aten.mul.Scalar(%y, 1e-30)\n"
     " %q = aten.div.Tensor(%g, %e)\n %o = aten.tanh(%q)\n",
     true},
    {"shares of powers of e below the least normal number",
     " %s = aten.sub.Scalar(%x, 95)\n %e = aten.exp(%s)\n %t = aten.sum.dim_IntList(%e, [1], true)\n"
     " %d = aten.div.Tensor(%e, %t)\n %o = aten.mul.Scalar(%d, 2)\n",
     true},
    {"signs of quotients by powers that are large",
     " %f = aten.mul.Scalar(%x, 44)\n %e = aten.exp(%f)\n %q = aten.div.Tensor(%y, %e)\n %s = aten.sign(%q)\n"
     " %o = aten.add.Tensor(%s, %y)\n"},
    {"quotients of probabilities below the least normal number",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %g = aten.mul.Scalar(%x, 17.75)\n"
     " %q = aten._softmax(%g, 1, false)\n %o = aten.div.Tensor(%q, %p)\n"},
    {"reciprocal roots of numbers below the least normal one",
     " %f = aten.mul.Scalar(%x, 44)\n %e = aten.exp(%f)\n %r = aten.rsqrt(%e)\n"
     " %s = aten.pow.Tensor_Scalar(%e, -0.5)\n %o = aten.add.Tensor(%r, %s)\n"},
    {"logarithms of probabilities whose infinities are replaced",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %l = aten.log(%p)\n"
     " %o = aten.nan_to_num(%l, none, none, 7)\n"},
    {"logarithms of sums of numbers below the least normal one",
     " %s = aten.sub.Scalar(%x, 95)\n %e = aten.exp(%s)\n %t = aten.sum.dim_IntList(%e, [1])\n"
     " %z = aten.abs(%y)\n %p = aten.permute(%z, [1, 0])\n %u = aten.mm(%e, %p)\n %v = aten.sum.dim_IntList(%u, [1])\n "
     "%a = aten.add.Tensor(%t, %v)\n"
     " %l = aten.log(%a)\n %k = aten.view(%l, [4, 1])\n %o = aten.add.Tensor(%y, %k)\n"},
    {"shares of sigmoids below the least normal number",
     " %s = aten.sub.Scalar(%x, 95)\n %e = aten.sigmoid(%s)\n %t = aten.sum.dim_IntList(%e, [1], true)\n"
     " %d = aten.div.Tensor(%e, %t)\n %o = aten.add.Tensor(%y, %d)\n"},
    {"quotients by probabilities that are limited",
     " %f = aten.mul.Scalar(%x, 18)\n %p = aten._softmax(%f, 1, false)\n %h = aten.add.Scalar(%p, 1e-6)\n"
     " %o = aten.div.Tensor(%y, %h)\n",
     true},
    {"a clamp of NaN",
     " %t = aten.tanh(%x)\n %q = aten.log(%t)\n %a = aten.clamp(%q, -3, 3)\n %o = aten.nan_to_num(%a, 7)\n"},
};

Inputs known_inputs() {
  Inputs inputs;
  const float some[] = {0, 1, -2, 0.5f, 3, -0.0f, 0.25f, -1, 0, 2, 7, -0.5f};
  for (size_t i = 0; i < kElements; ++i) {
    inputs.x.push_back(i / kColumns == 1 ? 0 : some[i % std::size(some)]);
    inputs.y.push_back(i / kColumns == 1 ? 0 : some[(i * 5 + 3) % std::size(some)]);
    inputs.mask.push_back(i / kColumns == 2 || i % 5 == 0);
  }
  return inputs;
}

TEST(FiniteInputs, WhatModelsGuardAgainst) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  const Inputs inputs = known_inputs();
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.what);
    const std::string text = graph(known.body, "%o");
    Program xnnpack(text, true), portable(text, false);
    const auto got = xnnpack.run(inputs), want = portable.run(inputs);
    ASSERT_EQ(got.size(), 1u);
    ASSERT_EQ(want.size(), 1u);
    EXPECT_GT(xnnpack.delegates(), 0u);
    if (known.one_delegate) {
      EXPECT_EQ(xnnpack.delegates(), 1u);
    }
    size_t finite = 0;
    for (size_t i = 0; i < want[0].size(); ++i) {
      if (!std::isfinite(want[0][i])) continue;
      ++finite;
      EXPECT_NEAR(got[0][i], want[0][i], 1e-5 * (1 + std::abs(want[0][i]))) << "element " << i;
    }
    EXPECT_GT(finite, 0u);
  }
}

// --- attention whose scores overflow: eager gives minus infinity no weight ---

struct Scores {
  const char* what;
  const char* body;  // %q, %k, %v: [1, 1, 4, 6]; %s: their scores; %l: later keys
  float query, first_key, later_key;
};
constexpr char kLowest[] = "-3.4028234663852886e+38";
const Scores kScores[] = {
    {"all are minus infinity", " %o = aten.scaled_dot_product_attention(%q, %k, %v)\n", 1e30f, -1e30f, -1e30f},
    {"some are", " %o = aten.scaled_dot_product_attention(%q, %k, %v)\n", 1e20f, 1e-20f, -1e20f},
    {"all are, causal", " %o = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)\n", 1e30f, -1e30f,
     -1e30f},
    {"some are, causal", " %o = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)\n", 1e20f, 1e-20f,
     -1e20f},
    {"those of later keys are infinite", " %o = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)\n",
     1e20f, 1e-20f, 1e20f},
    {"those of masked keys are infinite",
     " %h = aten.masked_fill.Scalar(%s, %l, -inf)\n %p = aten._softmax(%h, -1, false)\n %o = aten.matmul(%p, %v)\n",
     1e20f, 1e-20f, 1e20f},
    {"those of masked keys are infinite, masked by the lowest number",
     " %h = aten.masked_fill.Scalar(%s, %l, {0})\n %p = aten._softmax(%h, -1, false)\n %o = aten.matmul(%p, %v)\n",
     1e20f, 1e-20f, 1e20f},
    {"minus infinity is added",
     " %i = aten.sub.Scalar(%s, 1e39)\n %h = aten.masked_fill.Scalar(%i, %l, {0})\n %p = aten._softmax(%h, -1, false)\n"
     " %o = aten.matmul(%p, %v)\n",
     1, 1, 1},
    {"a low number is added twice",
     " %i = aten.sub.Scalar(%s, 2e38)\n %j = aten.sub.Scalar(%i, 1e38)\n %h = aten.masked_fill.Scalar(%j, %m4, {0})\n"
     " %p = aten._softmax(%h, -1, false)\n %o = aten.matmul(%p, %v)\n",
     1, 1, 1},
};

TEST(FiniteInputs, AttentionGivesOverflownScoresNoWeight) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  for (const Scores& scores : kScores) {
    SCOPED_TRACE(scores.what);
    const std::string body =
        " %q = aten.view(%x, [1, 1, 4, 6])\n %k = aten.view(%y, [1, 1, 4, 6])\n %n = aten.arange(24, f32)\n"
        " %w = aten.view(%n, [1, 1, 4, 6])\n %v = aten.sin(%w)\n %t = aten.permute(%k, [0, 1, 3, 2])\n"
        " %s = aten.matmul(%q, %t)\n %m4 = aten.slice.Tensor(%m, 1, 0, 4)\n %l = aten.triu(%m4, 1)\n" +
        fmt::format(fmt::runtime(scores.body), kLowest);
    Inputs inputs{Floats(kElements, scores.query), Floats(kElements, scores.first_key),
                  std::vector<uint8_t>(kElements, 1)};
    std::fill(inputs.y.begin() + 2 * kColumns, inputs.y.end(), scores.later_key);
    const std::string text = graph(body, "%o");
    Program xnnpack(text, true), portable(text, false);
    const auto got = xnnpack.run(inputs), want = portable.run(inputs);
    ASSERT_EQ(got.size(), 1u);
    ASSERT_EQ(want.size(), 1u);
    EXPECT_EQ(xnnpack.delegates(), 1u);
    size_t finite = 0;
    for (size_t i = 0; i < want[0].size(); ++i) {
      if (!std::isfinite(want[0][i])) continue;
      ++finite;
      EXPECT_NEAR(got[0][i], want[0][i], 1e-5) << "element " << i;
    }
    EXPECT_GE(finite, kElements / 4);
  }
}

// The compiler splits up what is refused and prepares the graph once more.
TEST(FiniteInputs, AttentionStaysWholeBesideARefusedComposite) {
  const std::string text = graph(
      " %r = aten.sqrt(%x)\n %u = aten.silu(%r)\n %f = aten.nan_to_num(%u)\n %q = aten.view(%f, [1, 1, 4, 6])\n"
      " %k = aten.view(%y, [1, 1, 4, 6])\n %o = aten.scaled_dot_product_attention(%q, %k, %k, none, 0.0, true)\n",
      "%o");
  EXPECT_EQ(Program(text, true).delegates(), 1u);  // the attention; the few other nodes come before it
}

// --- half precision: what eager computes in f32 overflows in f16 soon ---

double deviation_of(const Floats& row) {
  double mean = 0, squares = 0;
  for (const float x : row) mean += static_cast<double>(x) / static_cast<double>(row.size());
  for (const float x : row) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  return std::sqrt(squares / static_cast<double>(row.size() - 1));
}

// Eager computes these in f64, or without squares of large numbers.
TEST(FiniteInputs, LengthsAndDeviationsWhoseSquaresOverflow) {
  const Inputs inputs = known_inputs();
  const std::string large = " %h = aten.mul.Scalar(%x, 1e30)\n %g = aten.mul.Scalar(%y, 1e30)\n";
  const std::string bodies[] = {
      " %o = aten.hypot(%h, %g)\n",
      " %p = aten.unsqueeze(%h, 2)\n %q = aten.unsqueeze(%g, 2)\n %s = aten.cat([%p, %q], 2)\n"
      " %c = aten.view_as_complex(%s)\n %o = aten.abs(%c)\n",
      " %o = aten.std.correction(%h, [1], 1, true)\n", " %o, %k = aten.std_mean.correction(%h, [1], 1, true)\n"};
  const std::string unknown =
      "graph forward(%x: f32[s0, s1], %y: f32[s0, s1], %m: bool[s0, s1]) {\n range s0: 0..8\n range s1: 0..8\n";
  for (size_t number = 0; number < 2 * std::size(bodies); ++number) {
    const size_t body = number / 2;
    const std::string text =
        number % 2 == 0 ? graph(large + bodies[body], "%o") : unknown + large + bodies[body] + " return %o\n}";
    for (const bool on_xnnpack : {false, true}) {
      if (on_xnnpack && !has_xnnpack_library()) continue;
      SCOPED_TRACE(text + (on_xnnpack ? "on xnnpack" : "portable"));
      Program program(text, on_xnnpack);
      const auto got = program.run(inputs);
      ASSERT_EQ(got.size(), 1u);
      ASSERT_EQ(got[0].size(), body < 2 ? kElements : kElements / kColumns);
      for (size_t i = 0; i < got[0].size(); ++i) {
        const auto row = inputs.x.begin() + static_cast<ptrdiff_t>(body < 2 ? 0 : i * kColumns);
        const double want = body < 2 ? std::hypot(inputs.x[i], inputs.y[i])
                                     : deviation_of(Floats(row, row + static_cast<ptrdiff_t>(kColumns)));
        EXPECT_NEAR(static_cast<double>(got[0][i]) / 1e30, want, 1e-5 * want) << "element " << i;
      }
    }
  }
}

// The library's minima and maxima drop NaN, which must not become a bound of the scales.
TEST(FiniteInputs, DeviationsThatAreNotNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  constexpr int32_t kLengths[] = {1, 3};
  const Floats elements[] = {{1, 2, 3, 4}, {1, 2, kNan, 1, 2, 3, 1, 2, kInf, -kInf, 2, 3}};
  for (const bool on_xnnpack : {false, true}) {
    if (on_xnnpack && !has_xnnpack_library()) continue;
    Pipeline pipeline = Pipeline::from_text(
        "graph forward(%x: f32[4, s0]) {\n range s0: 0..8\n %o = aten.std.correction(%x, [1], 1)\n return %o\n}");
    if (on_xnnpack) pipeline.backend("xnnpack");
    const auto module = pipeline.load();
    ASSERT_EQ(pipeline.failures(), "");
    for (size_t i = 0; i < std::size(elements); ++i) {
      std::vector<uint8_t> bytes(elements[i].size() * sizeof(float));
      std::memcpy(bytes.data(), elements[i].data(), bytes.size());
      std::vector<HostValue> outputs;
      ModuleError error;
      ASSERT_TRUE(module->forward({HostTensor{DType::f32, {4, kLengths[i]}, std::move(bytes)}}, &outputs, &error))
          << error.message;
      const Floats got = floats_of(outputs.at(0));
      for (size_t row = 0; row < got.size(); ++row) {
        const bool is_number = i == 1 && row == 1;  // 1, 2, 3
        EXPECT_EQ(std::isnan(got[row]), !is_number) << "xnnpack: " << on_xnnpack << ", row " << row << ": " << got[row];
      }
    }
  }
}

// A row with no more elements than the correction deviates infinitely, unless all its elements are equal.
TEST(FiniteInputs, DeviationsOfFewerElementsThanTheCorrection) {
  constexpr char kText[] = R"(graph forward(%x: f32[2, s0]) {
    range s0: 0..8
    %std = aten.std.correction(%x, [1], 2)
    %var = aten.var.correction(%x, [1], 2)
    %v: f32[2], %m: f32[2] = aten.var_mean.correction(%x, [1], 2)
    %d: f32[2], %n: f32[2] = aten.std_mean.correction(%x, [1], 2)
    return %std, %var, %v, %d
  })";
  for (const bool on_xnnpack : {false, true}) {
    if (on_xnnpack && !has_xnnpack_library()) continue;
    Pipeline pipeline = Pipeline::from_text(kText);
    if (on_xnnpack) pipeline.backend("xnnpack");
    const auto module = pipeline.load();
    ASSERT_EQ(pipeline.failures(), "");
    for (int32_t length = 1; length <= 3; ++length) {
      Floats elements(static_cast<size_t>(length) * 2, 5);
      for (int32_t i = 0; i < length; ++i) elements[static_cast<size_t>(i)] = static_cast<float>(3 * i);  // 0, 3, 6
      std::vector<uint8_t> bytes(elements.size() * sizeof(float));
      std::memcpy(bytes.data(), elements.data(), bytes.size());
      std::vector<HostValue> outputs;
      ModuleError error;
      ASSERT_TRUE(module->forward({HostTensor{DType::f32, {2, length}, std::move(bytes)}}, &outputs, &error))
          << error.message;
      for (size_t o = 0; o < outputs.size(); ++o) {
        const Floats got = floats_of(outputs[o]);
        const double of_three = o == 0 || o == 3 ? std::sqrt(18.0) : 18;
        const std::string where = fmt::format("xnnpack {}, length {}, output {}", on_xnnpack, length, o);
        if (length == 1) EXPECT_TRUE(std::isnan(got[0])) << where;
        if (length == 2) EXPECT_EQ(got[0], std::numeric_limits<float>::infinity()) << where;
        if (length == 3) EXPECT_NEAR(got[0], of_three, 1e-5) << where;
        EXPECT_EQ(std::isnan(got[1]), length < 3) << where;
        if (length == 3) EXPECT_EQ(got[1], 0) << where;
      }
    }
  }
}

struct KnownHalf {
  const char* body;         // %x is [300, 400], %a 100 times that, %n -100 times
  std::vector<float> want;  // of %o
};

HostValue half_tensor(const Floats& elements) {
  std::vector<uint16_t> halves;
  for (const float x : elements) halves.push_back(Half::from_float(x));
  std::vector<uint8_t> bytes(halves.size() * sizeof(uint16_t));
  std::memcpy(bytes.data(), halves.data(), bytes.size());
  return HostTensor{DType::f16, {1, static_cast<int32_t>(elements.size())}, std::move(bytes)};
}

Floats run_half(const std::string& body, bool on_xnnpack) {
  Pipeline pipeline = Pipeline::from_text(
      fmt::format("graph forward(%x: f16[1, 2]) {{\n %a = aten.mul.Scalar(%x, 100)\n %n = aten.mul.Scalar(%x, -100)\n"
                  " {}\n return %o\n}}",
                  body));
  if (on_xnnpack) pipeline.backend("xnnpack");
  const auto module = pipeline.load();
  EXPECT_EQ(pipeline.failures(), "") << body;
  std::vector<HostValue> outputs;
  ModuleError error;
  if (!module || !module->forward({half_tensor({300, 400})}, &outputs, &error)) {
    ADD_FAILURE() << error.message;
    return {};
  }
  std::vector<uint16_t> halves(outputs[0].tensor.bytes.size() / sizeof(uint16_t));
  std::memcpy(halves.data(), outputs[0].tensor.bytes.data(), halves.size() * sizeof(uint16_t));
  Floats out;
  for (const uint16_t bits : halves) out.push_back(Half::to_float(bits));
  return out;
}

TEST(FiniteInputs, HalfPrecisionIsWidenedWhereEagerWidensIt) {
  const KnownHalf cases[] = {
      {"%o = aten.linalg_vector_norm(%x, 2, [1], true)", {500}},
      {"%o: f16[1] = aten.cosine_similarity(%x, %a, 1, 1e-08)", {1}},
      {"%o = aten.lerp.Scalar(%n, %a, 0.25)", {-15000, -20000}},
      {"%o = aten.addcmul(%n, %x, %x, 0.5)", {15000, 40000}},
      {"%o = aten.addcdiv(%x, %x, %x, 400)", {700, 800}},
      {"%f = aten.flip(%x, [1])\n %o = aten.hypot(%x, %f)", {500, 500}},
      {"%o = aten.std.correction(%a, [1], 1, true)", {7072}},
      {"%o, %m, %d = aten.native_layer_norm(%a, [2], none, none, 1e-05)", {-1, 1}},
      // Far above the others, masked.
      {"%s = aten.sub.Scalar(%x, 300)\n %t = aten.mul.Scalar(%s, 600)\n %c = aten.gt.Scalar(%t, 1000)\n"
       " %k = aten.masked_fill.Scalar(%t, %c, -inf)\n %o = aten._softmax(%k, 1, false)",
       {1, 0}},
      {"%s = aten.sub.Scalar(%x, 300)\n %t = aten.mul.Scalar(%s, 600)\n %c = aten.gt.Scalar(%t, 1000)\n"
       " %z: f16[1, 2] = aten.full([1, 2], 0.0, f16)\n %m = aten.masked_fill.Scalar(%z, %c, -inf)\n"
       " %k = aten.add.Tensor(%t, %m)\n %o = aten._softmax(%k, 1, false)",
       {1, 0}},
      {"%s = aten.tanh(%x)\n %t = aten.mul.Tensor(%s, %x)\n %c = aten.gt.Scalar(%x, 0)\n"
       " %k = aten.masked_fill.Scalar(%t, %c, -65504)\n %o = aten._softmax(%k, 1, false)",
       {0.5, 0.5}},
      {"%o = aten.rms_norm(%a, [2], none, 1e-05)", {0.8486f, 1.1314f}},
      {"%z = aten.add.Tensor(%a, %n)\n %o = aten.mul.Scalar(%z, 1e19)", {0, 0}},
      {"%q = aten.mul.Tensor(%x, %x)\n %o = aten.rsqrt(%q)", {0, 0}},
      {"%i = aten.mul.Scalar(%a, 2)\n %l = aten.linalg_vector_norm(%i, 2, [1], true)\n %c = aten.clamp(%l, 1e-06)\n"
       " %o = aten.div.Tensor(%x, %c)",
       {0, 0}},
      {"%i = aten.mul.Tensor(%a, %a)\n %w = aten._to_copy(%i, f32)\n %r = aten.sqrt(%w)\n %e = aten.reciprocal(%r)\n"
       " %o = aten._to_copy(%e, f16)",
       {0, 0}},
      {"%o: f16[1, 2] = aten.scaled_dot_product_attention(%a, %n, %a)", {30000, 40000}},
  };
  for (const KnownHalf& known : cases) {
    for (const bool on_xnnpack : {false, true}) {
      if (on_xnnpack && (!has_xnnpack_library() || !xnnpack_has_all_kernels())) continue;
      SCOPED_TRACE(fmt::format("{} on {}", known.body, on_xnnpack ? "xnnpack" : "portable"));
      const Floats got = run_half(known.body, on_xnnpack);
      ASSERT_EQ(got.size(), known.want.size());
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], known.want[i], 2e-3 * std::abs(known.want[i]));
    }
  }
}

// Cosines are between -1 and 1, but of infinity NaN, which a matmul with a triangle of ones would spread.
TEST(FiniteInputs, StrictRunningSumsKeepNaNBehindIt) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "no library";
  Pipeline pipeline =
      Pipeline::from_text(graph(" %c = aten.cos(%x)\n %s = aten.cumsum(%c, 1)\n %o = aten.abs(%s)\n", "%o"));
  pipeline.backend("xnnpack").options().strict_nan = true;
  const auto module = pipeline.load();
  ASSERT_EQ(pipeline.failures(), "");
  EXPECT_EQ(pipeline.delegates(), 1u);
  Floats x(kElements, 0);
  x[2] = INFINITY;
  std::vector<HostValue> outputs;
  ModuleError error;
  ASSERT_TRUE(module->forward({tensor(x), tensor(x), mask_tensor(std::vector<uint8_t>(kElements))}, &outputs, &error))
      << error.message;
  const Floats got = floats_of(outputs.at(0));
  for (size_t i = 0; i < kElements; ++i) {
    const bool is_nan = i >= 2 && i < kColumns;
    EXPECT_EQ(std::isnan(got[i]), is_nan) << i;
    if (!is_nan) EXPECT_EQ(got[i], static_cast<float>(i % kColumns + 1)) << i;
  }
}

// Eager's attention gives 0 for rows whose scores are all -inf, whether a mask hides them or the matmul overflows.
TEST(FiniteInputs, AttentionWhoseScoresOverflow) {
  constexpr char kText[] = R"(graph forward(%q: f32[2, 2], %k: f32[3, 2], %v: f32[3, 2], %m: f32[2, 3]) {
    %a: f32[2, 2] = aten.scaled_dot_product_attention(%q, %k, %v)
    %b: f32[2, 2] = aten.scaled_dot_product_attention(%q, %k, %v, %m)
    %c: f32[2, 2] = aten.scaled_dot_product_attention(%q, %k, %v, none, 0.0, true)
    return %a, %b, %c
  })";
  const auto tensor_of = [](int32_t rows, const Floats& elements) {
    std::vector<uint8_t> bytes(elements.size() * sizeof(float));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return HostTensor{DType::f32, {rows, static_cast<int32_t>(elements.size()) / rows}, std::move(bytes)};
  };
  const auto module = Pipeline::from_text(kText).load();
  ASSERT_TRUE(module);
  std::vector<HostValue> outputs;
  ModuleError error;
  ASSERT_TRUE(module->forward({tensor_of(2, {1e30f, 1e30f, 0, 0}), tensor_of(3, {-1e30f, -1e30f, -1e30f, 0, 0, -1e30f}),
                               tensor_of(3, {1, 2, 3, 4, 5, 6}), tensor_of(2, {0, 0, 0, 0, -INFINITY, 0})},
                              &outputs, &error))
      << error.message;
  EXPECT_EQ(floats_of(outputs.at(0)), (Floats{0, 0, 3, 4}));
  EXPECT_EQ(floats_of(outputs.at(1)), (Floats{0, 0, 3, 4}));
  EXPECT_EQ(floats_of(outputs.at(2)), (Floats{0, 0, 2, 3}));
}

}  // namespace
}  // namespace wick::testing::finite_inputs_test
