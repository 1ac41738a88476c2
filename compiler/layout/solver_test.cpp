#include "compiler/layout/solver.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler::layout::solver_test {
namespace {

// A backend whose convolutions and pools are NHWC only, beside kernels that take any dim order and kernels that do not.
LayoutRule rule_of(const Node& node) {
  if (node.is("aten.convolution.default")) {
    LayoutRule rule = channels_last(node);
    rule.others = {channels_last_order(4)};
    return rule;
  }
  if (node.is("aten.avg_pool2d.default")) return channels_last(node);
  if (node.is("aten.relu.default") || node.is("aten.add.Tensor")) return any_dim_order(node);
  if (node.is("aten._softmax.default")) return innermost(static_cast<size_t>(node.static_integer("dim")));
  return contiguous(node);
}
const LayoutRules kRules = {rule_of};
const DimOrder kNhwc = {0, 2, 3, 1}, kNchw = {0, 1, 2, 3};

class Solved {
 public:
  explicit Solved(const char* text)
      : function_(std::move(*parse_graph(text))), layouts_(assign_layouts(graph(), kRules)) {}
  const Graph& graph() const { return *function_.graph; }
  DimOrder of(std::string_view name) const {
    for (const auto& value : graph().values()) {
      if (value->name == name) return layouts_.of(value.get());
    }
    return {};
  }

 private:
  Function function_;
  Layouts layouts_;
};

TEST(Layouts, PointwiseNodesBetweenChannelsLastOnesAreSoToo) {
  const Solved solved(R"(graph f(%x: f32[1, 3, 8, 8]) {
    const %w: f32[4, 3, 1, 1] = ...
    const %v: f32[2, 4, 1, 1] = ...
    %a: f32[1, 4, 8, 8] = aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %b: f32[1, 4, 8, 8] = aten.relu(%a)
    %c: f32[1, 2, 8, 8] = aten.convolution(%b, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %d: f32[1, 2, 8, 8] = aten.tanh(%c)
    return %d
  })");
  EXPECT_EQ(solved.of("x"), kNchw);
  EXPECT_EQ(solved.of("a"), kNhwc);
  EXPECT_EQ(solved.of("b"), kNhwc);
  EXPECT_EQ(solved.of("c"), kNhwc);
  EXPECT_EQ(solved.of("d"), kNchw);
}

// The sum costs two transposes in one dim order and one in the other.
TEST(Layouts, ANodeTakesTheDimOrderThatCostsFewerBytes) {
  const Solved solved(R"(graph f(%x: f32[1, 4, 16, 16], %y: f32[1, 4, 16, 16], %z: f32[1, 4, 1, 1]) {
    %p: f32[1, 4, 8, 8] = aten.avg_pool2d(%x, [2, 2], [2, 2])
    %q: f32[1, 4, 8, 8] = aten.avg_pool2d(%y, [2, 2], [2, 2])
    %s: f32[1, 4, 8, 8] = aten.add.Tensor(%p, %q)
    %c: f32[1, 4, 1, 1] = aten.avg_pool2d(%s, [8, 8], [8, 8])
    %t: f32[1, 4, 8, 8] = aten.tanh(%s)
    return %c, %t
  })");
  EXPECT_EQ(solved.of("s"), kNhwc);
  const Solved other(R"(graph f(%x: f32[1, 4, 8, 8], %y: f32[1, 4, 16, 16]) {
    %q: f32[1, 4, 8, 8] = aten.avg_pool2d(%y, [2, 2], [2, 2])
    %s: f32[1, 4, 8, 8] = aten.add.Tensor(%x, %q)
    %t: f32[1, 4, 8, 8] = aten.tanh(%s)
    return %t
  })");
  EXPECT_EQ(other.of("q"), kNhwc);
  EXPECT_EQ(other.of("s"), kNchw);
}

TEST(Layouts, ADimensionThatHasToBeInnermostIs) {
  const Solved solved(R"(graph f(%x: f32[2, 3, 8, 8]) {
    %a: f32[2, 3, 8, 8] = aten.avg_pool2d(%x, [1, 1], [1, 1])
    %b: f32[2, 3, 8, 8] = aten._softmax(%a, 1, false)
    %c: f32[2, 3, 8, 8] = aten.avg_pool2d(%b, [1, 1], [1, 1])
    return %c
  })");
  EXPECT_EQ(solved.of("b"), kNhwc);
}

TEST(Layouts, AllResultsOfANodeHaveOne) {
  const Solved solved(R"(graph f(%x: f32[4, 8]) {
    %v: f32[4, 2], %i: i64[4, 2] = aten.topk(%x, 2)
    %a: f32[4, 2] = aten.relu(%v)
    return %a, %i
  })");
  EXPECT_EQ(solved.of("v"), plain_order(2));
  EXPECT_EQ(solved.of("i"), plain_order(2));
  EXPECT_EQ(solved.of("a"), plain_order(2));
}

// Large tensors whose bytes do not fit into 64 bits are compared all the same.
TEST(Layouts, CostsDoNotOverflow) {
  const Solved solved(R"(graph f(%x: f32[2000000000, 2000000000, 2000000000, 2000000000]) {
    %a: f32[2000000000, 2000000000, 2000000000, 2000000000] = aten.relu(%x)
    %b: f32[2000000000, 2000000000, 2000000000, 2000000000] = aten.avg_pool2d(%a, [1, 1], [1, 1])
    return %b
  })");
  EXPECT_EQ(solved.of("b"), kNhwc);
}

TEST(Layouts, ADeclaredDimOrderOfAnInputCounts) {
  const Solved solved(R"(graph f(%x: f32[1, 3, 8, 8]{0,2,3,1}) {
    %a: f32[1, 3, 8, 8] = aten.relu(%x)
    %b: f32[1, 3, 4, 4] = aten.avg_pool2d(%a, [2, 2], [2, 2])
    return %b
  })");
  EXPECT_EQ(solved.of("x"), kNhwc);
  EXPECT_EQ(solved.of("a"), kNhwc);
}

}  // namespace
}  // namespace wick::compiler::layout::solver_test
