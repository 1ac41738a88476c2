// Weights in all forms in which models have them: per-channel scales, matmuls that run_decompositions() makes of
// layers.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::weights_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr const char* kCpus[] = {"m55", "m4", "m3"};

std::string by_channels(const char* to, const char* from, const std::string& name, int axis, const char* dtype = "i8") {
  const char* range = std::string_view(dtype) == "i8"   ? "-128, 127"
                      : std::string_view(dtype) == "u8" ? "0, 255"
                                                        : "-2147483648, 2147483647";
  return fmt::format("  %{} = quantized_decomposed.{}_per_channel(%{}, %s{}, %z{}, {}, {}, {})\n", to,
                     to[0] == 'q' ? "quantize" : "dequantize", from, name, name, axis, range, dtype);
}

// Per-channel scales %sNAME and zero points %zNAME.
std::string channels(const std::string& name, const std::vector<double>& scales, const std::vector<int>& zeros) {
  return constant_line(("s" + name).c_str(), fmt::format("f32[{}]", scales.size()).c_str(), scales) +
         constant_line(("z" + name).c_str(), fmt::format("i64[{}]", zeros.size()).c_str(), zeros);
}

void expect_integers(const std::string& text, const std::string& op = "cortex_m.quantize_per_tensor") {
  for (const char* cpu : kCpus) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside({}).check(op);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << cpu << "\n" << text;
  }
}

// --- one scale for all channels ---

TEST(CortexMWeights, OneForAllWeightsAndBiases) {
  for (const int axis : {0, 1, -1}) {
    for (const int zero : {0, 7}) {
      const std::string linear =
          "graph f(%x: f32[3, 4]) {\n" + fake_quantized("d", "x", "q", parameters(0.03125, 4)) +
          constant_line("e", "i8[5, 4]", std::vector<int>{1,  -2, 3,  4,  5,   -128, 127, 60, 50, -90,
                                                          12, 13, 77, -7, -33, 2,    8,   9,  6,  100}) +
          constant_line("i", "i32[5]", std::vector<int>{4000, -100, 77, -3000, 9}) + channels("w", {0.015625}, {zero}) +
          channels("b", {0.0005}, {0}) + by_channels("w", "e", "w", axis) + by_channels("b", "i", "b", -1, "i32") +
          "  %l = aten.linear(%d, %w, %b)\n" + fake_quantized("o", "l", "p", parameters(0.125, -3)) + "  return %o\n}";
      expect_integers(linear, "cortex_m.quantized_linear");
    }
  }
}

TEST(CortexMWeights, OneForAllBesideOneForEach) {
  const std::string conv = "graph f(%x: f32[1, 2, 4, 4]) {\n" + fake_quantized("d", "x", "q", parameters(0.03125, 4)) +
                           constant_line("e", "i8[3, 2, 1, 1]", std::vector<int>{1, -2, 30, 104, -128, 127}) +
                           constant_line("i", "i32[3]", std::vector<int>{4000, -100, 77}) +
                           channels("w", {0.015625, 0.01, 0.03}, {0, 0, 0}) + channels("b", {0.0005}, {0}) +
                           by_channels("w", "e", "w", 0) + by_channels("b", "i", "b", 0, "i32") +
                           "  %l = aten.convolution(%d, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)\n" +
                           fake_quantized("o", "l", "p", parameters(0.125, -3)) + "  return %o\n}";
  expect_integers(conv, "cortex_m.quantized_conv2d");
}

TEST(CortexMWeights, OneForAllElementsOfActivations) {
  for (const char* dtype : {"i8", "u8"}) {
    for (const int axis : {0, 1, -1}) {
      const std::string text = "graph f(%x: f32[3, 4]) {\n" + channels("", {0.03125}, {100}) +
                               by_channels("q", "x", "", axis, dtype) + by_channels("d", "q", "", axis, dtype) +
                               "  %y = aten.relu(%d)\n" + by_channels("q2", "y", "", axis, dtype) +
                               by_channels("d2", "q2", "", axis, dtype) + "  return %d2\n}";
      expect_integers(text);
    }
  }
}

// --- weights that are computed from constants ---

TEST(CortexMWeights, ComputedOfConstantsAreConstants) {
  const std::string requantized[] = {fake_quantized("v", "r", "g", parameters(0.0078125, 2)),
                                     channels("v", {0.0078125, 0.01, 0.02, 0.005}, {0, 0, 0, 0}) +
                                         by_channels("q", "r", "v", 0) + by_channels("v", "q", "v", 0),
                                     "  %v = aten.mul.Scalar(%r, 0.5)\n"};
  const std::string computed[] = {
      "  %r = aten.mul.Tensor(%a, %k)\n", "  %n = aten.mean.dim(%a, [1], true)\n  %r = aten.sub.Tensor(%a, %n)\n",
      "  %n = aten.mul.Tensor(%a, %a)\n  %s = aten.sum.dim_IntList(%n, [1], true)\n"
      "  %t = aten.rsqrt(%s)\n  %r = aten.mul.Tensor(%a, %t)\n",
      "  %t = aten.permute(%k, ORDER)\n  %u = aten.permute(%t, ORDER)\n  %n = aten.tanh(%u)\n"
      "  %r = aten.add.Tensor(%a, %n)\n"};
  struct Layer {
    std::string input, sizes, order, call;
  };
  const Layer layers[] = {{"3, 6", "4, 6", "[1, 0]", "aten.linear(%d, %v)"},
                          {"1, 6, 3, 3", "4, 6, 1, 1", "[1, 0, 2, 3]",
                           "aten.convolution(%d, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)"}};
  for (const Layer& layer : layers) {
    for (const std::string& values : computed) {
      for (const std::string& again : requantized) {
        Random random(7);
        std::string weights = constant_line("e", fmt::format("i8[{}]", layer.sizes).c_str(), random_int8(random, 24)) +
                              constant_line("m", fmt::format("i8[{}]", layer.sizes).c_str(), random_int8(random, 24)) +
                              dequantize_line("a", "e", parameters(0.0078125, 3)) +
                              dequantize_line("k", "m", parameters(0.00390625, -128)) + values + again;
        for (size_t at = 0; (at = weights.find("ORDER", at)) != std::string::npos;) weights.replace(at, 5, layer.order);
        const std::string text = fmt::format("graph f(%x: f32[{}]) {{\n", layer.input) + weights +
                                 fake_quantized("d", "x", "p", parameters(0.03125, 4)) + "  %l = " + layer.call + "\n" +
                                 fake_quantized("o", "l", "h", parameters(0.125, -3)) + "  return %o\n}";
        expect_integers(text);
      }
    }
  }
}

// --- matmuls ---

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

// Decomposed attention replaces a row of scores without a finite one by 0.
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

// A matmul of the dequantized %d by %w, i8 or u8 elements that are dequantized per channel along `axis`.
struct Product {
  std::string x, matrix;  // sizes
  int axis = 0, count = 0, channels = 0;
  std::string lines;  // lines that compute %l from %d and %w
};

std::string text_of(const Product& product, const char* dtype, bool zeros) {
  Random random(11);
  const bool is_unsigned = std::string_view(dtype) == "u8";
  const int middle = is_unsigned ? 128 : 0;
  std::vector<int64_t> elements = random_int8(random, product.count);
  if (is_unsigned) {
    for (int64_t& element : elements) element += middle;
  }
  std::vector<double> scales;
  std::vector<int> points;
  for (int c = 0; c < product.channels; ++c) {
    scales.push_back(0.002 + 0.003 * (c % 3));
    points.push_back(middle + (zeros ? c - 2 : 0));
  }
  return fmt::format("graph f(%x: f32[{}]) {{\n", product.x) +
         constant_line("e", fmt::format("{}[{}]", dtype, product.matrix).c_str(), elements) +
         channels("w", scales, points) + by_channels("w", "e", "w", product.axis, dtype) +
         fake_quantized("d", "x", "q", parameters(0.03125, 4)) + product.lines +
         fake_quantized("o", "l", "p", parameters(0.0625, -3)) + "  return %o\n}";
}

TEST(CortexMWeights, MatricesWithAScaleForEachOutput) {
  const std::string row = "  const %b: f32[1, 6] = [0.5, -0.25, 1.0, 2.0, -1.5, 0.125]\n";
  const Product products[] = {
      {"2, 8", "8, 6", 1, 48, 6, "  %l = aten.mm(%d, %w)\n"},
      {"1, 8", "8, 1", -1, 8, 1, "  %l = aten.mm(%d, %w)\n"},
      {"2, 3, 8", "8, 6", -1, 48, 6, "  %l = aten.matmul(%d, %w)\n"},
      {"8", "8, 6", 1, 48, 6, "  %l = aten.matmul(%d, %w)\n"},
      {"1, 2, 8", "1, 8, 6", 2, 48, 6, "  %l = aten.bmm(%d, %w)\n"},
      {"3, 2, 8", "1, 8, 6", 2, 48, 6, "  %u = aten.expand(%w, [3, 8, 6])\n  %l = aten.bmm(%d, %u)\n"},
      {"3, 2, 8", "8, 6", 1, 48, 6,
       "  %u = aten.unsqueeze(%w, 0)\n  %v = aten.expand(%u, [3, 8, 6])\n  %l = aten.bmm(%d, %v)\n"},
      {"2, 8", "6, 8", 0, 48, 6, "  %t = aten.permute(%w, [1, 0])\n  %l = aten.mm(%d, %t)\n"},
      {"2, 8", "2, 4, 6", 2, 48, 6, "  %t = aten.view(%w, [8, 6])\n  %l = aten.mm(%d, %t)\n"},
      {"2, 8", "8, 7", 1, 56, 7, "  %t = aten.slice.Tensor(%w, 1, 1, 7)\n  %l = aten.mm(%d, %t)\n"},
      {"2, 8", "8, 6", 1, 48, 6, "  %t = aten.permute(%w, [1, 0])\n  %l = aten.linear(%d, %t)\n"},
      {"2, 8", "8, 6", 1, 48, 6,
       "  const %b: f32[6] = [0.5, -0.25, 1.0, 2.0, -1.5, 0.125]\n  %l = aten.addmm(%b, %d, %w)\n"},
      {"2, 8", "8, 6", 1, 48, 6, row + "  %l = aten.addmm(%b, %d, %w)\n"},
      {"2, 8", "8, 6", 1, 48, 6, row + "  %l = aten.addmm(%b, %d, %w, 0.5, 2)\n"},
      {"2, 8", "8, 6", 1, 48, 6, "  const %b: f32[6] = [inf, 1, 2, 3, nan, 5]\n  %l = aten.addmm(%b, %d, %w, 0)\n"},
      {"2, 8", "8, 6", 1, 48, 6,
       constant_line("f", "i32[1, 6]", std::vector<int>{100, -2000, 3, 4000, 500, -6}) +
           channels("b", {0.001, 0.002, 0.0005, 0.001, 0.003, 0.01}, std::vector<int>(6)) +
           by_channels("b", "f", "b", 1, "i32") + "  %l = aten.addmm(%b, %d, %w)\n"},
      {"2, 8", "8, 6", 1, 48, 6, "  const %b: f32[1] = [0.75]\n  %l = aten.addmm(%b, %d, %w)\n"},
      {"8, 3", "6, 8", 0, 48, 6, "  %l = aten.mm(%w, %d)\n"},
      {"2, 8, 3", "1, 6, 8", 1, 48, 6, "  %u = aten.expand(%w, [2, 6, 8])\n  %l = aten.bmm(%u, %d)\n"},
      {"2, 8", "8, 6", 1, 48, 6, "  %m = aten.mm(%d, %w)\n  %l = aten.relu(%m)\n"},
      {"2, 8", "6, 8", 0, 48, 6, "  %l = aten.linear(%d, %w)\n"},
      {"1, 2, 4, 4", "3, 2, 2, 2", 0, 24, 3,
       "  %l = aten.convolution(%d, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)\n"},
      {"1, 2, 4, 4", "2, 3, 2, 2", 1, 24, 3,
       "  %l = aten.convolution(%d, %w, none, [2, 2], [0, 0], [1, 1], true, [0, 0], 1)\n"},
      {"1, 2, 4, 4", "2, 3, 2, 2", 1, 24, 3,
       "  %t = aten.permute(%w, [1, 0, 2, 3])\n"
       "  %l = aten.convolution(%d, %t, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)\n"},
  };
  for (const Product& product : products) {
    for (const char* dtype : {"i8", "u8"}) {
      for (const bool zeros : {false, true}) expect_integers(text_of(product, dtype, zeros));
    }
  }
}

// No layer takes such scales: the weights become floats, and then 16 bits.
TEST(CortexMWeights, MatricesWithAScaleForEachInput) {
  for (const Product& product :
       {Product{"2, 8", "8, 6", 0, 48, 8, "  %l = aten.mm(%d, %w)\n"},
        Product{"2, 8", "6, 8", 1, 48, 8, "  %l = aten.linear(%d, %w)\n"},
        Product{"2, 8", "6, 8", 1, 48, 8, "  %t = aten.permute(%w, [1, 0])\n  %l = aten.mm(%d, %t)\n"},
        Product{"8, 3", "6, 8", 1, 48, 8, "  %l = aten.mm(%w, %d)\n"},
        Product{"8, 3", "8, 6", 0, 48, 8, "  %t = aten.permute(%w, [1, 0])\n  %l = aten.mm(%t, %d)\n"}}) {
    for (const bool zeros : {false, true}) {
      Pipeline p = std::move(Pipeline::from_text(text_of(product, "i8", zeros)).backend("cortex-m"));
      p.at(Stage::lower).check_outside({}).check("wick_cortex_m.linear_int16");
      p.run_and_compare(one_step());
      EXPECT_EQ(p.failures(), "");
    }
  }
}

// A transposed left matrix has its scales along its rows.
TEST(CortexMWeights, MovedMatricesOnTheLeft) {
  expect_integers(
      text_of({"8, 3", "8, 6", 1, 48, 6, "  %t = aten.permute(%w, [1, 0])\n  %l = aten.mm(%t, %d)\n"}, "i8", false));
  expect_integers(text_of({"2, 8, 3", "8, 6", 1, 48, 6,
                           "  %t = aten.permute(%w, [1, 0])\n  %u = aten.unsqueeze(%t, 0)\n"
                           "  %v = aten.expand(%u, [2, 6, 8])\n  %l = aten.bmm(%v, %d)\n"},
                          "u8", true));
}

// A matmul takes a single scale. Layers that read one matrix share its weights.
TEST(CortexMWeights, MatmulsStayAndWeightsAreShared) {
  const std::string one =
      "graph f(%x: f32[2, 4]) {\n" + constant_line("e", "i8[4, 2]", std::vector<int>{1, 2, 3, 4, 5, 6, 7, -8}) +
      dequantize_line("w", "e", parameters(0.0625, 0)) + fake_quantized("d", "x", "q", parameters(0.03125, 4)) +
      "  %l = aten.mm(%d, %w)\n" + fake_quantized("o", "l", "p", parameters(0.0625, -3)) + "  return %o\n}";
  expect_integers(one, "cortex_m.quantized_batch_matmul");
  const Product twice = {
      "4, 4",
      "4, 4",
      1,
      16,
      4,
      "  %m = aten.mm(%d, %w)\n" + fake_quantized("n", "m", "r", parameters(0.03125, 4)) + "  %l = aten.mm(%n, %w)\n"};
  const std::string text = text_of(twice, "i8", false);
  expect_integers(text, "wick_cortex_m.linear_per_channel");
  Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for("m4")));
  const std::string lowered = p.dump(Stage::lower);
  size_t constants = 0;
  for (size_t at = 0; (at = lowered.find(": i8[4, 4]", at)) != std::string::npos; ++at)
    constants += lowered.rfind("const", at) > lowered.rfind('\n', at);
  EXPECT_EQ(constants, 1u) << lowered;
}

// Fractional zero points cannot be shifted by 128 to those of int8.
TEST(CortexMWeights, OfUint8WithFractionalZeroPoints) {
  for (const double zero : {127.5, 0.25, 128.0}) {
    const std::string text =
        "graph f(%x: f32[2, 4]) {\n" + fake_quantized("d", "x", "q", parameters(0.03125, 4)) +
        constant_line("e", "u8[2, 4]", std::vector<int>{1, 200, 130, 127, 255, 0, 128, 90}) +
        constant_line("c", "f32[2, 1]", std::vector<double>{0.0625, 0.125}) +
        constant_line("z", "f32[2, 1]", std::vector<double>{zero, zero}) +
        "  %w: f32[2, 4] = torchao.dequantize_affine(%e, [1, 4], %c, %z, u8, 0, 255)\n  %l = aten.linear(%d, %w)\n" +
        fake_quantized("o", "l", "p", parameters(0.0625, -3)) + "  return %o\n}";
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for("m55")));
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << zero;
  }
}

}  // namespace
}  // namespace wick::cortex_m::weights_test
