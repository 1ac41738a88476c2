#include "compiler/import/graph/size_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace wick::compiler {
namespace {

std::optional<Sym> size_of(std::string_view name, std::optional<int64_t> dimension) {
  if (name == "n" && !dimension) return Sym::symbol("s9");
  if (name == "x" && dimension == 0) return Sym::symbol("s0");
  if (name == "x" && dimension == 1) return Sym::symbol("s1");
  if (name == "d_pair_left" && dimension == 2) return Sym(4);
  return std::nullopt;
}

std::string read(std::string_view text) {
  const std::optional<Sym> rule = read_size_rule(text, size_of);
  return rule ? rule->text() : "unread";
}

TEST(SizeRules, ConditionsOnSizesAreRead) {
  EXPECT_EQ(read("(L['x'].size()[0] % 2) == 0"), "eq(0, mod(s0, 2))");
  EXPECT_EQ(read("(L['x'].size()[0] % 2) != 0"), "ne(0, mod(s0, 2))");
  EXPECT_EQ(read("L['x'].size()[0] + 2*L['x'].size()[1] > 10"), read("10 < L['x'].size()[0] + 2*L['x'].size()[1]"));
  EXPECT_EQ(read("1 + (((-3) + L['x'].size()[1]) // 32) == 4"), read("4 == 1 + ((-3 + L['x'].size()[1]) // 32)"));
  EXPECT_EQ(read("L['n'] == 3 and not L['x'].size()[0] == 5"), "and(eq(3, s9), not(eq(5, s0)))");
  EXPECT_EQ(read("torch.sym_max(1, L['x'].size()[0] // 2) == 7"), read("7 == torch.sym_max(1, L['x'].size()[0] // 2)"));
  EXPECT_EQ(read("L['x'].size()[0] != L['x'].size()[1]"), "ne(s0, s1)");
  EXPECT_EQ(read("L['x'].size()[0]*L['x'].size()[1] > 1000"), "lt(1000, s0*s1)");
  EXPECT_EQ(read("L['x'].size()[0]*L['x'].size()[1] <= 1000"), "le(s0*s1, 1000)");
}

TEST(SizeRules, SizesAreReadAsSympyPrintsThem) {
  const auto size = [](std::string_view text) {
    const std::optional<Sym> read = read_size(text);
    return read ? read->text() : "unread";
  };
  EXPECT_EQ(size("s7"), "s7");
  EXPECT_EQ(size("2*s7 + 1"), "2*s7 + 1");
  EXPECT_EQ(size("-s7**2 + s7"), "s7 + -1*s7*s7");
  EXPECT_EQ(size("Max(4, s7, s8)"), "max(s8, max(4, s7))");
  EXPECT_EQ(size("Mod(s7, 3) + (s8//2)"), "floordiv(s8, 2) + mod(s7, 3)");
  for (const char* text :
       {"", "s7 +", "s7**s8", "s7**17", "s7**-1", "Mod(s7, 0)", "Mod(s7)", "f(s7)", "s7/2", "Max(", "s7)"})
    EXPECT_EQ(size(text), "unread") << text;
}

TEST(SizeRules, FractionsAreMultipliedOut) {
  EXPECT_EQ(read("L['x'].size()[0] / 3 <= 4"), "le(s0, 12)");
  EXPECT_EQ(read("L['x'].size()[0] / 2 == L['x'].size()[1] / 3"), "eq(2*s1, 3*s0)");
  EXPECT_EQ(read("1.5*L['x'].size()[0] > 7.5"), "lt(15, 3*s0)");
  EXPECT_EQ(read("math.ceil(((torch.sym_float(L['x'].size()[1])) / 2.0)) >= 3"),
            read("(0 - (0 - L['x'].size()[1]) // 2) >= 3"));
  EXPECT_EQ(read("math.floor(L['x'].size()[1] / -4) == -2"), read("(0 - L['x'].size()[1]) // 4 == -2"));
  // Divisions that double arithmetic may round, or by a size, are not read.
  EXPECT_EQ(read("L['x'].size()[0] / 3 + 1 == 2"), "unread");
  EXPECT_EQ(read("L['x'].size()[0] / L['x'].size()[1] == 2"), "unread");
  EXPECT_EQ(read("L['x'].size()[0] * 0.1 <= 4"), "unread");
  EXPECT_EQ(read("L['x'].size()[0] / 0 == 4"), "unread");
  EXPECT_EQ(read("(L['x'].size()[0] / 2) % 2 == 0"), "unread");
}

TEST(SizeRules, InputsAreNamedByTheirPath) {
  EXPECT_EQ(read("L['x'].size()[1] == L['D']['pair'].left.size()[2]"), read("L['x'].size()[1] == 4"));
}

TEST(SizeRules, RulesThatOnlyKeepZeroAndOneOutAreAlwaysTrue) {
  for (const char* text :
       {"L['x'].size()[0] != 0", "L['x'].size()[0] != 1", "L['x'].size()[0] > 1", "L['x'].size()[0] >= 2",
        "(L['x'].size()[0]*L['x'].size()[1]) != L['x'].size()[0]", "(1 % (L['x'].size()[0]*L['x'].size()[1])) != 0",
        "L['x'].size()[0] < L['x'].size()[0]*L['x'].size()[1]", "L['x'].size()[0]*L['x'].size()[1] > 3",
        "L['x'].size()[0] > 1 and L['x'].size()[1] != 0"})
    EXPECT_EQ(read(text), "1") << text;
}

TEST(SizeRules, RulesThatKeepMoreOutStay) {
  for (const char* text :
       {"L['x'].size()[0] > 2", "(1 + (((-1) + L['x'].size()[0]) // 2)) != 1", "not L['x'].size()[0] > 1",
        "L['x'].size()[0] % 4 > 0", "L['x'].size()[0] % L['x'].size()[1] != 0",
        "L['x'].size()[0] - L['x'].size()[1] >= 2", "L['x'].size()[0]*L['x'].size()[0] > 2*L['x'].size()[1]",
        "L['n'] > 0", "L['n'] >= 2", "L['n'] != 0", "L['n'] != 1"}) {
    EXPECT_NE(read(text), "1") << text;
    EXPECT_NE(read(text), "unread") << text;
  }
  EXPECT_EQ(read("L['x'].size()[0] >= 2 and L['x'].size()[1] > L['x'].size()[0]"), "lt(s0, s1)");
  EXPECT_EQ(read("L['x'].size()[0] > 1 and garbage("), "unread");
}

TEST(SizeRules, OtherTextIsNoRule) {
  for (const char* text : {"", "L", "L['x'", "L['x']", "L['x'].size()[7] == 1", "L['y'].size()[0] == 1",
                           "L['x'].size()[0] / == 1", "L['x'].size()[0] == 1.5.2", "L['x'].size()[0] ** 0.5 == 4",
                           "L['x'].size()[0] ** 17 == 4", "L['x'].size()[0] // 0 == 4", "f(3) == 3",
                           "L['x'].size()[0] == 99999999999999999999", "L['x'].dtype == 3", "(L['x'].size()[0] == 3"})
    EXPECT_EQ(read(text), "unread") << text;
  EXPECT_EQ(read(std::string(5000, '(') + "1"), "unread");
  EXPECT_EQ(read(std::string(5000, '-') + "1"), "unread");
  EXPECT_EQ(read(std::string(20000, ' ') + "L['x'].size()[0] == 3"), "unread");
}

}  // namespace
}  // namespace wick::compiler
