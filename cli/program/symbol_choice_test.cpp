#include "cli/program/symbol_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wick::cli {
namespace {

using compiler::kUnbounded;
using compiler::parse_sym;
using compiler::Sizes;
using compiler::Sym;

// Inputs of the sizes s0 and s1, each 1 to 40.
MethodFacts facts_with(const std::vector<std::string>& rules) {
  MethodFacts facts;
  for (const char* name : {"s0", "s1"}) {
    facts.inputs.push_back({name, compiler::Type::of(DType::f32, Sizes{Sym::symbol(name)}), {}});
    facts.symbols[name] = {1, 40};
    facts.ranges.emplace_back(Sym::symbol(name), compiler::SymRange{1, 40});
  }
  for (const std::string& rule : rules) facts.rules.push_back(*parse_sym(rule));
  return facts;
}

std::string chosen(const std::vector<std::string>& rules) {
  const auto values = choose_symbols(facts_with(rules));
  return values.ok() ? fmt::format("{} {}", values->at("s0"), values->at("s1")) : "none";
}

TEST(SymbolChoice, NumbersMoveInStepBeforeEachMovesAlone) {
  EXPECT_EQ(chosen({}), "2 2");
  EXPECT_EQ(chosen({"eq(0, mod(s0, 8))"}), "8 8");
  EXPECT_EQ(chosen({"ne(s0, s1)"}), "2 3");
  EXPECT_EQ(chosen({"lt(s1, s0)"}), "3 2");
  EXPECT_EQ(chosen({"eq(s1, floordiv(s0, 2))"}), "4 2");
  EXPECT_EQ(chosen({"eq(s0, 37)", "eq(s1, floordiv(s0, 30))"}), "37 1");
  EXPECT_EQ(chosen({"lt(u0, s1)", "lt(0, floordiv(1, s0 + -1*s1))"}), "2 2") << "what has no value is not checked";
  EXPECT_EQ(chosen({"lt(40, s0)"}), "none");
}

TEST(SymbolChoice, BoundsOfExpressionsAndNegativeNumbersAreObeyed) {
  MethodFacts facts = facts_with({});
  facts.ranges.emplace_back(*parse_sym("s0*s1"), compiler::SymRange{50, kUnbounded});
  facts.inputs.push_back({"n", compiler::Type::of(DType::i64, Sizes{}), {Sym::symbol("u0")}});
  facts.symbols["u0"] = {std::numeric_limits<int64_t>::min(), -3};
  const auto values = choose_symbols(facts);
  ASSERT_TRUE(values.ok());
  EXPECT_GE(values->at("s0") * values->at("s1"), 50);
  EXPECT_EQ(values->at("u0"), -3);
}

// A file of some KB may not take minutes.
TEST(SymbolChoice, WorkIsLimited) {
  MethodFacts facts = facts_with({"lt(s0, 0)"});
  for (int i = 0; i < 20000; ++i) {
    const Sym number = Sym::symbol(fmt::format("u{}", i));
    facts.inputs.push_back({"n", compiler::Type::of(DType::i64, Sizes{}), {number}});
    facts.rules.push_back(make_sym(compiler::SymOp::le, {Sym(0), number}));
  }
  EXPECT_FALSE(choose_symbols(facts).ok());
}

}  // namespace
}  // namespace wick::cli
