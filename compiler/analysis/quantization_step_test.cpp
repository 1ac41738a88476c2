#include "compiler/analysis/quantization_step.h"

#include <gtest/gtest.h>

#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

double step_of(const std::string& text) {
  auto function = parse_graph(text);
  EXPECT_TRUE(function.ok()) << (function.ok() ? "" : render(function.diag()));
  return function.ok() ? quantization_step(*function->graph->outputs.at(0).value) : -1;
}

constexpr char kQuantize[] = "  %q: i8[2, 4] = quantized_decomposed.quantize_per_tensor(%x, 0.25, 3, -128, 127, i8)\n";
constexpr char kDequantize[] =
    "  %d: f32[2, 4] = quantized_decomposed.dequantize_per_tensor(%q, 0.25, 3, -128, 127, i8)\n";

std::string graph(const std::string& body, const std::string& result) {
  return "graph f(%x: f32[2, 4]) {\n" + body + "  return " + result + "\n}";
}

TEST(QuantizationStep, OfElementsIsOneAndOfRealsTheScale) {
  EXPECT_EQ(step_of(graph(kQuantize, "%q")), 1);
  EXPECT_EQ(step_of(graph(std::string(kQuantize) + kDequantize, "%d")), 0.25);
}

TEST(QuantizationStep, OfChannelsIsTheLargest) {
  EXPECT_EQ(step_of(R"(graph f(%q: i8[2, 4]) {
  const %s: f32[2] = [0.5, 0.125]
  const %z: i64[2] = [0, 0]
  %d: f32[2, 4] = quantized_decomposed.dequantize_per_channel(%q, %s, %z, 0, -128, 127, i8)
  return %d
})"),
            0.5);
}

TEST(QuantizationStep, GoesThroughWhatMovesPicksOrBoundsElements) {
  const std::string body = std::string(kQuantize) + kDequantize + R"(  %v: f32[8] = aten.view(%d, [8])
  %r: f32[8] = aten.relu(%v)
  %c: f32[16] = aten.cat([%r, %v])
)";
  EXPECT_EQ(step_of(graph(body, "%c")), 0.25);
}

TEST(QuantizationStep, EndsWhereNumbersAreComputed) {
  EXPECT_EQ(step_of(graph(std::string(kQuantize) + kDequantize + "  %s: f32[2, 4] = aten.sigmoid(%d)\n", "%s")), 0);
  EXPECT_EQ(step_of(graph("", "%x")), 0);
}

}  // namespace
}  // namespace wick::compiler
