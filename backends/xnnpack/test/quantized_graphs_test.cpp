// Quantized graphs of which XNNPACK takes parts: what crosses the border of a delegate, and that numbers stay the
// model's.
#include <gtest/gtest.h>

#include "compiler/testing/pipeline.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

std::string quantize(const char* from, const char* to, const char* sizes, const char* parameters = "0.0625, 3") {
  return std::string("  %") + to + ": i8" + sizes + " = quantized_decomposed.quantize_per_tensor(%" + from + ", " +
         parameters + ", -128, 127, i8)\n";
}
std::string dequantize(const char* from, const char* to, const char* sizes, const char* parameters = "0.0625, 3") {
  return std::string("  %") + to + ": f32" + sizes + " = quantized_decomposed.dequantize_per_tensor(%" + from + ", " +
         parameters + ", -128, 127, i8)\n";
}

// %w: weights [4, 4]; %x on int8 is %q, and %d as numbers.
std::string start(const std::string& inputs = "%x: f32[3, 4]") {
  return "graph f(" + inputs + R"() {
  const %e: i8[4, 4] = [1, -20, 33, 7, -8, 90, 5, 6, 1, 2, -43, 4, 11, 12, 13, -14]
)" + dequantize("e", "w", "[4, 4]", "0.03125, 0") +
         quantize("x", "q", "[3, 4]") + dequantize("q", "d", "[3, 4]");
}

void expect_outside(const std::string& text, size_t delegates, const std::vector<std::string>& outside) {
  Pipeline p = Pipeline::from_text(text);
  p.backend("xnnpack");
  p.at(Stage::partition).check_delegates(delegates).check_outside(outside);
  if (has_xnnpack_library()) p.run_and_compare({.quantization_steps = 1});
  EXPECT_EQ(p.failures(), "") << p.dump(Stage::partition);
}

constexpr char kSort[] = "aten.sort.default: XNNPACK has no operator for it: the library has no indices";

TEST(QuantizedGraphs, NumbersThatANodeOutsideReadsAreConvertedInADelegate) {
  expect_outside(start() + "  %y: f32[3, 4] = aten.linear(%d, %w)\n" + quantize("y", "r", "[3, 4]", "0.25, -1") +
                     dequantize("r", "s", "[3, 4]", "0.25, -1") +
                     "  %t: f32[3, 4], %i: i64[3, 4] = aten.sort(%d)\n  return %s, %t\n}",
                 1, {kSort});
}

TEST(QuantizedGraphs, ElementsThatANodeOutsideMakesComeInAsElements) {
  expect_outside("graph f(%z: f32[3, 4]) {\n  %x: f32[3, 4], %i: i64[3, 4] = aten.sort(%z)\n" +
                     start().substr(start().find('\n') + 1) + "  %y: f32[3, 4] = aten.linear(%d, %w)\n" +
                     quantize("y", "r", "[3, 4]", "0.25, -1") + "  return %r\n}",
                 1, {kSort});
}

TEST(QuantizedGraphs, AClampBehindAQuantizeIsTheBoundOfTheProduct) {
  Pipeline p = Pipeline::from_text(start() + "  %y: f32[3, 4] = aten.linear(%d, %w)\n" + quantize("y", "r", "[3, 4]") +
                                   dequantize("r", "s", "[3, 4]") + "  %c: f32[3, 4] = aten.clamp(%s, -0.7, 1.3)\n" +
                                   quantize("c", "t", "[3, 4]") + dequantize("t", "u", "[3, 4]") + "  return %u\n}");
  p.backend("xnnpack");
  p.at(Stage::partition).check_delegates(1).check_outside({});
  if (has_xnnpack_library()) p.run_and_compare({.quantization_steps = 1});
  ASSERT_EQ(p.failures(), "");
  EXPECT_EQ(p.compiled()->method_plans[0].delegates[0]->num_nodes, 3u) << "to int8, the product, to float";
}

TEST(QuantizedGraphs, BranchesPassElements) {
  expect_outside(
      start("%p: bool[], %x: f32[3, 4]") + R"(  %r: i8[3, 4] = higher_order.cond(%p, [%q]) graph (%a: i8[3, 4]) {
)" + dequantize("a", "n", "[3, 4]") +
          "  %m: f32[3, 4] = aten.tanh(%n)\n" + quantize("m", "f", "[3, 4]") +
          "    return %f\n  } graph (%b: i8[3, 4]) {\n    return %b\n  }\n" + dequantize("r", "g", "[3, 4]") +
          "  %y: f32[3, 4] = aten.linear(%g, %w)\n  return %y\n}",
      2,
      {"higher_order.cond.default: control flow stays in the program; its bodies are partitioned by themselves",
       "wick.convert.default: a node outside needs it, and in a delegate it would be one of its own before that node"});
}

TEST(QuantizedGraphs, StateHoldsElements) {
  expect_outside("graph f(%x: f32[3, 4]) {\n  state %c: i8[3, 4] \"c\" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n" +
                     start().substr(start().find('\n') + 1) + dequantize("c", "h", "[3, 4]") +
                     "  %y: f32[3, 4] = aten.add.Tensor(%d, %h)\n" + quantize("y", "r", "[3, 4]") +
                     dequantize("r", "s", "[3, 4]") + "  update %c = %r\n  return %s\n}",
                 1, {});
}

TEST(QuantizedGraphs, EqualWeightsMayHaveTwoScales) {
  expect_outside(start() + dequantize("e", "v", "[4, 4]", "0.25, 0") +
                     "  %y: f32[3, 4] = aten.linear(%d, %w)\n  %z: f32[3, 4] = aten.linear(%d, %v)\n" +
                     quantize("y", "r", "[3, 4]") + quantize("z", "s", "[3, 4]") + "  return %r, %s\n}",
                 1, {});
}

// The same program on elements of uint8 and of int8, whose zero points differ by 128.
std::string between(bool is_unsigned, const std::string& op, int64_t zero) {
  const int64_t shift = is_unsigned ? 0 : 128;
  const std::string dtype = is_unsigned ? "u8" : "i8";
  const auto pair = [&](const std::string& x, const std::string& y, const char* scale, int64_t at) {
    const std::string q = std::string(scale) + ", " + std::to_string(at - shift) + ", " + std::to_string(-shift) +
                          ", " + std::to_string(255 - shift) + ", " + dtype + ")\n";
    return "  %e" + y + ": " + dtype + "[1, 4, 6, 6] = quantized_decomposed.quantize_per_tensor(%" + x + ", " + q +
           "  %" + y + ": f32[1, 4, 6, 6] = quantized_decomposed.dequantize_per_tensor(%e" + y + ", " + q;
  };
  return "graph f(%x: f32[1, 4, 6, 6]) {\n  const %k: i8[4, 4, 3, 3] = ...\n"
         "  %w: f32[4, 4, 3, 3] = quantized_decomposed.dequantize_per_tensor(%k, 0.0078125, 0, -128, 127, i8)\n" +
         pair("x", "d", "0.0625", zero) + "  %y: f32[1, 4, 6, 6] = " + op + "\n" + pair("y", "z", "0.125", zero) +
         "  return %z\n}";
}

TEST(QuantizedGraphs, ElementsOfUint8AreComputedAsInt8) {
  const char* const kOps[] = {"aten.convolution(%d, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)",
                              "aten.add.Tensor(%d, %d)", "aten.mul.Tensor(%d, %d)", "aten.sigmoid(%d)",
                              "aten.relu(%d)"};
  for (const char* op : kOps) {
    for (const int64_t zero : {0, 107, 255}) {
      SCOPED_TRACE(std::string(op) + ", zero point " + std::to_string(zero));
      std::vector<size_t> nodes;
      for (const bool is_unsigned : {true, false}) {
        Pipeline p = Pipeline::from_text(between(is_unsigned, op, zero));
        p.backend("xnnpack");
        p.at(Stage::partition).check_delegates(1).check_outside({});
        if (has_xnnpack_library()) p.run_and_compare({.quantization_steps = 1});
        ASSERT_EQ(p.failures(), "");
        nodes.push_back(p.compiled()->method_plans[0].delegates[0]->num_nodes);
      }
      EXPECT_EQ(nodes[0], nodes[1]);
    }
  }
}

}  // namespace
}  // namespace wick::testing
