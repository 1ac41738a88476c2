// Reports on programs for Cortex-M: costs of nodes, and which nodes count for full delegation.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::report_test {
namespace {

using testing::Pipeline;
using testing::Stage;

std::string q() { return parameters(0.03125, -11); }

// Nodes in floats, a linear on integers, `between`, a tanh on integers, nodes in floats.
std::string model(const std::string& between) {
  return "graph f(%x: f32[2, 3]) {\n" +
         constant_line("e", "i8[4, 3]", std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) +
         dequantize_line("w", "e", parameters(0.0625, 0)) + "  %f = aten.sin(%x)\n" +
         fake_quantized("d", "f", "g", q()) + "  %l = aten.linear(%d, %w, none)\n" +
         fake_quantized("m", "l", "n", q()) + between + fake_quantized("s", "r", "u", q()) + "  %t = aten.tanh(%s)\n" +
         fake_quantized("o", "t", "p", q()) + "  %y = aten.cumprod(%o, 1)\n  return %y\n}";
}

TEST(CortexMReport, FloatsOutsideTheQuantizedPartCountForNothing) {
  Pipeline p = std::move(Pipeline::from_text(model("  %r = aten.abs(%m)\n")).backend("cortex-m"));
  p.options().require_full_delegation = true;
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  EXPECT_EQ(p.outside().size(), 2u) << "the sine and the products";
}

TEST(CortexMReport, FloatsInsideItDo) {
  const std::string text = model("  %r = aten.cumprod(%m, 1)\n");
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

// A norm after an exponential: `between` quantizes the exponential, or leaves it to the backend.
std::string norm_model(const std::string& between, const std::string& eps = "1e-05") {
  const std::string to = parameters(0.03125, 0);
  return "graph f(%x: f32[2, 8]) {\n" + fake_quantized("d", "x", "g", q()) + "  %s = aten.exp(%d)\n" + between +
         "  %n = aten.layer_norm(%r, [8], none, none, " + eps + ")\n  %z = aten.tanh(%n)\n" +
         fake_quantized("o", "z", "p", to) + "  return %o\n}";
}

const std::string kNotQuantized = "  %r = aten.abs(%s)\n";

const compiler::NodeVerdict* outside_node(const compiler::CompileResult& result, const std::string& part) {
  for (const compiler::NodeVerdict& node : result.methods[0].outside) {
    if (node.reason.find(part) != std::string::npos) return &node;
  }
  return nullptr;
}

TEST(CortexMReport, ANodeThatShowsRoundingSaysWhoseAndHowFar) {
  Pipeline p = std::move(Pipeline::from_text(norm_model(kNotQuantized)).backend("cortex-m"));
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  const compiler::NodeVerdict* norm = outside_node(*p.compiled(), "is not quantized, and rounding that to int16 could");
  ASSERT_NE(norm, nullptr);
  EXPECT_NE(norm->op.find("layer_norm"), std::string::npos);
  EXPECT_NE(norm->reason.find("of its steps, more than 0.75"), std::string::npos) << norm->reason;
  EXPECT_NE(norm->help.find("quantize '"), std::string::npos) << norm->help;
  EXPECT_NE(norm->help.find("a scale of at least"), std::string::npos) << norm->help;
  EXPECT_EQ(norm->reason.find("as a whole"), std::string::npos) << "said once: " << norm->reason;
  EXPECT_NE(outside_node(*p.compiled(), "it computes on floats because of " + norm->op), nullptr);
}

TEST(CortexMReport, ANodeThatHidesRoundingSaysNothing) {
  const std::string quantized = fake_quantized("r", "s", "k", parameters(0.0625, -128));
  for (const std::string& text : {norm_model(quantized), norm_model(kNotQuantized, "0.1")}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.options().require_full_delegation = true;
    ASSERT_NE(p.compiled(), nullptr) << p.failures();
    EXPECT_TRUE(p.compiled()->methods[0].outside.empty());
  }
}

// A node with its own reason is named beside the norm; nodes that only follow from the norm are counted.
TEST(CortexMReport, FullDelegationNamesCausesOnly) {
  const auto error_text = [](const std::string& text) {
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.options().require_full_delegation = true;
    p.at(Stage::lower).check_error("outside all delegates");
    return p.error() ? compiler::render(*p.error()) : "";
  };
  const std::string text = error_text(norm_model(kNotQuantized));
  EXPECT_NE(text.find("layer_norm.default: it computes on"), std::string::npos) << text;
  EXPECT_NE(text.find("nodes that are outside only because of these: "), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.exp"), text.rfind("aten.exp")) << "only as what made the numbers: " << text;
  EXPECT_EQ(text.find("aten.tanh"), std::string::npos) << text;
  std::string both = norm_model(kNotQuantized + "  %c = aten.cumprod(%r, 1)\n" +
                                fake_quantized("f", "c", "h", parameters(0.0625, -128)));
  both = error_text(both.replace(both.find("return %o"), 9, "return %o, %f"));
  EXPECT_NE(both.find("aten.cumprod.default: the backend has no integer form of this operator"), std::string::npos)
      << both;
}

TEST(CortexMReport, PositionsThatRoundingCouldChange) {
  const std::string text = "graph f(%x: f32[2, 8]) {\n" + fake_quantized("d", "x", "g", q()) +
                           "  %s = aten.silu(%d)\n  %m = aten.mul.Tensor(%s, %d)\n  %a = aten.argmax(%m, 1)\n" +
                           "  return %a\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  EXPECT_NE(outside_node(*p.compiled(), "could change 'a', which has positions or truth"), nullptr);
}

}  // namespace
}  // namespace wick::cortex_m::report_test
