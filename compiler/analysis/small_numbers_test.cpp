#include "compiler/analysis/small_numbers.h"

#include <gtest/gtest.h>

#include "compiler/analysis/analysis_test_support.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler::small_numbers_test {
namespace {

// Whether %a may vanish, and whether that matters, in a graph with these nodes.
struct Case {
  const char* body;
  bool vanish, matter;
};

constexpr Case kCases[] = {
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.mul.Tensor(%a, %m)", true, false},
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.gt.Scalar(%a, 0)", true, true},
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.gt.Scalar(%a, 1e-40)", true, true},
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.gt.Scalar(%a, 1e-30)", true, false},
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.ge.Scalar(%a, 0)", true, false},
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.lt.Scalar(%a, 0)", true, false},
    {"%a = aten.silu(%x)\n %y = aten.lt.Scalar(%a, 0)", true, true},
    {"%a = aten._softmax(%x, 1, false)\n %y = aten.gt.Tensor(%a, %m)", true, true},
    {"%a = aten._softmax(%x, 1, false)\n %c = aten.clamp(%m, 0.5)\n %y = aten.gt.Tensor(%a, %c)", true, false},
    {"%a = aten.sigmoid(%x)\n %y = aten.div.Tensor(%m, %a)", true, true},
    {"%a = aten.sigmoid(%x)\n %y = aten.div.Tensor(%a, %m)", true, false},
    {"%a = aten.sigmoid(%x)\n %b = aten.add.Scalar(%a, 1e-6)\n %y = aten.div.Tensor(%m, %b)", true, false},
    {"%a = aten.sigmoid(%x)\n %b = aten.clamp(%a, 1e-6)\n %y = aten.log(%b)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.log(%a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.rsqrt(%a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.pow.Tensor_Scalar(%a, -0.5)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.pow.Tensor_Scalar(%a, 0.5)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.sign(%a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten._to_copy(%a, bool)", true, true},
    {"%a = aten.exp(%x)\n %y = aten._to_copy(%a, i64)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.argmin(%a, 1)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.argmax(%a, 1)", true, false},
    {"%a = aten.exp(%x)\n %y, %i = aten.min.dim(%a, 1)", true, false},
    {"%a = aten.exp(%x)\n %b, %y = aten.min.dim(%a, 1)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.isnan(%a)", true, false},
    {"%t = aten.tanh(%x)\n %a = aten.exp(%t)\n %y = aten.log(%a)", false, false},
    {"%a = aten.exp(%x)\n %s = aten.sum.dim_IntList(%a, [1], true)\n %y = aten.div.Tensor(%a, %s)", true, true},
    {"%g = aten.amax(%x, [1], true)\n %d = aten.sub.Tensor(%x, %g)\n %a = aten.exp(%d)\n"
     " %s = aten.sum.dim_IntList(%a, [1], true)\n %y = aten.div.Tensor(%a, %s)",
     true, false},
    {"%a = aten.exp(%x)\n %b = aten.permute(%a, [1, 0])\n %c = aten.mul.Scalar(%b, 2)\n %y = aten.log(%c)", true, true},
    {"%a = aten.exp(%x)\n %b = aten.sqrt(%a)\n %y = aten.reciprocal(%b)", true, true},
    {"%a = aten.exp(%x)\n %b = aten.add.Tensor(%a, %m)\n %y = aten.reciprocal(%b)", true, false},
    {"%e = aten.exp(%x)\n %f = aten.exp(%m)\n %a = aten.add.Tensor(%e, %f)\n %y = aten.log(%a)", true, true},
    {"%a = aten.exp(%x)\n %f = aten.exp(%m)\n %y = aten.div.Tensor(%a, %f)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.rsub.Scalar(%e, 1)\n %y = aten.log(%a)", false, false},
    {"%a = aten.exp(%x)\n %b = aten.mm(%a, %m)\n %y = aten.log(%b)", true, true},
    {"%a = aten.relu(%x)\n %y = aten.reciprocal(%a)", false, false},
    {"%a = aten.exp(%x)\n %y = aten.pow.Tensor_Scalar(%a, 0.05)", true, true},
    {"%a = aten.exp(%x)\n %y = aten._to_copy(%a, f16)", true, false},
    {"%a = aten.exp(%x)\n %b = aten._to_copy(%a, f64)\n %y = aten.log(%b)", true, true},
    {"%a = aten.exp(%x)\n %b = aten._to_copy(%a, f16)\n %y = aten.log(%b)", true, false},
    {"%a = aten.exp(%x)\n %b = aten._to_copy(%a, bf16)\n %y = aten.gt.Scalar(%b, 0)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.div.Tensor(%m, %e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.reciprocal(%e)\n %y = aten.gt.Scalar(%a, 0)", true, true},
    {"%t = aten.clamp(%x, none, 80)\n %e = aten.exp(%t)\n %a = aten.reciprocal(%e)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.sigmoid(%x)\n %a = aten.div.Tensor(%m, %e)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %a = aten.tanh(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.erf(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.gelu(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.tan(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.elu(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.leaky_relu(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.hardswish(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.maximum(%e, %m)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.hypot(%e, %m)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.cumprod(%e, 1)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %c = aten.gt.Scalar(%m, 0)\n %a = aten.masked_fill.Scalar(%e, %c, 2)\n"
     " %y = aten.sign(%a)",
     true, true},
    {"%e = aten.exp(%x)\n %c = aten.gt.Scalar(%m, 0)\n %a = aten.where.self(%c, %e, %m)\n"
     " %y = aten.sign(%a)",
     true, true},
    {"%e = aten.exp(%x)\n %a = aten.tril(%e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.threshold(%e, -1, 2)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.fmod.Scalar(%e, 3)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.remainder.Scalar(%e, 3)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %v = aten.view(%e, [1, 1, 3, 3])\n"
     " %a = aten.upsample_nearest2d.vec(%v, [6, 6], none)\n %y = aten.sign(%a)",
     true, true},
    {"%e = aten.exp(%x)\n %c = aten.clamp(%m, 0.5)\n %a = aten.maximum(%e, %c)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %a = aten.cos(%e)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %a = aten.ceil(%e)\n %y = aten.sign(%a)", false, false},
    {"%a = aten.exp(%x)\n %y = aten.ceil(%a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.floor(%a)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.trunc(%a)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.lgamma(%a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.logit(%a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.remainder.Scalar(%a, 3)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.remainder.Scalar(%a, -3)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.remainder.Tensor(%m, %a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.remainder.Tensor(%a, %m)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.fmod.Scalar(%a, 3)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.fmod.Tensor(%m, %a)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.fmod.Tensor(%a, %m)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.threshold(%a, 0, 7)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.threshold(%a, 0.5, 7)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.div.Scalar(%a, 1e-38)", true, true},
    {"%a = aten.exp(%x)\n %y = aten.div.Scalar(%a, 1e-20)", true, false},
    {"%a = aten.erfc(%x)\n %y = aten.log(%a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.ceil(%a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.floor(%a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.trunc(%a)", true, false},
    {"%a = aten.silu(%x)\n %y = aten.lgamma(%a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.logit(%a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.remainder.Scalar(%a, 3)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.remainder.Scalar(%a, -3)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.remainder.Tensor(%m, %a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.remainder.Tensor(%a, %m)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.fmod.Scalar(%a, 3)", true, false},
    {"%a = aten.silu(%x)\n %y = aten.fmod.Tensor(%m, %a)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.fmod.Tensor(%a, %m)", true, false},
    {"%a = aten.silu(%x)\n %y = aten.threshold(%a, 0, 7)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.threshold(%a, 0.5, 7)", true, false},
    {"%a = aten.silu(%x)\n %y = aten.div.Scalar(%a, 1e-38)", true, true},
    {"%a = aten.silu(%x)\n %y = aten.div.Scalar(%a, 1e-20)", true, false},
    {"%a = aten.exp(%x)\n %y = aten.div.Scalar_mode(%a, -3, \"floor\")", true, true},
    {"%e = aten.exp(%x)\n %c = aten.gt.Scalar(%x, -80)\n %a = aten.where.self(%c, %e, %m)\n %y = aten.log(%a)", false,
     false},
    {"%e = aten.exp(%x)\n %c = aten.lt.Scalar(%x, -80)\n %a = aten.where.self(%c, %m, %e)\n %y = aten.log(%a)", false,
     false},
    {"%e = aten.exp(%x)\n %c = aten.gt.Scalar(%x, -95)\n %a = aten.where.self(%c, %e, %m)\n %y = aten.log(%a)", true,
     true},
    {"%e = aten.exp(%x)\n %c = aten.gt.Scalar(%x, -80)\n %a = aten.where.self(%c, %m, %e)\n %y = aten.log(%a)", true,
     true},
    {"%s = aten.mul.Scalar(%x, 100)\n %e = aten.exp(%s)\n %c = aten.le.Scalar(%x, 0)\n"
     " %a = aten.masked_fill.Scalar(%e, %c, 1)\n %y = aten.log(%a)",
     false, false},
    {"%e = aten.exp(%x)\n %c = aten.le.Scalar(%m, 0)\n %a = aten.masked_fill.Scalar(%e, %c, 1)\n %y = aten.log(%a)",
     true, true},
    {"%e = aten.exp(%x)\n %p = aten.permute(%e, [1, 0])\n %c = aten.gt.Scalar(%x, -80)\n"
     " %a = aten.where.self(%c, %p, %m)\n %y = aten.log(%a)",
     true, true},
    // Sums: all terms vanish, or one is of ordinary size.
    {"%e = aten.exp(%x)\n %a = aten.add.Tensor(%e, %m)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %f = aten.exp(%m)\n %a = aten.sub.Tensor(%e, %f)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.add.Scalar(%e, 1e-40)\n %y = aten.log(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.add.Scalar(%e, 1e-37)\n %y = aten.log(%a)", false, false},
    {"%e = aten.exp(%x)\n %t = aten.trunc(%e)\n %a = aten.sub.Tensor(%e, %t)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %t = aten.ceil(%e)\n %a = aten.sub.Tensor(%e, %t)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %a = aten.sum.dim_IntList(%e, [1])\n %y = aten.log(%a)", true, true},
    {"%e = aten.exp(%x)\n %a = aten.mean.dim(%e, none)\n %y = aten.sign(%a)", true, true},
    {"%s = aten.amax(%x, [0, 1])\n %e = aten.exp(%s)\n %a = aten.sum.dim_IntList(%e, [0])\n %y = aten.log(%a)", true,
     true},
    {"%e = aten.exp(%x)\n %a = aten.cumsum(%e, 1)\n %y = aten.log(%a)", true, true},
    {"%e = aten.exp(%x)\n %v = aten.view(%e, [1, 1, 3, 3])\n %a = aten.avg_pool2d(%v, [3, 1])\n %y = aten.log(%a)",
     true, true},
    {"%e = aten._softmax(%x, 1, false)\n %a = aten.sum.dim_IntList(%e, [1])\n %y = aten.log(%a)", false, false},
    {"%e = aten._softmax(%x, 1, false)\n %a = aten.sum.dim_IntList(%e, [0])\n %y = aten.log(%a)", true, true},
    {"%e = aten._softmax(%x, 1, false)\n %p = aten.permute(%e, [1, 0])\n %b = aten.mul.Scalar(%p, 3)\n"
     " %a = aten.sum.dim_IntList(%b, [0])\n %y = aten.log(%a)",
     false, false},
    {"%e = aten._softmax(%x, 1, false)\n %b = aten.mul.Scalar(%e, 1e-38)\n %a = aten.sum.dim_IntList(%b, [1])\n %y = "
     "aten.log(%a)",
     true, true},
    {"%e = aten._softmax(%x, 1, false)\n %p = aten.permute(%e, [1, 0])\n %a = aten.sum.dim_IntList(%p, [1])\n"
     " %y = aten.log(%a)",
     true, true},
    {"%e = aten._softmax(%x, 1, false)\n %b = aten.mul.Tensor(%e, %m)\n %a = aten.sum.dim_IntList(%b, [1])\n"
     " %y = aten.log(%a)",
     true, true},
    {"%e = aten._softmax(%x, 1, false)\n %a = aten.cumsum(%e, 1)\n %y = aten.log(%a)", true, true},
    {"%g = aten.amax(%x, [1], true)\n %d = aten.sub.Tensor(%x, %g)\n %e = aten.exp(%d)\n"
     " %a = aten.sum.dim_IntList(%e, [1], true)\n %y = aten.log(%a)",
     false, false},
    {"%g = aten.amax(%x, [1], true)\n %d = aten.sub.Tensor(%x, %g)\n %e = aten.exp(%d)\n"
     " %a = aten.sum.dim_IntList(%e, [0], true)\n %y = aten.log(%a)",
     true, true},
    {"%e = aten._softmax(%x, 1, false)\n %a = aten.mm(%e, %m)\n %y = aten.sign(%a)", false, false},
    {"%e = aten._softmax(%x, 0, false)\n %a = aten.mm(%e, %m)\n %y = aten.sign(%a)", true, true},
    {"%e = aten._softmax(%x, 0, false)\n %a = aten.mm(%m, %e)\n %y = aten.sign(%a)", false, false},
    {"%e = aten._softmax(%x, 1, false)\n %a = aten.mm(%m, %e)\n %y = aten.sign(%a)", true, true},
    {"%e = aten._softmax(%x, 1, false)\n %f = aten._softmax(%m, 0, false)\n %a = aten.mm(%e, %f)\n %y = aten.log(%a)",
     true, true},
    {"%e = aten.exp(%x)\n %a = aten.linear(%e, %m)\n %y = aten.sign(%a)", true, true},
    {"%e = aten._softmax(%x, 1, false)\n %a = aten.linear(%m, %e)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %a = aten.addmm(%m, %e, %m)\n %y = aten.sign(%a)", false, false},
    {"%e = aten.exp(%x)\n %a = aten.addmm(%e, %e, %m)\n %y = aten.sign(%a)", true, true},
    {"%e = aten.exp(%x)\n %v = aten.view(%e, [1, 3, 3])\n %w = aten.view(%m, [3, 3, 1])\n"
     " %a = aten.convolution(%v, %w, none, [1], [0], [1], false, [0], 1)\n %y = aten.sign(%a)",
     true, true},
    {"%e = aten.exp(%x)\n %v = aten.view(%e, [1, 3, 3])\n %w = aten.view(%m, [3, 3, 1])\n %b = aten.amax(%m, [1])\n"
     " %a = aten.convolution(%v, %w, %b, [1], [0], [1], false, [0], 1)\n %y = aten.sign(%a)",
     false, false},
    {"%a = aten.log_sigmoid(%x)\n %y = aten.sign(%a)", true, true},
    {"%a = aten.pow.Scalar(2, %x)\n %y = aten.sign(%a)", true, true},
};

TEST(SmallNumbers, MatterWhereTheyVanishAndAReaderTells) {
  for (const Case& test : kCases) {
    const std::string text = std::string("graph f(%x: f32[3, 3], %m: f32[3, 3]) {\n ") + test.body + "\n return %y\n}";
    SCOPED_TRACE(text);
    const auto function = parse_graph(text);
    ASSERT_TRUE(function.ok()) << render(function.diag());
    const Graph& graph = *function->graph;
    const ValueRanges ranges(graph);
    const Value* a = analysis_test::result_named(graph, "a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(ranges.small_numbers().may_vanish(a), test.vanish);
    EXPECT_EQ(ranges.small_numbers().matter(a), test.matter);
  }
}

// Targets keep subnormal numbers of f16, and none computes in f64.
TEST(SmallNumbers, AreOfSinglesOnly) {
  for (const char* dtype : {"f16", "f64"}) {
    const std::string text =
        std::string("graph f(%x: ") + dtype + "[3]) {\n %a = aten.exp(%x)\n %y = aten.log(%a)\n return %y\n}";
    const auto function = parse_graph(text);
    ASSERT_TRUE(function.ok()) << render(function.diag());
    const ValueRanges ranges(*function->graph);
    EXPECT_FALSE(ranges.small_numbers().may_vanish(function->graph->nodes().front()->result()));
  }
}

}  // namespace
}  // namespace wick::compiler::small_numbers_test
