#include "compiler/analysis/zero_signs.h"

#include <gtest/gtest.h>

#include "compiler/analysis/analysis_test_support.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler::zero_signs_test {
namespace {

// Whether the sign of a zero in %a matters, and whether %a may be -0, in a graph with these nodes.
struct Case {
  const char* body;
  bool matter, may_be_negative;
};

constexpr Case kCases[] = {
    {"%a = aten.relu(%x)\n %y = aten.reciprocal(%a)", true, true},
    {"%a = aten.relu(%x)\n %y = aten.exp(%a)", false, true},
    {"%a = aten.abs(%x)\n %y = aten.rsqrt(%a)", true, false},
    {"%a = aten.mul.Tensor(%x, %x)\n %y = aten.div.Tensor(%x, %a)", true, true},
    {"%a = aten.neg(%x)\n %y = aten.div.Tensor(%a, %m)", false, true},
    {"%a = aten.neg(%x)\n %y = aten.atan2(%a, %x)", true, true},
    {"%a = aten.neg(%x)\n %y = aten.pow.Tensor_Scalar(%a, -1)", true, true},
    {"%a = aten.neg(%x)\n %y = aten.pow.Tensor_Scalar(%a, 3)", false, true},
    {"%a = aten.add.Scalar(%x, 1)\n %y = aten.reciprocal(%a)", true, false},
    {"%b = aten.abs(%x)\n %a = aten.add.Tensor(%x, %b)\n %y = aten.reciprocal(%a)", true, false},
    {"%b = aten.abs(%x)\n %a = aten.sub.Tensor(%b, %x)\n %y = aten.reciprocal(%a)", true, false},
    {"%a = aten.sub.Tensor(%x, %x)\n %y = aten.reciprocal(%a)", true, true},
    {"%a = aten.clamp(%x, 0.5)\n %y = aten.reciprocal(%a)", true, false},
    {"%a = aten.relu(%x)\n %b = aten.permute(%a, [1, 0])\n %c = aten.sqrt(%b)\n %y = aten.reciprocal(%c)", true, true},
    {"%a = aten.relu(%x)\n %c = aten.cat([%a, %x], 0)\n %y = aten.reciprocal(%c)", true, true},
    {"%a = aten.relu(%x)\n %c = aten.add.Tensor(%a, %m)\n %y = aten.reciprocal(%c)", true, true},
    {"%a = aten.relu(%x)\n %b = aten.abs(%m)\n %c = aten.add.Tensor(%a, %b)\n %y = aten.reciprocal(%c)", false, true},
    {"%a = aten.relu(%x)\n %c = aten.gt.Scalar(%a, 0)\n %b = aten.where.self(%c, %x, %m)\n"
     " %y = aten.reciprocal(%b)",
     false, true},
    {"%a = aten.relu(%x)\n %c = aten.add.Scalar(%a, 1)\n %y = aten.reciprocal(%c)", false, true},
    {"%a = aten.mm(%x, %x)\n %y = aten.reciprocal(%a)", true, false},
    {"%v = aten.var.correction(%x, [1])\n %a = aten.sqrt(%v)\n %y = aten.reciprocal(%a)", true, false},
};

TEST(ZeroSigns, MatterToReadersThatTellZerosApart) {
  for (const Case& test : kCases) {
    const std::string text = std::string("graph f(%x: f32[3, 3], %m: f32[3, 3]) {\n ") + test.body + "\n return %y\n}";
    SCOPED_TRACE(text);
    const auto function = parse_graph(text);
    ASSERT_TRUE(function.ok()) << render(function.diag());
    const Graph& graph = *function->graph;
    const ValueRanges ranges(graph);
    const Value* a = analysis_test::result_named(graph, "a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(ranges.zero_signs().matter(a), test.matter);
    EXPECT_EQ(may_be_negative_zero(a, ranges), test.may_be_negative);
  }
}

}  // namespace
}  // namespace wick::compiler::zero_signs_test
