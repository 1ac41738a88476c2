#include <gtest/gtest.h>

#include <random>

#include "backends/cuda/payload/plan_test_support.h"

namespace wick::cuda {
namespace {

constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;

int64_t value_of(const Formula& formula, std::vector<int64_t> symbols = {}) {
  return evaluate(formula, {symbols.data(), symbols.size()});
}
int64_t apply(FormulaOp with, int64_t a, int64_t b) { return value_of({constant(a), constant(b), op(with)}); }

std::string wrong_with(const Formula& formula, const std::vector<Symbol>& symbols = {}) {
  FormulaRange range;
  const char* found = range_of(formula, {symbols.data(), symbols.size()}, &range);
  return found ? found : "";
}

TEST(CudaFormula, DivisionRoundsDownAndTheRestHasTheSignOfTheDivisor) {
  for (const int64_t a : {-7, -6, -1, 0, 1, 6, 7}) {
    for (const int64_t b : {-3, -1, 1, 3}) {
      const int64_t quotient = apply(FormulaOp::floor_divide, a, b), rest = apply(FormulaOp::modulo, a, b);
      EXPECT_EQ(quotient * b + rest, a);
      EXPECT_TRUE(b > 0 ? rest >= 0 && rest < b : rest <= 0 && rest > b) << a << " " << b;
    }
  }
  EXPECT_EQ(apply(FormulaOp::modulo, kMin, -1), 0);
}

TEST(CudaFormula, ComparisonsLogicAndSelectionGiveWhatTheySay) {
  EXPECT_EQ(apply(FormulaOp::equal, 2, 2), 1);
  EXPECT_EQ(apply(FormulaOp::not_equal, 2, 2), 0);
  EXPECT_EQ(apply(FormulaOp::less, 1, 2), 1);
  EXPECT_EQ(apply(FormulaOp::less, 2, 2), 0);
  EXPECT_EQ(apply(FormulaOp::less_equal, 2, 2), 1);
  EXPECT_EQ(apply(FormulaOp::logical_and, 5, 0), 0);
  EXPECT_EQ(apply(FormulaOp::logical_and, 5, -1), 1);
  EXPECT_EQ(apply(FormulaOp::logical_or, 0, -1), 1);
  EXPECT_EQ(apply(FormulaOp::logical_or, 0, 0), 0);
  EXPECT_EQ(apply(FormulaOp::minimum, -4, 3), -4);
  EXPECT_EQ(apply(FormulaOp::maximum, -4, 3), 3);
  EXPECT_EQ(value_of({constant(0), op(FormulaOp::logical_not)}), 1);
  EXPECT_EQ(value_of({constant(7), op(FormulaOp::logical_not)}), 0);
  EXPECT_EQ(value_of({constant(3), constant(10), constant(20), op(FormulaOp::select)}), 10);
  EXPECT_EQ(value_of({constant(0), constant(10), constant(20), op(FormulaOp::select)}), 20);
}

TEST(CudaFormula, WhatIsNoFormulaIsNamed) {
  const std::vector<Symbol> symbols = {{"s0", -2, 3, 0, 0}, {"s1", 1, kMax, 0, 0}};
  EXPECT_EQ(wrong_with({}), "another number of results than one");
  EXPECT_EQ(wrong_with({constant(1), constant(1)}), "another number of results than one");
  EXPECT_EQ(wrong_with({constant(1), op(FormulaOp::add)}), "an operation without its operands");
  EXPECT_EQ(wrong_with({op(FormulaOp::logical_not)}), "an operation without its operands");
  EXPECT_EQ(wrong_with({constant(1), constant(1), op(FormulaOp::select)}), "an operation without its operands");
  EXPECT_EQ(wrong_with({{static_cast<FormulaOp>(16), 0}}), "an unknown operation");
  EXPECT_EQ(wrong_with({symbol(2)}, symbols), "a symbol that does not exist");
  EXPECT_EQ(wrong_with({symbol(-1)}, symbols), "a symbol that does not exist");
  EXPECT_EQ(wrong_with({symbol(1)}, symbols), "");
  EXPECT_EQ(wrong_with({constant(1), symbol(0), op(FormulaOp::floor_divide)}, symbols), "a divisor that may be 0");
  EXPECT_EQ(wrong_with({constant(1), symbol(0), op(FormulaOp::modulo)}, symbols), "a divisor that may be 0");
  EXPECT_EQ(wrong_with({constant(1), symbol(1), op(FormulaOp::modulo)}, symbols), "");
}

TEST(CudaFormula, ResultsThatDoNotFitAreRefusedAtTheEdge) {
  const std::vector<Symbol> symbols = {{"s0", 0, 2, 0, 0}};
  const char* overflow = "a result that int64 does not hold";
  EXPECT_EQ(wrong_with({constant(kMax - 2), symbol(0), op(FormulaOp::add)}, symbols), "");
  EXPECT_EQ(wrong_with({constant(kMax - 1), symbol(0), op(FormulaOp::add)}, symbols), overflow);
  EXPECT_EQ(wrong_with({constant(kMax / 2), symbol(0), op(FormulaOp::multiply)}, symbols), "");
  EXPECT_EQ(wrong_with({constant(kMax / 2 + 1), symbol(0), op(FormulaOp::multiply)}, symbols), overflow);
  EXPECT_EQ(wrong_with({constant(kMin + 1), constant(-1), op(FormulaOp::floor_divide)}), "");
  EXPECT_EQ(wrong_with({constant(kMin), constant(-1), op(FormulaOp::floor_divide)}), overflow);
}

TEST(CudaFormula, TheStackHoldsThirtyTwoNumbers) {
  Formula formula(kMaxFormulaDepth, constant(1));
  formula.insert(formula.end(), kMaxFormulaDepth - 1, op(FormulaOp::add));
  EXPECT_EQ(wrong_with(formula), "");
  EXPECT_EQ(value_of(formula), 32);
  formula.insert(formula.begin(), constant(1));
  formula.push_back(op(FormulaOp::add));
  EXPECT_EQ(wrong_with(formula), "more than 32 numbers at a time");
}

// A random formula of symbols 0 to 2 and small numbers.
Formula random_formula(std::minstd_rand& random) {
  Formula formula;
  size_t depth = 0;
  while (formula.size() < 12 || depth != 1) {
    const bool grow = formula.size() < 12 && (depth < 3 || random() % 2 == 0);
    if (grow) {
      const int64_t value = static_cast<int64_t>(random() % 9) - 4;
      formula.push_back(random() % 2 ? symbol(static_cast<int64_t>(random() % 3)) : constant(value));
      ++depth;
      continue;
    }
    if (depth >= 3 && random() % 4 == 0) {
      formula.push_back(op(FormulaOp::select));
      depth -= 2;
    } else if (random() % 6 == 0) {
      formula.push_back(op(FormulaOp::logical_not));
    } else if (depth >= 2) {
      formula.push_back(op(static_cast<FormulaOp>(2 + random() % 12)));
      depth -= 1;
    }
  }
  return formula;
}

TEST(CudaFormula, NoValueLiesOutsideItsBounds) {
  std::minstd_rand random(1);
  const std::vector<Symbol> symbols = {{"a", -3, 2, 0, 0}, {"b", 1, 4, 0, 0}, {"c", 0, 0, 0, 0}};
  size_t num_bounded = 0;
  for (int i = 0; i < 20000; ++i) {
    const Formula formula = random_formula(random);
    FormulaRange range;
    if (range_of(formula, {symbols.data(), symbols.size()}, &range)) continue;
    ++num_bounded;
    for (int64_t a = -3; a <= 2; ++a) {
      for (int64_t b = 1; b <= 4; ++b) {
        const int64_t value = value_of(formula, {a, b, 0});
        ASSERT_LE(range.low, value);
        ASSERT_GE(range.high, value);
      }
    }
  }
  EXPECT_GT(num_bounded, 5000u);
}

TEST(CudaFormula, BoundsOfMonotonicFormulasAreExact) {
  const std::vector<Symbol> symbols = {{"n", 1, 100, 0, 0}};
  const auto range = [&](const Formula& formula) {
    FormulaRange found;
    EXPECT_EQ(range_of(formula, {symbols.data(), symbols.size()}, &found), nullptr);
    return std::pair(found.low, found.high);
  };
  const Formula blocks = {symbol(0), constant(31), op(FormulaOp::add), constant(32), op(FormulaOp::floor_divide)};
  EXPECT_EQ(range(blocks), (std::pair<int64_t, int64_t>(1, 4)));
  EXPECT_EQ(range({symbol(0), constant(-8), op(FormulaOp::multiply)}), (std::pair<int64_t, int64_t>(-800, -8)));
  EXPECT_EQ(range({symbol(0), constant(8), op(FormulaOp::modulo)}), (std::pair<int64_t, int64_t>(0, 7)));
  EXPECT_EQ(range({symbol(0), constant(101), op(FormulaOp::modulo)}), (std::pair<int64_t, int64_t>(1, 100)));
  EXPECT_EQ(range({symbol(0), constant(0), op(FormulaOp::less)}), (std::pair<int64_t, int64_t>(0, 0)));
  EXPECT_EQ(range({symbol(0), constant(1), op(FormulaOp::less)}), (std::pair<int64_t, int64_t>(0, 0)));
  EXPECT_EQ(range({symbol(0), constant(2), op(FormulaOp::less)}), (std::pair<int64_t, int64_t>(0, 1)));
  EXPECT_EQ(range({symbol(0), constant(100), op(FormulaOp::less_equal)}), (std::pair<int64_t, int64_t>(1, 1)));
}

}  // namespace
}  // namespace wick::cuda
