#include "compiler/analysis/value_ranges.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler::value_ranges_test {
namespace {

struct Case {
  const char* body;  // its last node is %y
  double min, max;
  const char* flags;  // of "+-n": may be +inf, -inf, NaN
};

constexpr double kAny = std::numeric_limits<double>::infinity();

std::string flags_of(const ValueRange& range) {
  return std::string(range.above ? "+" : "") + (range.below ? "-" : "") + (range.nan ? "n" : "");
}

constexpr Case kCases[] = {
    {"%y = aten.neg(%x)", -kAny, kAny, ""},
    {"%y = aten.square(%x)", 0, kAny, ""},
    {"%y = aten.mul.Tensor(%x, %x)", 0, kAny, ""},
    {"%y = aten.abs(%x)", 0, kAny, ""},
    {"%a = aten.abs(%x)\n %y = aten.add.Scalar(%a, 0.5)", 0.5, kAny, ""},
    {"%a = aten.reciprocal(%x)\n %y = aten.softplus(%a)", 0, kAny, "+"},
    {"%y = aten.elu(%x, 2, 3)", -kAny, kAny, ""},
    {"%y = aten.clamp(%x, 0.25, 2)", 0.25, 2, ""},
    {"%y = aten.clamp(%x, 2, -1)", -1, -1, ""},
    {"%a = aten.clamp(%x, 0.25, 2)\n %y = aten.reciprocal(%a)", 0.5, 4, ""},
    {"%a = aten.clamp(%x, 0.25, 4)\n %y = aten.rsqrt(%a)", 0.5, 2, ""},
    {"%y = aten.reciprocal(%x)", -kAny, kAny, "+-"},
    {"%y = aten.div.Tensor(%x, %x)", -kAny, kAny, "+-n"},
    {"%y = aten.div.Scalar(%x, 2)", -kAny, kAny, ""},
    {"%a = aten.square(%x)\n %y = aten.rsqrt(%a)", -kAny, kAny, "+-"},
    {"%y = aten.sqrt(%x)", 0, kAny, "n"},
    {"%a = aten.abs(%x)\n %y = aten.log(%a)", -kAny, kAny, "-"},
    {"%a = aten.abs(%x)\n %b = aten.log(%a)\n %y = aten.exp(%b)", 0, kAny, ""},
    {"%a = aten.abs(%x)\n %b = aten.log(%a)\n %y = aten._softmax(%b, -1, false)", 0, 1, "n"},
    {"%a = aten.abs(%x)\n %b = aten.log(%a)\n %y = aten.clamp(%b, -100)", -100, kAny, ""},
    {"%a = aten.abs(%x)\n %b = aten.log(%a)\n %y = aten.relu(%b)", 0, kAny, ""},
    {"%a = aten.reciprocal(%x)\n %y = aten.sub.Tensor(%a, %a)", -kAny, kAny, "+-n"},
    {"%a = aten.reciprocal(%x)\n %y = aten.tanh(%a)", -1, 1, ""},
    {"%y = aten.masked_fill.Scalar(%x, %m, -inf)", -kAny, kAny, "-"},
    {"%a = aten.masked_fill.Scalar(%x, %m, inf)\n %y = aten.nan_to_num(%a)", -kAny, kAny, ""},
    {"%y = aten.pow.Tensor_Scalar(%x, -0.5)", -kAny, kAny, "+-n"},
    {"%y = aten.pow.Tensor_Scalar(%x, 4)", 0, kAny, ""},
    {"%a = aten.square(%x)\n %y = aten.sum.dim_IntList(%a, [1], true)", 0, kAny, ""},
    {"%a = aten.square(%x)\n %y = aten.cumsum(%a, 1)", 0, kAny, ""},
    {"%a = aten.exp(%x)\n %b = aten.sum.dim_IntList(%a, [1], true)\n %y = aten.div.Tensor(%a, %b)", -kAny, kAny, "+-n"},
    {"%l = aten.amax(%x, [-1], true)\n %d = aten.sub.Tensor(%x, %l)\n %a = aten.exp(%d)\n"
     " %b = aten.sum.dim_IntList(%a, [1], true)\n %y = aten.div.Tensor(%a, %b)",
     0, 1, ""},
    {"%l, %i = aten.max.dim(%x, 1, true)\n %d = aten.sub.Tensor(%x, %l)\n %a = aten.exp(%d)\n"
     " %b = aten.sum.dim_IntList(%a, [1], true)\n %y = aten.div.Tensor(%a, %b)",
     0, 1, ""},
    {"%l = aten.amax(%x, [0], true)\n %d = aten.sub.Tensor(%x, %l)\n %a = aten.exp(%d)\n"
     " %b = aten.sum.dim_IntList(%a, [1], true)\n %y = aten.div.Tensor(%a, %b)",
     -kAny, kAny, "+-n"},
    {"%a = aten.sigmoid(%x)\n %y = aten.reciprocal(%a)", -kAny, kAny, "+-"},
    {"%c = aten.clamp(%x, -89, 1)\n %a = aten.sigmoid(%c)\n %y = aten.reciprocal(%a)", -kAny, kAny, "+-"},
    {"%c = aten.clamp(%x, 0)\n %a = aten.sigmoid(%c)\n %y = aten.reciprocal(%a)", 1, 2, ""},
    {"%a = aten.clamp(%x, 0, 1)\n %b = aten.sigmoid(%a)\n %y = aten.mul.Scalar(%b, 0)", 0, 0, ""},
    {"%a = aten.clamp(%x, -200)\n %b = aten.exp(%a)\n %y = aten.clamp(%b, none, 4)", 0, 4, ""},
    {"%a = aten._softmax(%x, -1, false)\n %y = aten.reciprocal(%a)", -kAny, kAny, "+-"},
    {"%y = aten.cumprod(%x, 1)", -kAny, kAny, "+-n"},
    {"%a = aten.sigmoid(%x)\n %y = aten.cumprod(%a, 1)", 0, 1, ""},
    {"%a = aten.tanh(%x)\n %y: f32[2] = aten.prod.dim_int(%a, 1)", -1, 1, ""},
    {"%a = aten._softmax(%x, -1, false)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n %y = aten.div.Tensor(%a, %b)", 0,
     1, ""},
    {"%a = aten.relu(%x)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n %y = aten.div.Tensor(%a, %b)", -kAny, kAny,
     "+-n"},
    {"%a = aten.sigmoid(%x)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n %c = aten.add.Scalar(%b, 1e-20)\n"
     " %y = aten.div.Tensor(%a, %c)",
     0, 1, ""},
    {"%a = aten.sigmoid(%x)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n %c = aten.clamp(%b, 1e-12)\n"
     " %y = aten.div.Tensor(%a, %c)",
     0, 1, ""},
    {"%a = aten.tanh(%x)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n %c = aten.add.Scalar(%b, 1e-20)\n"
     " %y = aten.div.Tensor(%a, %c)",
     -kAny, kAny, "+-n"},
    {"%h = aten._to_copy(%x, f16)\n %a = aten.sigmoid(%h)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n"
     " %c = aten.clamp(%b, 1e-4)\n %y = aten.div.Tensor(%a, %c)",
     0, 1, ""},
    {"%h = aten._to_copy(%x, f16)\n %a = aten.sigmoid(%h)\n %b = aten.sum.dim_IntList(%a, [-1], true)\n"
     " %c = aten.clamp(%b, 1e-9)\n %y = aten.div.Tensor(%a, %c)",
     -65504, 65504, "+-n"},
};

TEST(ValueRanges, KnowWhereInfinitiesAndNanComeFrom) {
  for (const Case& test : kCases) {
    SCOPED_TRACE(test.body);
    const auto function =
        parse_graph(std::string("graph f(%x: f32[2, 3], %m: bool[2, 3]) {\n ") + test.body + "\n return %y\n}");
    ASSERT_TRUE(function.ok()) << render(function.diag());
    const ValueRange range = ValueRanges(*function->graph).of(function->graph->nodes().back()->result());
    EXPECT_EQ(range.min, test.min);
    EXPECT_EQ(range.max, test.max);
    EXPECT_EQ(flags_of(range), test.flags);
  }
}

TEST(ValueRanges, LookAtConstants) {
  const auto function = parse_graph(
      "graph f(%x: f32[3]) {\n const %c: f32[3] = [1, -inf, 2.5]\n"
      " %y = aten.add.Tensor(%x, %c)\n return %y\n}");
  ASSERT_TRUE(function.ok()) << render(function.diag());
  const ValueRanges ranges(*function->graph);
  const ValueRange constant = ranges.of(function->graph->constants()[0]);
  EXPECT_EQ(constant.min, 1);
  EXPECT_EQ(constant.max, 2.5);
  EXPECT_EQ(flags_of(constant), "-");
  EXPECT_EQ(flags_of(ranges.of(function->graph->nodes().back()->result())), "-");
}

TEST(ValueRanges, LookAtScales) {
  const auto function =
      parse_graph("graph f(%q: i8[3]q(scale=0.5, zero=-128)) {\n %y: f32[3] = wick.convert(%q)\n return %y\n}");
  ASSERT_TRUE(function.ok()) << render(function.diag());
  const ValueRange range = ValueRanges(*function->graph).of(function->graph->nodes().back()->result());
  EXPECT_EQ(range.min, 0);
  EXPECT_EQ(range.max, 127.5);
  EXPECT_EQ(flags_of(range), "");
}

// [x, hides NaN, hides infinity]
TEST(ValueRanges, KnowWhoHidesThem) {
  const struct {
    const char* body;
    bool nan, infinity;
  } cases[] = {
      {"%y = aten.neg(%x)", false, false},
      {"%y = aten.reciprocal(%x)", false, true},
      {"%y = aten.relu(%x)", false, true},
      {"%y = aten.nan_to_num(%x)", true, true},
      {"%a = aten.sqrt(%x)\n %y = aten.nan_to_num(%a)", true, true},
      {"%c = aten.gt.Scalar(%z, 0)\n %y = aten.where.self(%c, %x, %z)", false, false},
      {"%c = aten.isnan(%x)\n %y = aten.where.self(%c, %x, %x)", true, true},
      {"%a = aten.mul.Scalar(%x, 2)\n %y = aten.exp(%a)", false, true},
      {"%a = aten.neg(%x)\n %y = aten.argmin(%a)", true, true},
      {"%a, %y = aten.max.dim(%x, 0)", true, true},
      {"%y, %i = aten.topk(%x, 1)", false, false},
      {"%a = aten.relu(%x)\n %b, %y = aten.topk(%a, 1)", true, true},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.body);
    const auto function =
        parse_graph(std::string("graph f(%x: f32[2], %z: f32[2]) {\n ") + test.body + "\n return %y\n}");
    ASSERT_TRUE(function.ok()) << render(function.diag());
    const ValueRanges ranges(*function->graph);
    EXPECT_EQ(ranges.hides_nan(function->graph->inputs[0].value), test.nan);
    EXPECT_EQ(ranges.hides_infinity(function->graph->inputs[0].value), test.infinity);
  }
}

// [x is tested for NaN]
TEST(ValueRanges, KnowWhoTestsForNan) {
  const struct {
    const char* body;
    bool asks;
  } cases[] = {
      {"%y = aten.isnan(%x)", true},
      {"%a = aten.neg(%x)\n %y = aten.eq.Tensor(%a, %a)", true},
      {"%y = aten.gt.Scalar(%x, 0)", true},
      {"%a = aten.relu(%x)\n %b = aten.argmax(%a, 0, true)\n %y = aten.eq.Tensor(%b, %b)", false},
      {"%a = aten.argmax(%x, 0, true)\n %y = aten.gt.Scalar(%a, 0)", false},
      // Behind a matmul too.
      {"%a = aten.view(%x, [1, 2])\n %b = aten.mm(%a, %w)\n %y = aten.gt.Scalar(%b, 0)", true},
      {"%a = aten.view(%x, [1, 2])\n %b = aten.mm(%a, %w)\n %y = aten.relu(%b)", false},
      // Behind operators that turn some NaN into numbers, or are not declared to keep NaN.
      {"%a = aten.threshold(%x, -1.0, -3.0)\n %y = aten.sign(%a)", true},
      {"%a = aten.fmod.Scalar(%x, 2.0)\n %y = aten.sign(%a)", true},
      // NaN differs from an infinity just as finite numbers do.
      {"%y = aten.ne.Scalar(%x, -inf)", false},
      {"%y = aten.eq.Scalar(%x, inf)", false},
      {"%y = aten.eq.Scalar(%x, 1.0)", true},
      {"%y = aten.lt.Scalar(%x, inf)", true},
      // A select may also give NaN where the compared operand is NaN.
      {"%c = aten.gt.Scalar(%x, 20.0)\n %e = aten.exp(%x)\n %l = aten.log1p(%e)\n %y = aten.where.self(%c, %x, %l)",
       false},
      {"%c = aten.gt.Scalar(%x, 0)\n %l = aten.select.int(%w, 0, 0)\n %y = aten.where.self(%c, %x, %l)", true},
      {"%c = aten.gt.Scalar(%x, 0)\n %l = aten.select.int(%w, 0, 0)\n %y = aten.where.self(%c, %l, %x)", false},
      {"%c = aten.ne.Scalar(%x, 0)\n %l = aten.select.int(%w, 0, 0)\n %y = aten.where.self(%c, %l, %x)", true},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.body);
    const auto function =
        parse_graph(std::string("graph f(%x: f32[2], %w: f32[2, 2]) {\n ") + test.body + "\n return %y\n}");
    ASSERT_TRUE(function.ok()) << render(function.diag());
    EXPECT_EQ(ValueRanges(*function->graph).asks_for_nan(function->graph->inputs[0].value), test.asks);
  }
}

// [the result may be an infinity of numbers that overflowed in f16]
TEST(ValueRanges, KnowWhatOverflowsInHalf) {
  const struct {
    const char* body;
    bool overflows;
  } cases[] = {
      {"%y = aten.mul.Tensor(%x, %x)", true},
      {"%y = aten.neg(%x)", false},
      {"%a = aten.mul.Tensor(%x, %x)\n %y = aten.maximum(%a, %x)", true},
      {"%a = aten.mul.Tensor(%x, %x)\n %c = aten.gt.Scalar(%x, 0)\n %y = aten.where.self(%c, %x, %a)", true},
      {"%a = aten.mul.Tensor(%x, %x)\n %y = aten.fmod.Tensor(%x, %a)", true},
      {"%a = aten.mul.Tensor(%x, %x)\n %y = aten.sigmoid(%a)", false},
      {"%a = aten.mul.Tensor(%x, %x)\n %y = aten.clamp(%a, -5, 5)", false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.body);
    const auto function = parse_graph(std::string("graph f(%x: f16[2]) {\n ") + test.body + "\n return %y\n}");
    ASSERT_TRUE(function.ok()) << render(function.diag());
    EXPECT_EQ(ValueRanges(*function->graph).overflows_half(function->graph->outputs[0].value), test.overflows);
  }
}

}  // namespace
}  // namespace wick::compiler::value_ranges_test
