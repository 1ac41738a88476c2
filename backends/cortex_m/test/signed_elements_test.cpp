// signed_elements: models whose quantized numbers are uint8 are integers, too.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::signed_elements_test {
namespace {

using testing::Pipeline;
using testing::Stage;

const std::string kFrom = parameters(0.03125, 117, 0, 255), kTo = parameters(0.0205078125, 132, 0, 255);

std::string unsigned_quantized(const char* d, const char* x, const char* e, const std::string& q) {
  return quantize_line(e, x, q, "u8") + dequantize_line(d, e, q, "u8");
}

// The names of the nodes outside are `outside`.
void expect_integers(const std::string& text, const std::string& op, const std::vector<std::string>& outside = {}) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"m55", "m4", "m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside(outside).check(op);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

TEST(CortexMSignedElements, LayersAndFunctionsComputeOnInt8) {
  const std::string input = "graph f(%x: f32[2, 3, 5, 4]) {\n" + unsigned_quantized("d", "x", "q", kFrom);
  const std::string end = unsigned_quantized("o", "y", "p", kTo) + "  return %o\n}";
  const std::string w = constant_line("w", "i8[2, 3, 1, 1]", std::vector<int>{3, -90, 127, -128, 5, 6}) +
                        dequantize_line("v", "w", parameters(0.0078125, 0));
  expect_integers(input + w + "  %y = aten.convolution(%d, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n" + end,
                  "cortex_m.quantized_conv2d");
  expect_integers(input + "  %y = aten.hardswish(%d)\n" + end, "cortex_m.quantized_activation");
  expect_integers(input + "  %s = aten.silu(%d)\n  %y = aten.mean.dim(%s, [2, 3])\n" + end,
                  "wick_cortex_m.lookup_int16");
}

TEST(CortexMSignedElements, SoDoConstantsOfUint8) {
  const std::string text =
      "graph f(%x: f32[2, 3]) {\n" + constant_line("w", "u8[2, 3]", std::vector<int>{0, 255, 128, 127, 3, 200}) +
      unsigned_quantized("d", "x", "q", kFrom) + dequantize_line("v", "w", parameters(0.0078125, 121, 0, 255), "u8") +
      "  %y = aten.linear(%d, %v)\n" + unsigned_quantized("o", "y", "p", kTo) + "  return %o\n}";
  expect_integers(text, "cortex_m.quantized_linear");
}

// Inputs, outputs and other readers of the elements.
TEST(CortexMSignedElements, WhatComputesOnElementsReadsTheBytesOfTheModel) {
  expect_integers("graph f(%q: u8[2, 7]) {\n" + dequantize_line("d", "q", kFrom, "u8") + "  %y = aten.sigmoid(%d)\n" +
                      quantize_line("p", "y", kTo, "u8") + "  return %p\n}",
                  "cortex_m.quantized_activation");
  expect_integers("graph f(%x: f32[2, 7]) {\n" + unsigned_quantized("d", "x", "q", kFrom) +
                      "  %y = aten.sigmoid(%d)\n" + unsigned_quantized("o", "y", "p", kTo) + "  return %o, %q, %p\n}",
                  "cortex_m.quantized_activation");
}

}  // namespace
}  // namespace wick::cortex_m::signed_elements_test
