#include "compiler/ir/op_case.h"

#include <gtest/gtest.h>

namespace wick::compiler {
namespace {

std::string refusal(const char* name, const char* text) {
  const auto parsed = parse_case(op(name), text);
  return parsed.ok() ? "" : parsed.diag().message;
}

TEST(OpCase, ReadsTensorsNumbersAndKeywords) {
  const auto parsed = parse_case(op("aten.add.Tensor"), "f32[2, 3], i64[], alpha=-2.5");
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->arguments.size(), 3u);
  EXPECT_EQ(parsed->arguments[0].value.tensor.sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(parsed->arguments[1].value.tensor.dtype, DType::i64);
  EXPECT_EQ(parsed->arguments[1].value.tensor.fill.low, -9);
  EXPECT_EQ(parsed->arguments[2].name, "alpha");
  EXPECT_TRUE(parsed->arguments[2].by_name);
  EXPECT_EQ(parsed->arguments[2].value.real, -2.5);
  EXPECT_NE(parsed->arguments[0].value.tensor.seed, parsed->arguments[1].value.tensor.seed);
}

TEST(OpCase, ReadsFills) {
  const auto parsed = parse_case(op("aten.where.self"), "bool[4], f32[4]{range=0.5..1e3}, f32[4]{=1, -inf, nan}");
  ASSERT_TRUE(parsed.ok()) << parsed.diag().message;
  EXPECT_EQ(parsed->arguments[1].value.tensor.fill.low, 0.5);
  EXPECT_EQ(parsed->arguments[1].value.tensor.fill.high, 1000);
  EXPECT_EQ(parsed->arguments[2].value.tensor.fill.values.size(), 3u);
  const auto gather = parse_case(op("aten.gather.default"), "f32[4]{special}, 0, i64[2]{index<4}");
  ASSERT_TRUE(gather.ok()) << gather.diag().message;
  EXPECT_EQ(gather->arguments[0].value.tensor.fill.kind, CaseFill::Kind::special);
  EXPECT_EQ(gather->arguments[2].value.tensor.fill.limit, 4);
}

TEST(OpCase, ReadsListsWordsAndRefusals) {
  const auto parsed = parse_case(op("aten.sum.dim_IntList"), "! f32[2], [0, -1], true, dtype=f64");
  ASSERT_TRUE(parsed.ok()) << parsed.diag().message;
  EXPECT_TRUE(parsed->refused);
  EXPECT_EQ(parsed->arguments[1].value.items.size(), 2u);
  EXPECT_EQ(parsed->arguments[3].value.word, "f64");
  EXPECT_TRUE(parse_case(op("aten.index.Tensor"), "f32[2, 3], [None, i64[2]{index<3}]").ok());
  EXPECT_TRUE(parse_case(op("aten.clamp.default"), "f32[2], None, 1").ok());
}

TEST(OpCase, IsCheckedAgainstTheSchema) {
  EXPECT_NE(refusal("aten.add.Tensor", "f32[2]").find("'other' is left out"), std::string::npos);
  EXPECT_NE(refusal("aten.add.Tensor", "f32[2], f32[2], 2").find("'alpha' is passed by name"), std::string::npos);
  EXPECT_NE(refusal("aten.add.Tensor", "f32[2], f32[2], beta=2").find("no argument 'beta'"), std::string::npos);
  EXPECT_NE(refusal("aten.add.Tensor", "f32[2], f32[2], alpha=1, alpha=1").find("given twice"), std::string::npos);
  EXPECT_NE(refusal("aten.add.Tensor", "f32[2], mean").find("'other' wants a tensor"), std::string::npos);
  EXPECT_NE(refusal("aten._softmax.default", "f32[2], 0.5, false").find("wants an integer"), std::string::npos);
  EXPECT_NE(refusal("aten._softmax.default", "f32[2], None, false").find("wants an integer"), std::string::npos);
  EXPECT_NE(refusal("aten.relu.default", "f32[2], 1").find("too many arguments"), std::string::npos);
  EXPECT_NE(refusal("aten.relu.default", "f32[2]{odd}").find("no fill 'odd'"), std::string::npos);
  EXPECT_NE(refusal("aten.relu.default", "f32[-2]").find("a size"), std::string::npos);
  EXPECT_NE(refusal("aten.relu.default", "f32[2").find("wanted ','"), std::string::npos);
  EXPECT_NE(refusal("aten.relu.default", "f32[2]{range=3..1}").find("LOW..HIGH"), std::string::npos);
  EXPECT_NE(refusal("aten.relu.default", "f32[2] f32[2]").find("wanted ','"), std::string::npos);
}

TEST(OpCase, EveryOperatorHasWellFormedCases) {
  for (const OpDef* def : all_ops()) {
    for (const char* text : cases_of(*def)) {
      const auto parsed = parse_case(*def, text);
      EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.diag().message);
    }
  }
}

}  // namespace
}  // namespace wick::compiler
