// linear_layers: what run_decompositions() leaves of linear layers are integers as the layers are.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::linear_layers_test {
namespace {

using testing::Pipeline;
using testing::Stage;

std::string model(const std::string& layer) {
  return "graph f(%x: f32[2, 3, 4]) {\n" +
         constant_line("w", "i8[5, 4]", std::vector<int>{1,  -20, 127, 40, -127, 3, 9, 33,  100, -7,
                                                         64, 2,   -90, 11, 5,    6, 7, -80, 55,  12}) +
         constant_line("s", "f32[5]", std::vector<double>{0.01, 0.02, 0.005, 0.03, 0.008}) +
         constant_line("z", "i64[5]", std::vector<int>(5, 0)) +
         constant_line("b", "f32[5]", std::vector<double>{0.5, -1.5, 0.25, 2.0, -0.125}) +
         fake_quantized("d", "x", "q", parameters(0.03, 5)) +
         "  %v = quantized_decomposed.dequantize_per_channel(%w, %s, %z, 0, -127, 127, i8)\n"
         "  %t = aten.permute(%v, [1, 0])\n  %r = aten.view(%d, [6, 4])\n  %m = " +
         layer + "\n  %y = aten.view(%m, [2, 3, 5])\n" + fake_quantized("o", "y", "p", parameters(0.05, 3)) +
         "  return %o\n}";
}

TEST(CortexMLinearLayers, MatmulsWithWeightsOfAScaleForEachOutput) {
  for (const char* layer : {"aten.addmm(%b, %r, %t)", "aten.mm(%r, %t)"}) {
    SCOPED_TRACE(layer);
    for (const char* cpu : {"m55", "m4", "m3"}) {
      Pipeline p = std::move(Pipeline::from_text(model(layer)).backend(backend_for(cpu)));
      p.at(Stage::lower).check_outside({}).check_count("wick_cortex_m.linear_per_channel", 1);
      p.run_and_compare(one_step());
      EXPECT_EQ(p.failures(), "") << cpu;
    }
  }
}

TEST(CortexMLinearLayers, AStackOfEqualMatrices) {
  std::string text = model("aten.bmm(%r, %u)");
  const std::string rows = "  %r = aten.view(%d, [6, 4])\n";
  text.replace(text.find(rows), rows.size(), "  %r = aten.view(%d, [2, 3, 4])\n  %u = aten.expand(%t, [2, 4, 5])\n");
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_outside({}).check_count("wick_cortex_m.linear_per_channel", 1);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMLinearLayers, OneOutput) {
  const std::string text =
      "graph f(%x: f32[6, 4]) {\n" + constant_line("w", "i8[1, 4]", std::vector<int>{1, -20, 127, 40}) +
      constant_line("b", "f32[1]", std::vector<double>{0.5}) + fake_quantized("d", "x", "q", parameters(0.03, 5)) +
      dequantize_line("v", "w", parameters(0.02, 0)) +
      "  %t = aten.permute(%v, [1, 0])\n  %y = aten.addmm(%b, %d, %t)\n" +
      fake_quantized("o", "y", "p", parameters(0.05, 3)) + "  return %o\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_outside({}).check_count("cortex_m.quantized_linear", 1);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

// Decomposed attention gives 0 for a row of scores without a finite one.
TEST(CortexMLinearLayers, AGuardOfAttentionIsNotNeeded) {
  const std::string text =
      "graph f(%x: f32[2, 6, 8]) {\n" + fake_quantized("d", "x", "q", parameters(0.03125, -11)) +
      "  %t = aten.permute(%d, [0, 2, 1])\n  %s = aten.bmm(%d, %t)\n  %r = aten.mul.Scalar(%s, 0.35)\n"
      "  %w = aten._softmax(%r, -1, false)\n  %e = aten.eq.Scalar(%r, -inf)\n  %n = aten.logical_not(%e)\n"
      "  %a = aten.any.dim(%n, -1, true)\n  %g = aten.logical_not(%a)\n  %z = aten.full_like(%w, 0)\n"
      "  %v = aten.where.self(%g, %z, %w)\n  %y = aten.bmm(%v, %d)\n" +
      fake_quantized("o", "y", "p", parameters(0.03125, 3)) + "  return %o\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_outside({}).check_not("logical_not").check("wick_cortex_m.softmax_int16");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMLinearLayers, FactorsAndOtherBiasesStay) {
  Pipeline p = std::move(Pipeline::from_text(model("aten.addmm(%b, %r, %t, 2, 1)")).backend("cortex-m"));
  p.at(Stage::lower).check_not("linear_per_channel");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

}  // namespace
}  // namespace wick::cortex_m::linear_layers_test
