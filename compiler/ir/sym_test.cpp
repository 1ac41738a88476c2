#include "compiler/ir/sym.h"

#include <gtest/gtest.h>

namespace wick::compiler {
namespace {

Sym s(const char* text) {
  auto parsed = parse_sym(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Sym(-999);
}

TEST(Sym, EqualExpressionsHaveOneForm) {
  EXPECT_EQ(s("2*(s0 + 1)").text(), "2*s0 + 2");
  EXPECT_EQ(s("s1 + s0 + s0").text(), "2*s0 + s1");
  EXPECT_TRUE(s("4*s0 + 1") == s("1 + 2*s0 + s0*2"));
  EXPECT_TRUE((s("s0*s1") - s("s1*s0")).is(0));
  EXPECT_EQ(s("floordiv(4*s0 + 8, 4)").text(), "s0 + 2");
  EXPECT_EQ(s("floordiv(s0*s1, s0)").text(), "s1");
}

TEST(Sym, TextIsReadBack) {
  for (const char* text :
       {"s0", "-3", "4*s0 + 1", "floordiv(s0 + 1, 2)", "max(s0, 3)", "where(eq(u0, 1), 1, 0)", "s0*s1*s2"}) {
    const Sym sym = s(text);
    EXPECT_TRUE(s(sym.text().c_str()) == sym) << sym.text();
  }
}

TEST(Sym, DivisionAndRemainderFollowPython) {
  EXPECT_EQ(evaluate(s("floordiv(s0, 2)"), {{"s0", -3}}), -2);
  EXPECT_EQ(evaluate(s("mod(s0, 4)"), {{"s0", -3}}), 1);
  EXPECT_EQ(evaluate(s("floordiv(s0, s1)"), {{"s0", 1}, {"s1", 0}}), std::nullopt);
}

TEST(Sym, BoundsFollowFromThoseOfSymbols) {
  const SymRanges ranges = {{"s0", {2, 10}}, {"s1", {0, kUnbounded}}};
  EXPECT_EQ(range_of(s("3*s0 + 1"), ranges).max, 31);
  EXPECT_EQ(range_of(s("floordiv(s0, 3)"), ranges).min, 0);
  EXPECT_EQ(range_of(s("s0*s1"), ranges).max, kUnbounded);
  EXPECT_EQ(range_of(s("min(s1, 7)"), ranges).max, 7);
  EXPECT_TRUE(provably_le(s("s0"), s("s0 + s1"), ranges));
  EXPECT_FALSE(provably_le(s("s1"), s("s0"), ranges));
}

TEST(Sym, SreprOfTorchIsRead) {
  auto read = [](const char* text) {
    auto parsed = parse_srepr(text);
    return parsed.ok() ? parsed->text() : parsed.diag().message;
  };
  EXPECT_EQ(read("Add(Symbol('s77', positive=True, integer=True), Integer(-1))"), "s77 + -1");
  EXPECT_EQ(read("Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u0', integer=True), Integer(1))), "
                 "ExprCondPair(Integer(0), true))"),
            "where(eq(1, u0), 1, 0)");
  EXPECT_EQ(read("FloorDiv(Add(Symbol('s0'), Integer(1)), Integer(2))"), "floordiv(s0 + 1, 2)");
}

TEST(Sym, HostileTextIsRefused) {
  EXPECT_FALSE(parse_srepr("Pow(Integer(9), Integer(9999999))").ok());
  EXPECT_FALSE(parse_srepr("__import__('os')").ok());
  EXPECT_FALSE(parse_srepr(std::string(100000, '(')).ok());
  EXPECT_FALSE(parse_srepr("Mul(Integer(9223372036854775807), Integer(2))").ok());
  EXPECT_FALSE(parse_srepr("FloorDiv(Symbol('s0'), Integer(0))").ok());
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "Add(";
  EXPECT_FALSE(parse_srepr(deep).ok());
}

}  // namespace
}  // namespace wick::compiler
