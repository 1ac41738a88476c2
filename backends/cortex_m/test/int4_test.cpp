// Weights that a model quantizes to four bits: when they are packed, and that packing changes no result.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::int4_test {
namespace {

using testing::Pipeline;
using testing::Stage;

struct Model {
  int64_t inputs = 19, outputs = 3;
  int min = -8, max = 7;         // of the declared range
  int least = -8, greatest = 7;  // of the elements
  int zero = 0;
  bool per_channel = false;

  std::string text(const char* function = "aten.linear(%d, %w, %b)") const {
    Random random(5);
    std::vector<int64_t> w, z(static_cast<size_t>(outputs));
    for (int64_t i = 0; i < inputs * outputs; ++i) w.push_back(random.in(least, greatest));
    w[0] = least;
    w[1] = greatest;
    std::vector<double> b, s;
    for (int64_t n = 0; n < outputs; ++n) {
      b.push_back(0.25 * static_cast<double>(n));
      s.push_back(0.0625 + 0.015625 * static_cast<double>(n));
    }
    std::string out = fmt::format("graph f(%x: f32[4, {}]) {{\n", inputs);
    out += constant_line("e", fmt::format("i8[{}, {}]", outputs, inputs).c_str(), w);
    out += constant_line("b", fmt::format("f32[{}]", outputs).c_str(), b);
    if (per_channel) {
      out += constant_line("s", fmt::format("f64[{}]", outputs).c_str(), s);
      out += constant_line("z", fmt::format("i64[{}]", outputs).c_str(), z);
      out += fmt::format("  %w = quantized_decomposed.dequantize_per_channel(%e, %s, %z, 0, {}, {}, i8)\n", min, max);
    } else {
      out += dequantize_line("w", "e", parameters(0.0625, zero, min, max));
    }
    out += fake_quantized("d", "x", "q", parameters(0.03125, 3));
    out += fmt::format("  %l = {}\n", function);
    return out + fake_quantized("o", "l", "p", parameters(0.0625, -5)) + "  return %o\n}";
  }
};

Pipeline compiled(const Model& model, const std::string& backend) {
  return std::move(Pipeline::from_text(model.text()).backend(backend));
}

void expect_op(const Model& model, const std::string& backend, const char* op) {
  SCOPED_TRACE(backend);
  Pipeline p = compiled(model, backend);
  p.at(Stage::lower).check_count(op, 1).check_not("aten.linear").check_not("quantized_decomposed");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

constexpr char kPacked[] = "wick_cortex_m.linear_int4", kWhole[] = "cortex_m.quantized_linear",
               kPerChannel[] = "wick_cortex_m.linear_per_channel";

TEST(CortexMCompileInt4, WeightsOfALinearLayerArePacked) {
  for (const bool per_channel : {false, true}) {
    Model model;
    model.per_channel = per_channel;
    for (const char* cpu : {"m55", "m4", "m3"}) expect_op(model, backend_for(cpu), kPacked);
    expect_op(model, backend_for("m55", ",memory=tight"), kPacked);
    model.min = -7;
    model.least = -7;
    expect_op(model, "cortex-m", kPacked);
  }
}

// kernel_sum replaces the bias. If there is no bias, the kernel computes the sums in each run.
TEST(CortexMCompileInt4, TightMemoryStoresNoSumsWithoutABias) {
  for (const char* memory : {"", ",memory=tight"}) {
    for (const char* function : {"aten.linear(%d, %w, %b)", "aten.linear(%d, %w)"}) {
      const bool stored = *memory == 0 || std::string_view(function).find("%b") != std::string_view::npos;
      Pipeline p = std::move(Pipeline::from_text(Model().text(function)).backend(backend_for("m55", memory)));
      p.at(Stage::lower).check_count(kPacked, 1);
      p.run_and_compare(one_step());
      EXPECT_EQ(p.failures(), "");
      EXPECT_EQ(p.dump(Stage::lower).find("%kernel_sum") != std::string::npos, stored) << memory << function;
    }
  }
}

TEST(CortexMCompileInt4, TheyMayHaveAZeroPoint) {
  Model model;
  for (const int zero : {-8, 3, 7}) {
    model.zero = zero;
    for (const char* cpu : {"m55", "m4", "m3"}) expect_op(model, backend_for(cpu), kPacked);
  }
}

TEST(CortexMCompileInt4, ARangeOrAnElementBeyondFourBitsKeepsThemInt8) {
  Model model;
  model.max = 8;
  expect_op(model, "cortex-m", kWhole);
  model.max = 7;
  model.min = -9;
  expect_op(model, "cortex-m", kWhole);
  model.min = -8;
  model.greatest = 8;
  expect_op(model, "cortex-m", kWhole);
  model.greatest = 7;
  model.least = -9;
  expect_op(model, "cortex-m", kWhole);
}

// Packed rows are whole words, and one scale becomes two tensors with one element each: 8 bytes more.
TEST(CortexMCompileInt4, TheyArePackedWhereThatTakesLessMemory) {
  Model model;
  model.outputs = 3;
  model.inputs = 6;  // 3 * 4 + 8 bytes beside 18
  expect_op(model, "cortex-m", kWhole);
  model.inputs = 7;  // .. beside 21
  expect_op(model, "cortex-m", kPacked);
  model.per_channel = true;
  model.inputs = 4;
  expect_op(model, "cortex-m", kPerChannel);
  model.inputs = 5;
  expect_op(model, "cortex-m", kPacked);
}

TEST(CortexMCompileInt4, ProfileStockKeepsThemInt8AndSaysSo) {
  Pipeline p = compiled({}, "cortex-m");
  p.options().profile = compiler::Profile::stock;
  p.at(Stage::lower).check_count(kWhole, 1).check_not(kPacked);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMCompileInt4, PackedWeightsAreHalfAsManyBytes) {
  const std::string text = compiled({}, "cortex-m").dump(Stage::lower);
  EXPECT_NE(text.find("const %weights: u8[3, 12]"), std::string::npos) << text;
  EXPECT_EQ(text.find("i8[3, 19]"), std::string::npos) << text;
}

// --- convolutions ---

struct Image {
  int64_t inputs = 8, outputs = 6, kernel = 3, groups = 1, min = -8;
  std::string sizes = "2, 8, 7, 6", more = "[1, 1], [1, 1], [1, 1]", x = parameters(0.03125, 3);
  bool transposed = false;
  double first_bias = 0;  // with the first output's weights negative, if it is not 0
  std::string text() const {
    Random random(6);
    const int64_t scales = transposed ? outputs / groups : outputs;
    std::vector<int64_t> w, z(static_cast<size_t>(scales));
    for (int64_t i = 0; i < outputs * inputs / groups * kernel * kernel; ++i) w.push_back(random.in(min, 7));
    if (first_bias != 0) std::fill_n(w.begin(), inputs / groups * kernel * kernel, -4);
    std::vector<double> b, s;
    for (int64_t n = 0; n < outputs; ++n) {
      b.push_back(n == 0 ? first_bias : 0.25 * static_cast<double>(n));
      if (n < scales) s.push_back(0.0625 + 0.015625 * static_cast<double>(n));
    }
    return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) +
           constant_line("e",
                         fmt::format("i8[{}, {}, {}, {}]", transposed ? inputs : outputs,
                                     transposed ? scales : inputs / groups, kernel, kernel)
                             .c_str(),
                         w) +
           constant_line("b", fmt::format("f32[{}]", outputs).c_str(), b) +
           constant_line("s", fmt::format("f64[{}]", scales).c_str(), s) +
           constant_line("z", fmt::format("i64[{}]", scales).c_str(), z) +
           fmt::format("  %w = quantized_decomposed.dequantize_per_channel(%e, %s, %z, {}, {}, 7, i8)\n",
                       transposed ? 1 : 0, min) +
           fake_quantized("d", "x", "q", x) +
           fmt::format("  %c = aten.convolution(%d, %w, %b, {}, {}, [0, 0], {})\n", more, transposed, groups) +
           fake_quantized("o", "c", "p", parameters(0.25, -5)) + "  return %o\n}";
  }
};

void expect_convolution(const Image& image, const char* op, bool stock = false) {
  for (const char* cpu : {"m55", "m4", "m3"}) {
    SCOPED_TRACE(cpu + image.text());
    Pipeline p = std::move(Pipeline::from_text(image.text()).backend(backend_for(cpu)));
    if (stock) p.options().profile = compiler::Profile::stock;
    p.at(Stage::lower).check_count(op, 1).check_outside({});
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(CortexMCompileInt4, ConvolutionsAreOfPackedWeights) {
  constexpr char kConvolution[] = "wick_cortex_m.conv2d_int4";
  expect_convolution({}, kConvolution);
  expect_convolution({.kernel = 1, .more = "[1, 1], [0, 0], [1, 1]"}, kConvolution);
  expect_convolution({.kernel = 1, .more = "[2, 2], [0, 0], [1, 1]"}, kConvolution);
  expect_convolution({.kernel = 2, .groups = 2, .more = "[2, 1], [1, 0], [1, 2]"}, kConvolution);
  expect_convolution({.more = "[1, 1], [3, 3], [3, 3]"}, kConvolution);
  expect_convolution({.outputs = 70, .kernel = 1, .more = "[1, 1], [0, 0], [1, 1]"}, kConvolution);
}

// Each phase has a bias, a multiplier and a shift, and taps of zeros if the stride does not divide the kernel.
TEST(CortexMCompileInt4, TransposedConvolutionsArePackedByPhasesWhereThatTakesLessMemory) {
  constexpr char kConvolution[] = "wick_cortex_m.conv2d_int4", kTransposed[] = "cortex_m.quantized_transpose_conv2d";
  const std::string sizes = "2, 32, 5, 4", by_two = "[2, 2], [0, 0], [1, 1]", padded = "[2, 2], [1, 1], [1, 1]";
  expect_convolution({.inputs = 32, .kernel = 2, .sizes = sizes, .more = by_two, .transposed = true}, kConvolution);
  expect_convolution({.inputs = 32, .kernel = 4, .sizes = sizes, .more = padded, .transposed = true}, kConvolution);
  expect_convolution({.transposed = true}, kConvolution);
  expect_convolution({.kernel = 2, .more = by_two, .transposed = true}, kTransposed);
  expect_convolution({.inputs = 32, .sizes = sizes, .more = padded, .transposed = true}, kTransposed);
}

// A tap has a row of weights in whole words: three channels take as much as int8, four take less.
TEST(CortexMCompileInt4, DepthwiseConvolutionsAreOfPackedWeights) {
  constexpr char kDepthwise[] = "wick_cortex_m.depthwise_conv2d_int4", kBytes[] = "cortex_m.quantized_depthwise_conv2d";
  expect_convolution({.outputs = 8, .groups = 8}, kDepthwise);
  expect_convolution({.outputs = 24, .groups = 8, .more = "[2, 2], [1, 0], [1, 1]"}, kDepthwise);
  expect_convolution({.outputs = 8, .kernel = 2, .groups = 8, .more = "[1, 2], [1, 1], [2, 2]"}, kDepthwise);
  expect_convolution({.inputs = 5, .outputs = 5, .groups = 5, .sizes = "2, 5, 7, 6"}, kDepthwise);
  expect_convolution({.inputs = 4, .outputs = 4, .groups = 4, .sizes = "2, 4, 7, 6"}, kBytes);
  expect_convolution({.outputs = 8, .groups = 8, .min = -9}, kBytes);
  expect_convolution({.outputs = 8, .groups = 8}, kBytes, true);
}

// The four channels of two phases fill one packed word; no kernel computes the convolution as a whole.
TEST(CortexMCompileInt4, TransposedDepthwiseConvolutionsArePackedByPhases) {
  for (const char* window : {"[1, 2], [1, 1], [1, 1]", "[2, 2], [0, 0], [1, 1]"}) {
    const Image image = {
        .inputs = 4, .outputs = 4, .groups = 4, .sizes = "2, 4, 5, 4", .more = window, .transposed = true};
    expect_convolution(image, "wick_cortex_m.depthwise_conv2d_int4");
  }
}

TEST(CortexMCompileInt4, PackedDepthwiseWeightsAreHalfAsManyBytesInTheSameScratch) {
  for (const char* backend : {"cortex-m", "cortex-m:memory=tight", "cortex-m:cpu=cortex-m4"}) {
    const auto text = [&](int64_t min) {
      const Image image = {.outputs = 8, .groups = 8, .min = min, .sizes = "1, 8, 7, 6"};
      return std::move(Pipeline::from_text(image.text()).backend(backend)).dump(Stage::lower);
    };
    EXPECT_NE(text(-8).find("u8[1, 3, 3, 4]"), std::string::npos);
    const std::string scratch =
        backend == std::string("cortex-m:cpu=cortex-m4") ? "wick.scratch([0]" : "wick.scratch([4464]";
    EXPECT_NE(text(-8).find(scratch), std::string::npos) << text(-8);
    EXPECT_NE(text(-9).find(scratch), std::string::npos) << text(-9);
  }
}

// bias + zero point * sum of the weights needs more than 32 bits; the sums that the kernel computes do not.
TEST(CortexMCompileInt4, ALargeBiasBesideANarrowInput) {
  expect_convolution({.x = parameters(0.03125, 100, 100, 110), .first_bias = 4194296}, "wick_cortex_m.conv2d_int4");
}

TEST(CortexMCompileInt4, OtherConvolutionsStayInEightBits) {
  expect_convolution({.min = -9}, "cortex_m.quantized_conv2d");
  expect_convolution({.inputs = 3, .kernel = 1, .sizes = "2, 3, 7, 6", .more = "[1, 1], [0, 0], [1, 1]"},
                     "cortex_m.quantized_conv2d");
  expect_convolution(
      {.inputs = 1, .kernel = 2, .sizes = "2, 1, 7, 6", .more = "[2, 2], [0, 0], [1, 1]", .transposed = true},
      "cortex_m.quantized_transpose_conv2d");
  expect_convolution({}, "cortex_m.quantized_conv2d", true);
}

// Unpacking is profitable for many positions, and needs scratch.
TEST(CortexMCompileInt4, MveUnpacksWeightsUnlessMemoryIsTightOrPositionsAreFew) {
  const auto text = [](const Image& image, const char* backend) {
    return std::move(Pipeline::from_text(image.text()).backend(backend)).dump(Stage::lower);
  };
  const Image many, few = {.sizes = "1, 8, 2, 2"};
  EXPECT_NE(text(many, "cortex-m").find("wick.scratch([752], u8)"), std::string::npos) << "windows, and six rows of 72";
  EXPECT_EQ(text(many, "cortex-m").find("kernel_sum"), std::string::npos);
  for (const std::string& packed : {text(many, "cortex-m:memory=tight"), text(few, "cortex-m")}) {
    EXPECT_NE(packed.find("wick.scratch([320], u8)"), std::string::npos) << packed;
    EXPECT_NE(packed.find("kernel_sum"), std::string::npos);
  }
}

}  // namespace
}  // namespace wick::cortex_m::int4_test
