#include "compiler/layout/apply.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"
#include "compiler/layout/constant_elements.h"

namespace wick::compiler::layout::apply_test {
namespace {

// Pools are NHWC only, and so are a convolution and its filter.
LayoutRule rule_of(const Node& node) {
  if (node.is("aten.avg_pool2d.default")) return channels_last(node);
  if (!node.is("aten.convolution.default")) return portable_rule(node);
  LayoutRule rule = channels_last(node);
  rule.others = {channels_last_order(4)};
  return rule;
}

Function applied(const char* text, bool changes = true) {
  auto function = parse_graph(text);
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  EXPECT_EQ(apply_layouts(*function->graph, {rule_of}), changes);
  const Status valid = verify(*function->graph);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : render(valid.diag()));
  return std::move(*function);
}

std::string text_of(const Function& function) { return to_text(*function.graph, function.name); }

// The permutes show the bytes as they lie; where all is contiguous there are none.
TEST(ApplyLayouts, ACatOfChannelsLastTensorsIsOneOfContiguousTensors) {
  const std::string found = text_of(applied(R"(graph f(%x: f32[1, 2, 4, 4]) {
    %a = aten.avg_pool2d(%x, [2, 2], [2, 2])
    %b = aten.relu(%a)
    %c = aten.cat([%a, %b], 1)
    %d = aten.avg_pool2d(%c, [2, 2], [2, 2])
    return %d
  })"));
  EXPECT_NE(found.find("aten.permute(%a, [0, 2, 3, 1])"), std::string::npos) << found;
  EXPECT_NE(found.find("f32[1, 2, 2, 4] = aten.cat([%permute, %permute_1], 3)"), std::string::npos) << found;
  EXPECT_NE(found.find("f32[1, 4, 2, 2]{0,2,3,1} = aten.permute(%cat, [0, 3, 1, 2])"), std::string::npos) << found;
  size_t copies = 0;
  for (size_t at = found.find("= dim_order_ops"); at != std::string::npos; at = found.find("= dim_order_ops", at + 1))
    ++copies;
  EXPECT_EQ(copies, 2u) << "of the input and of the output";
  applied(R"(graph f(%x: f32[1, 2, 4, 4]) {
    %c = aten.cat([%x, %x], 1)
    return %c
  })",
          false);
}

TEST(ApplyLayouts, CopiesStandAtTheBordersOnly) {
  EXPECT_EQ(text_of(applied(R"(graph f(%x: f32[1, 2, 4, 4]) {
    %a = aten.avg_pool2d(%x, [2, 2], [2, 2])
    %b = aten.relu(%a)
    %c = aten.avg_pool2d(%b, [2, 2], [2, 2])
    %d = aten.cumsum(%c, 1)
    return %d
  })")),
            R"(graph f(%x: f32[1, 2, 4, 4]) {
  %_to_dim_order_copy: f32[1, 2, 4, 4]{0,2,3,1} = dim_order_ops._to_dim_order_copy(%x, none, none, none, none, false, [0, 2, 3, 1])
  %a: f32[1, 2, 2, 2]{0,2,3,1} = aten.avg_pool2d(%_to_dim_order_copy, [2, 2], [2, 2])
  %b: f32[1, 2, 2, 2]{0,2,3,1} = aten.relu(%a)
  %c: f32[1, 2, 1, 1]{0,2,3,1} = aten.avg_pool2d(%b, [2, 2], [2, 2])
  %_to_dim_order_copy_1: f32[1, 2, 1, 1] = dim_order_ops._to_dim_order_copy(%c, none, none, none, none, false, [0, 1, 2, 3])
  %d: f32[1, 2, 1, 1] = aten.cumsum(%_to_dim_order_copy_1, 1)
  return %d
}
)");
}

TEST(ApplyLayouts, AValueIsCopiedOncePerDimOrder) {
  const Function function = applied(R"(graph f(%x: f32[1, 2, 4, 4]) {
    %a = aten.avg_pool2d(%x, [2, 2], [2, 2])
    %b = aten.avg_pool2d(%x, [4, 4], [4, 4])
    return %a, %a, %b
  })");
  size_t copies = 0;
  for (const auto& node : function.graph->nodes()) copies += node->is("dim_order_ops._to_dim_order_copy.default");
  EXPECT_EQ(copies, 3u);  // of x, a and b
}

TEST(ApplyLayouts, ConstantsArePermuted) {
  const Function function = applied(R"(graph f(%x: f32[1, 2, 2, 2]) {
    const %w: f32[1, 2, 2, 2] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    %a = aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %b = aten.add.Tensor(%a, %w)
    return %b
  })");
  size_t permuted = 0;
  for (const Value* constant : function.graph->constants()) {
    if (constant->tensor().dim_order != DimOrder{0, 2, 3, 1}) continue;
    ++permuted;
    EXPECT_EQ(elements_of<float>(*constant), (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
  }
  EXPECT_EQ(permuted, 1u);
}

// Scratch memory holds nothing yet, so it takes the dim order of its reader's other operand.
TEST(ApplyLayouts, ScratchMemoryIsLaidOutForItsReader) {
  const Function function = applied(R"(graph f(%x: f32[1, 2, 4, 4]) {
    %a = aten.avg_pool2d(%x, [2, 2], [2, 2])
    %s = wick.scratch([1, 2, 2, 2], f32)
    %b = aten.add.Tensor(%a, %s)
    %c = aten.avg_pool2d(%b, [2, 2], [2, 2])
    return %c
  })");
  for (const auto& node : function.graph->nodes()) {
    if (node->op->has(kScratch)) {
      EXPECT_EQ(node->result()->tensor().dim_order, (DimOrder{0, 2, 3, 1}));
    }
  }
}

TEST(ApplyLayouts, GraphsOfControlFlowAreLaidOutByThemselves) {
  const Function function = applied(R"(graph f(%p: bool[], %x: f32[1, 2, 4, 4]) {
    %a = aten.avg_pool2d(%x, [1, 1], [1, 1])
    %b: f32[1, 2, 4, 4] = higher_order.cond(%p, [%a]) graph (%s: f32[1, 2, 4, 4]) {
      %t = aten.avg_pool2d(%s, [1, 1], [1, 1])
      return %t
    } graph (%u: f32[1, 2, 4, 4]) {
      return %u
    }
    return %b
  })");
  EXPECT_EQ(text_of(function), R"(graph f(%p: bool[], %x: f32[1, 2, 4, 4]) {
  %_to_dim_order_copy: f32[1, 2, 4, 4]{0,2,3,1} = dim_order_ops._to_dim_order_copy(%x, none, none, none, none, false, [0, 2, 3, 1])
  %a: f32[1, 2, 4, 4]{0,2,3,1} = aten.avg_pool2d(%_to_dim_order_copy, [1, 1], [1, 1])
  %_to_dim_order_copy_1: f32[1, 2, 4, 4] = dim_order_ops._to_dim_order_copy(%a, none, none, none, none, false, [0, 1, 2, 3])
  %b: f32[1, 2, 4, 4] = higher_order.cond(%p, [%_to_dim_order_copy_1]) graph (%s: f32[1, 2, 4, 4]) {
      %_to_dim_order_copy: f32[1, 2, 4, 4]{0,2,3,1} = dim_order_ops._to_dim_order_copy(%s, none, none, none, none, false, [0, 2, 3, 1])
      %t: f32[1, 2, 4, 4]{0,2,3,1} = aten.avg_pool2d(%_to_dim_order_copy, [1, 1], [1, 1])
      %_to_dim_order_copy_1: f32[1, 2, 4, 4] = dim_order_ops._to_dim_order_copy(%t, none, none, none, none, false, [0, 1, 2, 3])
      return %_to_dim_order_copy_1
    } graph (%u: f32[1, 2, 4, 4]) {
      return %u
    }
  return %b
}
)");
}

TEST(ApplyLayouts, PortableKernelsThatBroadcastStayContiguous) {
  const Function function = applied(R"(graph f(%x: f32[1, 2, 4, 4], %y: f32[1, 2, 1, 1]) {
    %a = aten.avg_pool2d(%x, [2, 2], [2, 2])
    %b = aten.add.Tensor(%a, %y)
    %c = aten.add.Tensor(%a, %a)
    return %b, %c
  })");
  std::vector<bool> contiguous;
  for (const auto& node : function.graph->nodes()) {
    if (!node->is("aten.add.Tensor")) continue;
    contiguous.push_back(true);
    for (const Value* operand : node->operands())
      contiguous.back() = contiguous.back() && operand->tensor().dim_order.empty();
  }
  EXPECT_EQ(contiguous, (std::vector<bool>{true, false}));
}

// A copy has the stored integers, not the numbers that they represent.
TEST(ApplyLayouts, CopiesOfQuantizedValuesAreQuantized) {
  const Function function = applied(R"(graph f(%x: i8[1, 2, 4, 4]q(scale=0.5, zero=3)) {
    %a: i8[1, 2, 2, 2]q(scale=0.5, zero=3) = aten.avg_pool2d(%x, [2, 2], [2, 2])
    return %a
  })");
  size_t copies = 0;
  for (const auto& node : function.graph->nodes()) {
    if (!node->is("dim_order_ops._to_dim_order_copy.default")) continue;
    ++copies;
    TensorType type = node->tensor("self")->tensor();
    type.dim_order = node->result()->tensor().dim_order;
    EXPECT_EQ(to_text(node->result()->type), to_text(Type::of(type)));
  }
  EXPECT_EQ(copies, 2u);
}

TEST(ApplyLayouts, WhereNothingWantsAnotherDimOrderNothingChanges) {
  (void)applied(R"(graph f(%x: f32[1, 2, 4, 4]) {
    %a = aten.relu(%x)
    %b = aten.cumsum(%a, 1)
    return %b
  })",
                false);
}

TEST(ApplyLayouts, InputsKeepADeclaredDimOrder) {
  EXPECT_EQ(text_of(applied(R"(graph f(%x: f32[1, 2, 4, 4]{0,2,3,1}) {
    %a = aten.avg_pool2d(%x, [2, 2], [2, 2])
    return %a
  })")),
            R"(graph f(%x: f32[1, 2, 4, 4]{0,2,3,1}) {
  %a: f32[1, 2, 2, 2]{0,2,3,1} = aten.avg_pool2d(%x, [2, 2], [2, 2])
  %_to_dim_order_copy: f32[1, 2, 2, 2] = dim_order_ops._to_dim_order_copy(%a, none, none, none, none, false, [0, 1, 2, 3])
  return %_to_dim_order_copy
}
)");
}

}  // namespace
}  // namespace wick::compiler::layout::apply_test
