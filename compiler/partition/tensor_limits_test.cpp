#include "compiler/partition/tensor_limits.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"
#include "compiler/partition/rule_table.h"

namespace wick::compiler {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f16}, kOne[] = {DType::f32};

// The refusal of the last node.
std::string refused(const std::string& body, const TensorLimits& limits) {
  const auto function = parse_graph("graph f(" + body + "\n}");
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  if (!function.ok()) return "";
  const SymScope scope(function->graph->ranges);
  return refuse_tensors(*function->graph->nodes().back(), limits);
}

TEST(TensorLimits, DtypesAreThoseOfTheList) {
  const std::string halves = "%x: f16[2]) {\n%y = aten.relu(%x)\nreturn %y",
                    doubles = "%x: f64[2]) {\n%y = aten.relu(%x)\nreturn %y";
  EXPECT_EQ(refused(halves, {kFloats, 4}), "");
  EXPECT_EQ(refused(halves, {kOne, 4}), "dtype f16[2]; only f32 is taken");
  EXPECT_EQ(refused(doubles, {kFloats, 4}), "dtype f64[2]; only f32 and f16 are taken");
  EXPECT_EQ(refused("%x: f32[2], %h: f16[2]) {\n%y = aten.add.Tensor(%x, %h)\nreturn %y", {kFloats, 4}),
            "operands of different dtypes");
}

TEST(TensorLimits, RanksAndSizesHaveBounds) {
  EXPECT_EQ(refused("%x: f32[2, 3]) {\n%y = aten.relu(%x)\nreturn %y", {kOne, 2}), "");
  EXPECT_EQ(refused("%x: f32[2, 3]) {\n%y = aten.relu(%x)\nreturn %y", {kOne, 1}), "2 dimensions; at most 1 are taken");
  EXPECT_EQ(refused("%x: f32[2, 0]) {\n%y = aten.relu(%x)\nreturn %y", {kOne, 2}), "an empty tensor");
  EXPECT_EQ(refused("%x: f32[65536, 32767]) {\n%y = aten.relu(%x)\nreturn %y", {kOne, 2}), "");
  EXPECT_EQ(refused("%x: f32[65536, 32768]) {\n%y = aten.relu(%x)\nreturn %y", {kOne, 2}),
            "a tensor of 2^31 elements or more");
}

TEST(TensorLimits, SizesKnownOnlyAtRunTimeAreCounted) {
  const std::string one = "%x: f32[s0, 3]) {\nrange s0: 1..8\n%y = aten.relu(%x)\nreturn %y",
                    two = "%x: f32[s0, s1]) {\nrange s0: 1..8\nrange s1: 1..8\n%y = aten.relu(%x)\nreturn %y";
  EXPECT_EQ(refused(one, {kOne, 2, Unknown::one}), "");
  EXPECT_EQ(refused(one, {kOne, 2, Unknown::none}), "sizes known only at run time: f32[s0, 3]");
  EXPECT_EQ(refused(two, {kOne, 2, Unknown::any}), "");
  EXPECT_EQ(refused(two, {kOne, 2, Unknown::one}), "more than one size known only at run time: f32[s0, s1]");
  EXPECT_EQ(refused("%x: f32[s0]) {\n%y = aten.relu(%x)\nreturn %y", {kOne, 2, Unknown::one}),
            "a size without upper bound: f32[s0]");
}

// Constants are permuted when the program is compiled.
TEST(TensorLimits, OtherTensorsThanConstantsAreContiguous) {
  EXPECT_EQ(refused("%x: f32[2, 3]{1,0}) {\n%y: f32[2, 3] = aten.relu(%x)\nreturn %y", {kOne, 2}),
            "a tensor that is not contiguous: f32[2, 3]{1,0}");
  EXPECT_EQ(refused("%x: f32[1, 2]) {\nconst %c: f32[1, 2]{1,0} = [1.0, 2.0]\n%y: f32[1, 2] = aten.add.Tensor(%x, "
                    "%c)\nreturn %y",
                    {kOne, 2}),
            "");
}

TEST(TensorLimits, OnlyTheFirstResultMayBeRead) {
  const std::string both = "%x: f32[4]) {\n%v: f32[2], %i: i64[2] = aten.topk(%x, 2)\nreturn %v";
  EXPECT_EQ(refused(both, {kOne, 1}), "");
  EXPECT_EQ(refused(both + ", %i", {kOne, 1}), "more than its first result is read");
}

struct Row {
  const char* op;
  int number;
};
constexpr Row kFirst[] = {{"aten.relu.default", 1}, {"aten.abs.default", 2}}, kSecond[] = {{"aten.add.Tensor", 3}};

TEST(RuleTable, FindsTheRowOfANodesOperator) {
  const RuleTable<Row> table({kFirst, kSecond});
  const auto function = parse_graph(
      "graph f(%x: f32[2]) {\n%a = aten.abs(%x)\n%b = aten.add.Tensor(%a, %x)\n%c = aten.neg(%b)\nreturn %c\n}");
  ASSERT_TRUE(function.ok());
  std::vector<int> found;
  for (const auto& node : function->graph->nodes()) {
    const Row* row = table.find(*node);
    found.push_back(row ? row->number : 0);
  }
  EXPECT_EQ(found, (std::vector<int>{2, 3, 0}));
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_STREQ(table.rows()[0]->op, "aten.abs.default");
}

}  // namespace
}  // namespace wick::compiler
