// spread_quantization, fold_elements, absorb_padding, fold_hardsigmoid and merge_tables on the text form of graphs:
// before and after.
#include <gtest/gtest.h>

#include "backends/compile_table.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "compiler/ir/text/text.h"

namespace wick::cortex_m::prepare_passes_test {
namespace {

using compiler::Changed;
using compiler::Graph;
using compiler::Result;

constexpr char kInputs[] =
    "graph f(%x: i8[1, 2, 4, 4]q(scale=0.5, zero=3), %f: f32[1, 2, 4, 4]) {\n"
    "  const %w: i8[1, 2, 3, 3]q(scale=0.75, zero=0) = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";

// The nodes after the pass, without constants.
std::string behind(Result<Changed> (*pass)(Graph&), const std::string& nodes, const char* result) {
  compiler::known_targets();  // registers operators
  auto function = compiler::parse_graph(kInputs + nodes + "  return " + result + "\n}");
  if (!function.ok()) return render(function.diag());
  const auto changed = pass(*function->graph);
  if (!changed.ok()) return render(changed.diag());
  const compiler::Status valid = compiler::verify(*function->graph);
  if (!valid.ok()) return render(valid.diag());
  std::string out, rest = compiler::to_text(*function->graph, "f");
  for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
    const std::string line = rest.substr(0, end + 1);
    rest.erase(0, end + 1);
    if (line.compare(0, 3, "  %") == 0) out += line;
  }
  return out;
}

Result<Changed> merge_all(Graph& graph) { return merge_tables(graph, {}); }

std::string convolution(const char* x, const char* padding, const char* type) {
  return std::string("  %c: ") + type + " = aten.convolution(%" + x + ", %w, none, [1, 1], " + padding +
         ", [1, 1], false, [0, 0], 1)\n";
}

TEST(CortexMPrepare, ViewsHoldElementsForwardsAndBackwards) {
  EXPECT_EQ(behind(spread_quantization,
                   "  %v: f32[1, 2, 16] = aten.view(%x, [1, 2, 16])\n  %s: f32[1, 2, 16] = aten.sigmoid(%v)\n", "%s"),
            "  %v: i8[1, 2, 16]q(scale=0.5, zero=3) = aten.view(%x, [1, 2, 16])\n  %s: f32[1, 2, 16] = "
            "aten.sigmoid(%v)\n");
  EXPECT_EQ(behind(spread_quantization,
                   "  %s: f32[1, 2, 4, 4] = aten.sigmoid(%x)\n"
                   "  %v: i8[1, 2, 16]q(scale=0.25, zero=1) = aten.view(%s, [1, 2, 16])\n",
                   "%v"),
            "  %s: i8[1, 2, 4, 4]q(scale=0.25, zero=1) = aten.sigmoid(%x)\n"
            "  %v: i8[1, 2, 16]q(scale=0.25, zero=1) = aten.view(%s, [1, 2, 16])\n");
}

TEST(CortexMPrepare, InputsThatAreOnlyMovedAreQuantizedFirst) {
  const std::string slice = "  %a: f32[1, 2, 4, 1] = aten.slice.Tensor(%f, 3, 0, 1)\n";
  EXPECT_EQ(
      behind(spread_quantization, slice + "  %v: i8[1, 2, 4, 5]q(scale=0.25, zero=1) = aten.cat([%f, %a], 3)\n", "%v"),
      "  %f_1: i8[1, 2, 4, 4]q(scale=0.25, zero=1) = wick.convert(%f)\n"
      "  %a: i8[1, 2, 4, 1]q(scale=0.25, zero=1) = aten.slice.Tensor(%f_1, 3, 0, 1)\n"
      "  %v: i8[1, 2, 4, 5]q(scale=0.25, zero=1) = aten.cat([%f_1, %a], 3)\n");
  const std::string read = slice + "  %v: i8[1, 2, 4, 1]q(scale=0.25, zero=1) = aten.view(%a, [1, 2, 4, 1])\n" +
                           "  %s: f32[1, 2, 4, 4] = aten.sigmoid(%f)\n";
  EXPECT_EQ(behind(spread_quantization, read, "%v, %s").find("wick.convert"), std::string::npos);
}

TEST(CortexMPrepare, NumbersThatTheGraphReturnsOrOthersReadStayNumbers) {
  const std::string returned = "  %v: f32[1, 2, 16] = aten.view(%x, [1, 2, 16])\n";
  EXPECT_EQ(behind(spread_quantization, returned, "%v"), returned);
  const std::string read =
      "  %s: f32[1, 2, 4, 4] = aten.sigmoid(%x)\n"
      "  %v: i8[1, 2, 16]q(scale=0.25, zero=1) = aten.view(%s, [1, 2, 16])\n"
      "  %t: f32[1, 2, 4, 4] = aten.sigmoid(%s)\n";
  EXPECT_EQ(behind(spread_quantization, read, "%v, %t"), read);
}

// A dequantize node that is left reads elements on another scale than they were written on.
TEST(CortexMPrepare, WhatAnOperatorDequantizesStaysNumbers) {
  const std::string read =
      "  %d: f32[1, 2, 4, 4] = quantized_decomposed.dequantize_per_tensor(%x, 0.5, 1, -128, 127, i8)\n"
      "  %v: i8[1, 2, 16]q(scale=0.5, zero=3) = aten.view(%d, [1, 2, 16])\n";
  EXPECT_EQ(behind(spread_quantization, read, "%v"), read);
}

TEST(CortexMPrepare, PaddingWithZerosMovesIntoTheConvolution) {
  const std::string q = "i8[1, 2, 6, 6]q(scale=0.5, zero=3)", y = "i8[1, 1, 4, 4]q(scale=2.0, zero=0)";
  const std::string pad = "  %p: " + q + " = aten.constant_pad_nd(%x, [1, 1, 1, 1], ";
  const std::string plain = convolution("p", "[0, 0]", y.c_str());
  const std::string found = behind(absorb_padding, pad + "0.0)\n" + plain, "%c");
  EXPECT_NE(found.find("aten.convolution(%x, %w, none, [1, 1], [1, 1]"), std::string::npos) << found;
  const std::string other = behind(absorb_padding, pad + "1.0)\n" + plain, "%c");
  EXPECT_NE(other.find("aten.convolution(%p, %w, none, [1, 1], [0, 0]"), std::string::npos) << other;
}

TEST(CortexMPrepare, AHardsigmoidBecomesAClampBehindItsLayer) {
  const std::string y = "i8[1, 1, 2, 2]q(scale=0.0078125, zero=-128)";
  const std::string found =
      behind(fold_hardsigmoid,
             convolution("x", "[0, 0]", "f32[1, 1, 2, 2]") + "  %h: " + y + " = aten.hardsigmoid(%c)\n", "%h");
  EXPECT_NE(found.find("%h: " + y + " = aten.clamp(%c, 0.0, 1.0)"), std::string::npos) << found;
  EXPECT_EQ(found.find("hardsigmoid"), std::string::npos);
  // The layer's result has another reader.
  const std::string two = behind(fold_hardsigmoid,
                                 convolution("x", "[0, 0]", "f32[1, 1, 2, 2]") + "  %h: " + y +
                                     " = aten.hardsigmoid(%c)\n  %t: f32[1, 1, 2, 2] = aten.sigmoid(%c)\n",
                                 "%h, %t");
  EXPECT_NE(two.find("aten.hardsigmoid(%c)"), std::string::npos) << two;
}

TEST(CortexMPrepare, PointwiseNodesOfOneValueAreALookup) {
  const std::string y = "i8[1, 2, 4, 4]q(scale=0.25, zero=1)";
  const std::string chain = "  %s: f32[1, 2, 4, 4] = aten.sigmoid(%x)\n";
  EXPECT_EQ(behind(merge_all, chain + "  %m: " + y + " = aten.mul.Tensor(%x, %s)\n", "%m"),
            "  %lookup: " + y + " = wick.lookup(%x, %lut)\n");
  // A single node keeps its name; a value in floats that the graph returns stays.
  const std::string one = "  %m: " + y + " = aten.tanh(%x)\n";
  EXPECT_EQ(behind(merge_all, one, "%m"), one);
  EXPECT_EQ(behind(merge_all, chain + "  %m: " + y + " = aten.mul.Tensor(%x, %s)\n", "%m, %s"),
            chain + "  %lookup: " + y + " = wick.lookup(%x, %lut)\n");
  const std::string two = chain + "  %m: " + y + " = aten.mul.Tensor(%f, %s)\n";
  EXPECT_EQ(behind(merge_all, two, "%m"), two);
}

TEST(CortexMPrepare, ViewsAndConversionsOfConstantsAreConstants) {
  const std::string filter =
      "  %v: i8[2, 9]q(scale=0.75, zero=0) = aten.view(%w, [2, 9])\n"
      "  %p: i8[9, 2]q(scale=0.75, zero=0) = aten.permute(%v, [1, 0])\n";
  const std::string other =
      "  %c: i8[9, 2]q(scale=1.5, zero=4) = wick.convert(%p)\n"
      "  %n: i8[9, 2]q(scale=1, zero=0) = aten.neg(%c)\n";
  EXPECT_EQ(behind(fold_elements, filter + other, "%n"), "  %n: i8[9, 2]q(scale=1, zero=0) = aten.neg(%c_1)\n");
  const std::string grown = "  %e: i8[5, 1, 2, 3, 3]q(scale=0.75, zero=0) = aten.expand(%w, [5, 1, 2, 3, 3])\n";
  EXPECT_EQ(behind(fold_elements, grown, "%e"), grown);
}

}  // namespace
}  // namespace wick::cortex_m::prepare_passes_test
