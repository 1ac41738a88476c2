#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

std::string error_of(const char* text) {
  const auto function = parse_graph(text);
  return function.ok() ? "" : render(function.diag());
}

TEST(ParseGraph, StatedSizesCountIfTheyAgreeWithWhatFollows) {
  constexpr const char* kClamped = R"(graph f(%x: f32[s0], %y: f32[s1]) {
  range s0: 2..8
  range s1: 2..8
  %c: f32[s0 + s1] = aten.cat([%x, %y], 0)
  %z: f32[s2] = aten.relu(%c)
  return %z
})";
  const auto function = parse_graph(kClamped);
  ASSERT_TRUE(function.ok()) << render(function.diag());
  EXPECT_EQ(function->graph->outputs[0].value->sizes()[0].text(), "s2");
}

TEST(ParseGraph, ASymbolForANumberThatFollowsIsRefused) {
  EXPECT_NE(error_of(R"(graph f(%x: f32[4]) {
  range u0: 0..8 from_data
  %y: f32[u0] = aten.add.Tensor(%x, 1)
  return %y
})")
                .find("type f32[4] for %y"),
            std::string::npos);
  EXPECT_NE(error_of("graph f(%x: f32[4]) {\n  %y: f32[u0] = aten.add.Tensor(%x, 1)\n  return %y\n}"), "");
}

TEST(ParseGraph, UnlessItStandsForNothingElse) {
  EXPECT_EQ(error_of(R"(graph f(%x: f32[4]) {
  range u0: 4..4
  %y: f32[u0] = aten.add.Tensor(%x, 1)
  return %y
})"),
            "");
}

TEST(ParseGraph, ASymbolHasOneRange) {
  EXPECT_NE(error_of("graph f(%x: f32[u0]) {\n  range u0: 4..4\n  range u0: 0..8\n  return %x\n}")
                .find("one range for each symbol"),
            std::string::npos);
}

}  // namespace
}  // namespace wick::compiler
