// What reports say of programs for Cortex-M: costs of nodes, and which nodes count for full delegation.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::report_test {
namespace {

using testing::Pipeline;
using testing::Stage;

std::string q() { return parameters(0.03125, -11); }

// Floats in front, a linear on integers, `between`, a tanh on integers, floats behind.
std::string model(const std::string& between) {
  return "graph f(%x: f32[2, 3]) {\n" +
         constant_line("e", "i8[4, 3]", std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) +
         dequantize_line("w", "e", parameters(0.0625, 0)) + "  %f = aten.sin(%x)\n" +
         fake_quantized("d", "f", "g", q()) + "  %l = aten.linear(%d, %w, none)\n" +
         fake_quantized("m", "l", "n", q()) + between + fake_quantized("s", "r", "u", q()) + "  %t = aten.tanh(%s)\n" +
         fake_quantized("o", "t", "p", q()) + "  %y = aten.cumsum(%o, 1)\n  return %y\n}";
}

TEST(CortexMReport, FloatsOutsideTheQuantizedPartCountForNothing) {
  Pipeline p = std::move(Pipeline::from_text(model("  %r = aten.abs(%m)\n")).backend("cortex-m"));
  p.options().require_full_delegation = true;
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  EXPECT_EQ(p.outside().size(), 2u) << "the sine and the sum";
}

TEST(CortexMReport, FloatsInsideItDo) {
  const std::string text = model("  %r = aten.cumsum(%m, 1)\n");
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.options().require_full_delegation = true;
  p.at(Stage::lower).check_error("1 nodes of method 'f' are outside all delegates");
  EXPECT_EQ(p.failures(), "");
  Pipeline lenient = std::move(Pipeline::from_text(text).backend("cortex-m"));
  lenient.run_and_compare({.quantization_steps = 3.001});
  EXPECT_EQ(lenient.failures(), "");
}

TEST(CortexMReport, AFloatModelIsNotDelegated) {
  Pipeline p =
      std::move(Pipeline::from_text("graph f(%x: f32[4]) {\n  %y = aten.sin(%x)\n  return %y\n}").backend("cortex-m"));
  p.options().require_full_delegation = true;
  p.at(Stage::lower).check_error("outside all delegates");
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMReport, NodesTellWhatTheyTake) {
  Pipeline p = std::move(Pipeline::from_text(model("  %r = aten.abs(%m)\n")).backend("cortex-m"));
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  for (const compiler::NodeVerdict& node : p.compiled()->methods[0].nodes) {
    SCOPED_TRACE(node.op);
    const bool is_linear = node.op == "aten.linear.default", is_table = node.op == "aten.tanh.default";
    EXPECT_EQ(node.cost.macs, is_linear ? 2u * 4 * 3 : 0u);
    if (is_linear) EXPECT_EQ(node.cost.constant_bytes, 12u + 16) << "weights and their sums";
    if (is_table) EXPECT_EQ(node.cost.constant_bytes, 256u);
    EXPECT_EQ(node.cost.scratch_bytes, 0u);
  }
}

TEST(CortexMReport, ConvolutionsCountTheirTaps) {
  const std::string text = "graph f(%x: f32[1, 2, 5, 5]) {\n" +
                           constant_line("e", "i8[3, 2, 3, 3]", std::vector<int>(54, 1)) +
                           dequantize_line("w", "e", parameters(0.0625, 0)) + fake_quantized("d", "x", "g", q()) +
                           "  %c = aten.convolution(%d, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n" +
                           fake_quantized("o", "c", "p", q()) + "  return %o\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  size_t found = 0;
  for (const compiler::NodeVerdict& node : p.compiled()->methods[0].nodes) {
    if (node.op != "aten.convolution.default") continue;
    ++found;
    EXPECT_EQ(node.cost.macs, 3u * 25 * 18);
    EXPECT_GT(node.cost.scratch_bytes, 0u);
    EXPECT_GE(node.cost.constant_bytes, 54u);
  }
  EXPECT_EQ(found, 1u);
}

}  // namespace
}  // namespace wick::cortex_m::report_test
