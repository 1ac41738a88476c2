// fold_quantization with a backend's answers. The pass without backends has goldens in compiler/passes/test/.
#include "compiler/quantize/fold_quantization.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

std::string folded(const std::string& text, const TakesFn& takes) {
  auto function = parse_graph(text);
  if (!function.ok()) return render(function.diag());
  Graph& graph = *function->graph;
  fold_quantization(graph, takes);
  EXPECT_TRUE(verify(graph).ok());
  const std::string once = to_text(graph, "f", {.origins = false});
  fold_quantization(graph, takes);
  EXPECT_EQ(to_text(graph, "f", {.origins = false}), once) << "a second run changes nothing";
  return once;
}

// Does the node compute on elements, or only on numbers?
bool has_quantized_result(const Node& node) { return node.result()->is_quantized(); }

std::string quantize(const std::string& from, const std::string& to) {
  return "  %" + to + ": i8[4] = quantized_decomposed.quantize_per_tensor(%" + from + ", 0.5, 3, -128, 127, i8)\n";
}
std::string dequantize(const std::string& from, const std::string& to) {
  return "  %" + to + ": f32[4] = quantized_decomposed.dequantize_per_tensor(%" + from + ", 0.5, 3, -128, 127, i8)\n";
}

TEST(FoldWhereTaken, ConversionsStayAroundOtherNodes) {
  const std::string text = "graph f(%x: f32[4]) {\n" + quantize("x", "q") + dequantize("q", "d") +
                           "  %a: f32[4] = aten.add.Tensor(%d, %d)\n" + quantize("a", "r") + dequantize("r", "e") +
                           "  %b: f32[4] = aten.exp(%e)\n" + quantize("b", "s") + "  return %s\n}";
  EXPECT_EQ(folded(text, [](const Node& node) { return node.is("aten.add.Tensor") && has_quantized_result(node); }),
            R"(graph f(%x: f32[4]) {
  %q: i8[4]q(scale=0.5, zero=3) = wick.convert(%x)
  %a: i8[4]q(scale=0.5, zero=3) = aten.add.Tensor(%q, %q)
  %e: f32[4] = wick.convert(%a)
  %b: f32[4] = aten.exp(%e)
  %s: i8[4]q(scale=0.5, zero=3) = wick.convert(%b)
  return %s
}
)");
}

TEST(FoldWhereTaken, ConstantsMayFoldAlone) {
  const std::string text = "graph f(%q: i8[4]) {\n  const %k: i8[4] = [1, 2, 3, 4]\n" + dequantize("q", "d") +
                           dequantize("k", "c") + "  %y: f32[4] = aten.mul.Tensor(%d, %c)\n  return %y\n}";
  EXPECT_EQ(folded(text, [](const Node& node) { return !node.operands()[0]->is_quantized(); }),
            R"(graph f(%q: i8[4]q(scale=0.5, zero=3)) {
  const %k: i8[4]q(scale=0.5, zero=3) "" = [1, 2, 3, 4]
  %d: f32[4] = wick.convert(%q)
  %y: f32[4] = aten.mul.Tensor(%d, %k)
  return %y
}
)");
}

std::string with_clamp() {
  return "graph f(%q: i8[4]) {\n" + dequantize("q", "d") +
         "  %a: f32[4] = aten.add.Tensor(%d, %d)\n  %c: f32[4] = aten.relu(%a)\n" + quantize("c", "r") +
         "  return %r\n}";
}

TEST(FoldWhereTaken, AClampTakesTheQuantizationToTheNodeBeforeIt) {
  EXPECT_EQ(folded(with_clamp(), has_quantized_result), R"(graph f(%q: i8[4]q(scale=0.5, zero=3)) {
  %a: i8[4]q(scale=0.5, zero=3) = aten.add.Tensor(%q, %q)
  %c: i8[4]q(scale=0.5, zero=3) = aten.relu(%a)
  return %c
}
)");
}

TEST(FoldWhereTaken, AClampThatIsNotTakenLeavesTheNodeBeforeItOnNumbers) {
  const auto only_sums = [](const Node& node) { return node.is("aten.add.Tensor") && has_quantized_result(node); };
  EXPECT_EQ(folded(with_clamp(), only_sums), R"(graph f(%q: i8[4]q(scale=0.5, zero=3)) {
  %d: f32[4] = wick.convert(%q)
  %a: f32[4] = aten.add.Tensor(%d, %d)
  %c: f32[4] = aten.relu(%a)
  %r: i8[4]q(scale=0.5, zero=3) = wick.convert(%c)
  return %r
}
)");
}

// x quantized at run time, read by a linear and by `reader`.
std::string chosen(const std::string& reader) {
  return R"(graph f(%x: f32[3, 2], %w: f32[2, 2]) {
  %s: f64[1], %z: i64[1] = quantized_decomposed.choose_qparams.tensor(%x, -128, 127, 0.0002, i8)
  %q: i8[3, 2] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8)
  %d: f32[3, 2] = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, -128, 127, i8)
  %y: f32[3, 2] = aten.linear(%d, %w)
  %r: f32[3, 2] = )" +
         reader + "(%d)\n  return %y, %r\n}";
}

TEST(FoldWhereTaken, WhatIsChosenAtRunTimeFoldsForAllReadersOrNone) {
  const auto takes = [](const Node& node) { return !node.is("aten.exp.default"); };
  const std::string kept = folded(chosen("aten.exp"), takes);
  EXPECT_NE(kept.find("choose_qparams"), std::string::npos) << kept;
  EXPECT_EQ(kept.find("wick.convert"), std::string::npos) << kept;
  const std::string gone = folded(chosen("aten.relu"), takes);
  EXPECT_EQ(gone.find("quantized_decomposed"), std::string::npos) << gone;
  EXPECT_NE(gone.find("aten.linear(%q, %w)"), std::string::npos) << gone;
}

}  // namespace
}  // namespace wick::compiler
