// Convolutions from quantize and dequantize nodes to kernels: random geometry against portable kernels, which operator
// and padding they get, and what is refused.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::convolution_test {
namespace {

using testing::Pipeline;
using testing::Stage;

struct Model {
  std::vector<int64_t> input = {1, 4, 5, 6};  // N, C, and one or two more
  int64_t outputs = 3, groups = 1;
  std::vector<int64_t> kernel = {3, 3}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1}, output_padding = {0, 0};
  bool transposed = false, per_channel = true;
  std::string bias = "none";  // or "%f", "%b"
  std::string x = parameters(0.0625, 3), y = parameters(0.25, -7), filter_zeros = "", before = "", activation = "",
              result = "c";
  int64_t channel_dim = -1;  // none: that of the outputs
  std::string bias_scale = "0.00048828125";
  uint64_t seed = 1;

  static std::string list(const std::vector<int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }
  std::string text() const {
    Random random(seed);
    std::vector<int64_t> sizes = transposed ? std::vector<int64_t>{input[1], outputs / groups}
                                            : std::vector<int64_t>{outputs, input[1] / groups};
    sizes.insert(sizes.end(), kernel.begin(), kernel.end());
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    const int64_t dim = channel_dim >= 0 ? channel_dim : transposed ? 1 : 0;
    std::vector<double> scales;
    for (int64_t i = 0; i < sizes[static_cast<size_t>(dim)]; ++i)
      scales.push_back(0.0078125 / static_cast<double>(1 + i % 3));
    std::string out = fmt::format("graph f(%x: f32[{}]) {{\n", fmt::join(input, ", "));
    out += constant_line("e", fmt::format("i8{}", list(sizes)).c_str(), random_int8(random, count));
    const std::string zeros =
        filter_zeros.empty() ? fmt::format("{}", fmt::join(std::vector<int>(scales.size(), 0), ", ")) : filter_zeros;
    if (per_channel) {
      out += constant_line("s", fmt::format("f64[{}]", scales.size()).c_str(), scales);
      out += fmt::format("  const %z: i64[{}] = [{}]\n", scales.size(), zeros);
      out += fmt::format("  %w = quantized_decomposed.dequantize_per_channel(%e, %s, %z, {}, -128, 127, i8)\n", dim);
    } else {
      out += dequantize_line("w", "e", parameters(0.0078125, filter_zeros.empty() ? 0 : 1));
    }
    std::vector<double> floats;
    std::vector<int64_t> whole;
    for (int64_t o = 0; o < outputs; ++o)
      floats.push_back(0.25 * static_cast<double>(o % 5) - 0.5), whole.push_back(700 * (o % 3) - 600);
    if (bias == "%f") out += constant_line("f", fmt::format("f32[{}]", outputs).c_str(), floats);
    if (bias == "%b") {
      out += constant_line("i", fmt::format("i32[{}]", outputs).c_str(), whole);
      out += dequantize_line("b", "i", bias_scale + ", 0, -2147483647, 2147483647", "i32");
    }
    if (bias == "%r") out += "  %r = aten.sum.dim_IntList(%x, [0, 2, 3])\n";
    out += fake_quantized("d", "x", "q", x) + before;
    out += fmt::format("  %c = aten.convolution(%{}, %w, {}, {}, {}, {}, {}, {}, {})\n", before.empty() ? "d" : "p",
                       bias, list(stride), list(padding), list(dilation), transposed, list(output_padding), groups);
    out += activation + fake_quantized("o", result.c_str(), "u", y);
    return out + "  return %o\n}";
  }
};

Pipeline compiled(const Model& model, const char* cpu = "cortex-m55") {
  return std::move(Pipeline::from_text(model.text()).backend(backend_for(cpu)));
}

void expect_integer(const Model& model, const char* cpu = "cortex-m55") {
  Pipeline p = compiled(model, cpu);
  p.at(Stage::lower).check_outside({}).check_not("aten.convolution");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "") << model.text();
}

void expect_refused(const Model& model, const std::string& reason) {
  Pipeline p = compiled(model);
  p.at(Stage::lower);
  std::string outside;
  for (const std::string& line : p.outside()) outside += line + "\n";
  EXPECT_NE(outside.find(reason), std::string::npos) << outside;
}

// A random geometry whose result is not empty.
Model random_model(uint64_t seed, bool transposed) {
  Random random(seed);
  const auto in = [&](int64_t low, int64_t high) { return random.in(low, high); };
  Model m;
  m.seed = seed;
  m.transposed = transposed;
  const size_t spatial = in(0, 4) == 0 ? 1 : 2;
  m.groups = in(0, 2) == 0 ? in(2, 3) : 1;
  const int64_t group_inputs = in(0, 2) == 0 ? 1 : in(1, in(0, 9) == 0 ? 20 : 5);
  m.input = {in(1, 2), m.groups * group_inputs};
  m.outputs = m.groups * in(1, 4);
  m.kernel.clear(), m.stride.clear(), m.padding.clear(), m.dilation.clear(), m.output_padding.clear();
  for (size_t axis = 0; axis < spatial; ++axis) {
    const int64_t kernel = in(1, 4), stride = in(1, 3), dilation = in(0, 2) ? 1 : 2;
    const int64_t span = dilation * (kernel - 1) + 1, padding = in(0, span - 1);
    m.kernel.push_back(kernel), m.stride.push_back(stride), m.dilation.push_back(dilation);
    m.padding.push_back(in(0, 1) ? padding : 0);
    m.output_padding.push_back(transposed && in(0, 1) ? in(0, std::max(stride, dilation) - 1) : 0);
    int64_t least = transposed ? 1 : std::max<int64_t>(1, span - 2 * m.padding.back());
    while (transposed && (least - 1) * stride - 2 * m.padding.back() + span + m.output_padding.back() < 1) ++least;
    m.input.push_back(least + in(0, 6));
  }
  static constexpr const char* kBiases[] = {"none", "%f", "%b"};
  m.bias = kBiases[in(0, 2)];
  m.per_channel = in(0, 1) != 0;
  // Wide enough that few results saturate.
  m.y = parameters(0.0625 * static_cast<double>(1 + group_inputs), static_cast<int>(in(-40, 40)));
  return m;
}

TEST(CortexMConvolution, AnyGeometryIsWithinOneStep) {
  for (uint64_t seed = 1; seed <= 120; ++seed) expect_integer(random_model(seed, false));
}

TEST(CortexMConvolution, AnyTransposedGeometryIsWithinOneStep) {
  for (uint64_t seed = 1; seed <= 160; ++seed) expect_integer(random_model(seed, true));
}

TEST(CortexMConvolution, EveryInstructionSetRunsIt) {
  for (const char* cpu : {"cortex-m4", "cortex-m0"}) {
    for (uint64_t seed = 200; seed < 215; ++seed) {
      expect_integer(random_model(seed, false), cpu);
      expect_integer(random_model(seed, true), cpu);
    }
  }
}

size_t count_of(const Model& model, const char* op) {
  Pipeline p = compiled(model);
  const size_t count = p.count(op, Stage::lower);
  EXPECT_EQ(p.failures(), "");
  return count;
}

TEST(CortexMConvolution, OneInputChannelIsAConvolutionAndGroupsOfOneAreDepthwise) {
  EXPECT_EQ(count_of({.input = {1, 1, 6, 6}}, "cortex_m.quantized_conv2d"), 1u);
  EXPECT_EQ(count_of({.input = {2, 3, 6, 6}, .outputs = 6, .groups = 3, .dilation = {2, 2}},
                     "cortex_m.quantized_depthwise_conv2d"),
            1u);
  EXPECT_EQ(count_of({.outputs = 4, .groups = 2}, "cortex_m.quantized_conv2d"), 1u);
}

TEST(CortexMConvolution, OnlyTransposedOnesThatStocksKernelComputesAreLeftToIt) {
  const char* op = "cortex_m.quantized_transpose_conv2d";
  EXPECT_EQ(count_of({.stride = {2, 2}, .padding = {1, 1}, .transposed = true}, op), 1u);
  EXPECT_EQ(count_of({.stride = {2, 3}, .padding = {1, 1}, .transposed = true}, op), 0u);  // beyond the kernel
  EXPECT_EQ(count_of({.stride = {2, 2}, .output_padding = {1, 0}, .transposed = true}, op), 0u);
  EXPECT_EQ(count_of({.dilation = {2, 1}, .transposed = true}, op), 0u);
  EXPECT_EQ(count_of({.outputs = 4, .groups = 2, .transposed = true}, op), 0u);
}

TEST(CortexMConvolution, PhasesOfATransposedOneAreWovenByCopiesOfRuns) {
  const Model model{.stride = {2, 2}, .output_padding = {1, 1}, .transposed = true};
  EXPECT_EQ(count_of(model, "cortex_m.transpose"), 3u) << "of the input, the phases and the result";
  EXPECT_EQ(count_of(model, "dim_order_ops._to_dim_order_copy"), 0u);
}

std::string pad_line(const char* pads) { return fmt::format("  %p = aten.constant_pad_nd(%d, [{}], 0.0)\n", pads); }

TEST(CortexMConvolution, TakesOverThePaddingBeforeIt) {
  EXPECT_EQ(count_of({.before = pad_line("1, 1, 2, 2")}, "cortex_m.pad"), 0u);
  // No window reaches the end: another row of padding there changes nothing.
  EXPECT_EQ(count_of({.input = {1, 4, 6, 6}, .stride = {2, 2}, .before = pad_line("1, 0, 1, 0")}, "cortex_m.pad"), 0u);
  const Model ends{.input = {1, 4, 6, 6}, .stride = {2, 2}, .before = pad_line("0, 1, 0, 1")};
  EXPECT_EQ(count_of(ends, "cortex_m.pad"), 0u);
  EXPECT_EQ(count_of(ends, "wick_cortex_m.conv2d"), 1u);
  Pipeline stock = compiled(ends);
  stock.options().profile = compiler::Profile::stock;
  stock.at(Stage::lower).check_count("cortex_m.pad", 1).check_count("cortex_m.quantized_conv2d", 1);
  EXPECT_EQ(stock.failures(), "");
  for (const char* pads : {"1, 1, 2, 2", "1, 0, 1, 0", "0, 1, 0, 1", "2, 1"}) {
    expect_integer({.stride = {2, 1}, .before = pad_line(pads)});
    expect_integer({.input = {1, 4, 6, 7}, .stride = {2, 2}, .padding = {1, 0}, .before = pad_line(pads)});
  }
}

TEST(CortexMConvolution, PaddingOfOneEndIsPartOfIt) {
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3"}) {
    for (const char* pads : {"0, 1, 0, 2", "2, 0, 1, 0", "0, 1", "1, 2, 0, 1"}) {
      expect_integer({.input = {2, 4, 7, 6}, .outputs = 4, .groups = 4, .stride = {2, 2}, .before = pad_line(pads)},
                     cpu);
      expect_integer({.input = {1, 4, 7, 6}, .outputs = 6, .groups = 2, .before = pad_line(pads)}, cpu);
      expect_integer({.input = {1, 3, 7, 6}, .kernel = {2, 3}, .filter_zeros = "1, -2, 3", .before = pad_line(pads)},
                     cpu);
    }
    const Model row{.input = {1, 3, 9},
                    .kernel = {3},
                    .stride = {1},
                    .padding = {0},
                    .dilation = {2},
                    .output_padding = {0},
                    .before = pad_line("0, 2")};
    expect_integer(row, cpu);
    EXPECT_EQ(count_of(row, "cortex_m.pad"), 0u);
  }
  // Padding as wide as the kernel stays.
  EXPECT_EQ(count_of({.before = pad_line("0, 3, 0, 0")}, "cortex_m.pad"), 1u);
}

TEST(CortexMConvolution, ActivationsBecomeBounds) {
  for (const char* line : {"aten.relu(%c)", "aten.hardtanh(%c, -0.5, 0.75)", "aten.hardsigmoid(%c)"}) {
    Model m{
        .bias = "%f", .y = parameters(0.0078125, -64), .activation = fmt::format("  %a = {}\n", line), .result = "a"};
    expect_integer(m);
    EXPECT_EQ(count_of(m, "cortex_m.quantized_activation"), 0u);
    EXPECT_EQ(count_of(m, "cortex_m.minimum") + count_of(m, "cortex_m.maximum"), 0u);
  }
}

// Weights of nine bits are sums of two or three of eight bits, on channels that are repeated as often.
TEST(CortexMConvolution, AZeroPointForEachOutputIsExact) {
  Random random(17);
  for (uint64_t seed = 500; seed < 560; ++seed) {
    Model m = random_model(seed, seed % 3 == 0);
    std::vector<int64_t> zeros;
    for (int64_t i = m.transposed ? m.outputs / m.groups : m.outputs; i > 0; --i)
      zeros.push_back(random.pick<int64_t>({0, -128, 127, random.in(-128, 127)}));
    m.filter_zeros = fmt::format("{}", fmt::join(zeros, ", "));
    expect_integer(m, seed % 2 == 0 ? "cortex-m55" : "cortex-m4");
  }
  expect_integer({.per_channel = false, .filter_zeros = "1"});
}

TEST(CortexMConvolution, SaysWhatItDoesNotTake) {
  expect_refused({.filter_zeros = "0, 128, 0"}, "a zero point of its weights is outside int8");
  expect_refused({.channel_dim = 1}, "its weights do not have one scale, or one for each output");
  expect_refused({.outputs = 4, .bias = "%r"}, "its bias is computed");
  expect_refused({.bias = "%b", .bias_scale = "1.0e9"}, "its bias does not fit 32 bits");
  expect_refused({.y = parameters(1e-20, 0)}, "the scale of its result is too far");
  expect_refused({.input = {1, 60000, 1, 1}, .outputs = 1, .kernel = {1, 1}, .y = parameters(1e-4, 0)},
                 "its sums could exceed 32 bits");
  expect_integer({.input = {1, 6000, 1, 1}, .outputs = 1, .kernel = {1, 1}, .y = parameters(16, 0)});
  expect_refused({.input = {1, 2, 3, 3, 3},
                  .kernel = {1, 1, 1},
                  .stride = {1, 1, 1},
                  .padding = {0, 0, 0},
                  .dilation = {1, 1, 1},
                  .output_padding = {0, 0, 0}},
                 "its input has rank 5");
}

// The only copies are those of input and output.
TEST(CortexMCompileConvolution, CatsAndPadsBetweenConvolutionsNeedNoOtherLayout) {
  const std::string q = parameters(0.03125, -11);
  const std::string filter = constant_line("e", "i8[2, 4, 1, 1]", std::vector<int>{1, -2, 3, 4, 5, -6, 7, 8}) +
                             dequantize_line("w", "e", parameters(0.0625, 0));
  const std::string tail = ", none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)\n";
  const std::string images = "graph f(%x: f32[1, 4, 3, 5]) {\n" + filter + fake_quantized("d", "x", "g", q) +
                             "  %a = aten.convolution(%d, %w" + tail + fake_quantized("b", "a", "h", q) +
                             "  %c = aten.cat([%b, %b], 1)\n" + fake_quantized("i", "c", "j", q) +
                             "  %y = aten.convolution(%i, %w" + tail + fake_quantized("o", "y", "p", q) +
                             "  return %o\n}";
  const std::string rows =
      "graph f(%x: f32[1, 4, 9]) {\n" +
      constant_line("e", "i8[4, 4, 1]", std::vector<int>{1, -2, 3, 4, 5, -6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}) +
      dequantize_line("w", "e", parameters(0.0625, 0)) + fake_quantized("d", "x", "g", q) +
      "  %a = aten.constant_pad_nd(%d, [2, 0], 0.0)\n" + fake_quantized("b", "a", "h", q) +
      "  %c = aten.convolution(%b, %w, none, [1], [0], [1], false, [0], 1)\n" + fake_quantized("i", "c", "j", q) +
      "  %k = aten.constant_pad_nd(%i, [1, 0], 0.0)\n" + fake_quantized("l", "k", "m", q) +
      "  %y = aten.convolution(%l, %w, none, [1], [0], [1], false, [0], 1)\n" + fake_quantized("o", "y", "p", q) +
      "  return %o\n}";
  for (const std::string& text : {images, rows}) {
    SCOPED_TRACE(text);
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_count("cortex_m.transpose", 2).check_not("dim_order_ops._to_dim_order_copy");
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
  }
}

}  // namespace
}  // namespace wick::cortex_m::convolution_test

// One program serves all batch sizes up to a bound: kernels resize their results to the batch of their operands.
namespace wick::cortex_m::open_batch_test {
namespace {

using testing::Pipeline;
using testing::Stage;

// Weights of eight bits, or of four if `levels` is 15.
std::string weights(const char* name, const char* sizes, size_t count, int levels = 255) {
  std::vector<int> elements;
  for (size_t i = 0; i < count; ++i) elements.push_back(static_cast<int>(i * 37) % levels - levels / 2);
  return constant_line((std::string(name) + "e").c_str(), fmt::format("i8[{}]", sizes).c_str(), elements) +
         dequantize_line(name, (std::string(name) + "e").c_str(),
                         levels == 255 ? parameters(0.0078125, 0) : parameters(0.125, 0, -8, 7));
}

void expect_all_batches(const std::string& text, const std::vector<int32_t>& inner, double steps = 1.001) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"m55", "m4", "m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside({}).check_not("quantized_decomposed");
    for (const int32_t batch : {2, 1, 5, 3}) {
      std::vector<int32_t> sizes = {batch};
      sizes.insert(sizes.end(), inner.begin(), inner.end());
      size_t count = 1;
      for (const int32_t size : sizes) count *= static_cast<size_t>(size);
      std::vector<float> x(count);
      for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i * 29 % 101) * 0.05f - 2.4f;
      testing::Tolerance tolerance = one_step();
      tolerance.quantization_steps = steps;
      p.run_and_compare(tolerance, {float_input(sizes, x)});
    }
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

std::string of_images(const std::string& body, const Elements& from, const Elements& to) {
  return "graph f(%x: f32[s0, 4, 6, 5]) {\n  range s0: 1..5\n" + weights("w", "8, 4, 3, 3", 288) +
         weights("u", "4, 1, 3, 3", 36) + weights("t", "4, 4, 3, 3", 144) + weights("n", "4, 4, 3, 3", 144, 15) +
         "  const %j: i64[3] = [2, 0, 2]\n" + on_grid("b", "x", from, 2.5) + body + on_grid("o", "c", to, 8) +
         "  return %o\n}";
}

constexpr const char* kOfImages[] = {
    "aten.convolution(%b, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)",
    "aten.convolution(%b, %u, none, [2, 1], [1, 1], [1, 1], false, [0, 0], 4)",
    "aten.relu(%b)",
    "aten.clamp(%b, -0.5, 1.5)",
    "aten.sigmoid(%b)",
    "aten.add.Tensor(%b, %b)",
    "aten.mul.Tensor(%b, %b)",
    "aten.sub.Tensor(%b, %b, 2)",
    "aten.max_pool2d(%b, [2, 2], [2, 2])",
    "aten.max_pool2d(%b, [3, 3], [2, 2], [1, 1], [1, 1], true)",
    "aten.avg_pool2d(%b, [3, 3], [1, 1], [1, 1])",
    "aten._adaptive_avg_pool2d(%b, [1, 1])",
    "aten._adaptive_avg_pool2d(%b, [4, 2])",
    "aten.mean.dim(%b, [2, 3])",
    "aten.mean.dim(%b, [-1], true)",
    "aten.sum.dim_IntList(%b, [1])",
    "aten._softmax(%b, 1, false)",
    "aten._softmax(%b, 3, false)",
    "aten._log_softmax(%b, -1, false)",
    "aten.permute(%b, [0, 2, 3, 1])",
    "aten.cat([%b, %b], 1)",
    "aten.slice.Tensor(%b, 2, 1, 5)",
    "aten.view(%b, [s0, 120])",
    "aten.mul.Tensor(%b, %b2)",
    "aten.mean.dim(%b2, [2, 3])",
    "aten.convolution(%b3, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)",
    "aten.convolution(%b, %t, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 1)",
    "aten.convolution(%b, %t, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 2)",
    "aten.convolution(%b, %t, none, [2, 1], [1, 0], [2, 2], true, [1, 0], 1)",
    "aten.convolution(%b, %t, none, [1, 1], [1, 1], [1, 1], true, [0, 0], 1)",
    "aten.convolution(%b, %t, none, [3, 2], [0, 2], [1, 1], true, [0, 0], 2)",
    "aten.convolution(%b, %n, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 1)",
    "aten.convolution(%b, %n, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 2)",
    "aten.reflection_pad2d(%b, [1, 2, 0, 1])",
    "aten.replication_pad2d(%b, [1, 2, 0, 1])",
    "aten.amax(%b, [2])",
    "aten.amin(%b, [0], true)",
    "aten.index.Tensor(%b, [none, %j])",
    "aten.glu(%b, 1)",
    "aten.glu(%b, 2)",
    "aten.where.self(%g, %b, %b2)",
    "aten.where.self(%h, %b, %b2)",
    "aten.masked_fill.Scalar(%b, %g, -0.5)",
    "aten.masked_scatter(%b, %g, %b2)",
    "aten.slice_scatter(%b, %b2, 2, 0, 6)",
    "aten.select_scatter(%b, %e, 2, 1)",
    "aten.constant_pad_nd(%b, [1, 2, 0, 1])",
    "aten.constant_pad_nd(%b, [0, 1], 0.5)",
    "aten.constant_pad_nd(%b, [0, 0, 0, 0, 1, 1], -1.0)",
};

// A value in between that no quantizer annotated.
std::string between(std::string_view call) {
  const std::string_view numbers = "  %b2 = aten.sigmoid(%b)\n";
  std::string text;
  if (call.find("%b2") != std::string_view::npos || call.find("%h") != std::string_view::npos) text += numbers;
  if (call.find("%g") != std::string_view::npos) text += "  %g = aten.gt.Scalar(%b, 0.25)\n";
  if (call.find("%h") != std::string_view::npos)
    text += on_grid("k", "x", kNarrow, 3) + "  %h = aten.lt.Tensor(%b, %k)\n";
  if (call.find("%e") != std::string_view::npos) text += "  %e = aten.select.int(%b, 2, 3)\n";
  if (!text.empty()) return text;
  return call.find("%b3") != std::string_view::npos ? "  %b3 = aten.constant_pad_nd(%b, [1, 1, 1, 1])\n" : "";
}

TEST(CortexMOpenBatch, Operators) {
  for (const char* call : kOfImages) {
    for (const Elements& from : {kNarrow, kWide}) {
      for (const Elements& to : {kNarrow, kWide})
        expect_all_batches(of_images(fmt::format("{}  %c = {}\n", between(call), call), from, to), {4, 6, 5});
    }
  }
}

// Positions of elements; reads and writes at positions.
TEST(CortexMOpenBatch, Positions) {
  for (const char* call :
       {"%q, %r = aten.max.dim(%b, 1)\n  %c = aten.relu(%q)",
        "%q, %r = aten.min.dim(%b, 2, true)\n  %c = aten.relu(%q)", "%c, %r = aten.sort(%b, 1)",
        "%c, %r = aten.topk(%b, 2, 2)", "%c, %r = aten.kthvalue(%b, 2, 1)",
        "%r = aten.argmin(%b, 2)\n  %c = aten.embedding(%m, %r)",
        "%r = aten.argmax(%b, 1, true)\n  %c = aten.scatter.value(%b, 1, %r, 0.5)",
        "%r = aten.argmax(%b, 1, true)\n  %q = aten.slice.Tensor(%b, 1, 1, 2)\n  %c = aten.scatter.src(%b, 1, %r, %q)",
        "%r = aten.argmin(%b)\n  %q = aten.slice.Tensor(%b, 1, 1, 3)\n  %c = aten.index_put(%b, [none, %k], %q)"}) {
    for (const Elements& from : {kNarrow, kWide}) {
      const std::string text = "graph f(%x: f32[s0, 4, 6, 5]) {\n  range s0: 1..5\n  const %k: i64[2] = [3, 0]\n" +
                               weights("m", "6, 3", 18) + on_grid("b", "x", from, 2.5) + fmt::format("  {}\n", call) +
                               on_grid("o", "c", from, 2.5) + "  return %o, %r\n}";
      expect_all_batches(text, {4, 6, 5});
    }
  }
}

TEST(CortexMOpenBatch, Networks) {
  const std::string text =
      "graph f(%x: f32[s0, 4, 6, 5]) {\n  range s0: 1..5\n" + weights("w", "8, 4, 3, 3", 288) +
      weights("u", "8, 1, 3, 3", 72) + weights("v", "3, 8", 24) + on_grid("b", "x", kNarrow, 2.5) +
      "  %h = aten.convolution(%b, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)\n  %r = aten.relu(%h)\n" +
      on_grid("c", "r", kNarrow, 8) +
      "  %k = aten.convolution(%c, %u, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8)\n" +
      on_grid("e", "k", kNarrow, 8) + "  %a = aten.add.Tensor(%c, %e)\n" + on_grid("g", "a", kNarrow, 12) +
      "  %m = aten.max_pool2d(%g, [2, 2], [2, 2])\n" + on_grid("n", "m", kNarrow, 12) +
      "  %p = aten.mean.dim(%n, [2, 3], true)\n" + on_grid("s", "p", kNarrow, 12) + "  %t = aten.view(%s, [s0, 8])\n" +
      on_grid("z", "t", kNarrow, 12) + "  %l = aten.linear(%z, %v)\n" + on_grid("y", "l", kNarrow, 20) +
      "  %q = aten._softmax(%y, 1, false)\n" + fake_quantized("o", "q", "oe", parameters(0.00390625, -128)) +
      "  return %o\n}";
  expect_all_batches(text, {4, 6, 5}, 1.001);
}

// Rows whose size is the batch; profile stock.
TEST(CortexMOpenBatch, IsRefusedWhereKernelsNeedIt) {
  Pipeline p = std::move(
      Pipeline::from_text(of_images("  %c = aten._softmax(%b, 0, false)\n", kNarrow, kNarrow)).backend("cortex-m"));
  ASSERT_EQ(p.outside().size(), 1u);
  EXPECT_NE(p.outside()[0].find("known only at run time"), std::string::npos) << p.outside()[0];
  struct Refused {
    const char *call, *reason;
  };
  for (const Refused& each : {Refused{"aten.constant_pad_nd(%b, [0, 0, 0, 0, 0, 0, 1, 0])", "it pads its first size"},
                              Refused{"aten.glu(%b4, 0)", "the size that it halves is known only at run time"}}) {
    for (const Elements& from : {kNarrow, kWide}) {
      if (from.max == kWide.max && std::string_view(each.call).find("pad") != std::string_view::npos) continue;
      const std::string body = "  %b4 = aten.cat([%b, %b], 0)\n" + fmt::format("  %c = {}\n", each.call);
      Pipeline refused = std::move(Pipeline::from_text(of_images(body, from, from)).backend("cortex-m"));
      ASSERT_FALSE(refused.outside().empty()) << refused.failures();
      EXPECT_NE(refused.outside().back().find(each.reason), std::string::npos) << refused.outside().back();
    }
  }
  Pipeline stock = std::move(
      Pipeline::from_text(of_images("  %c = aten.add.Tensor(%b, %b)\n", kNarrow, kNarrow)).backend("cortex-m"));
  stock.options().profile = compiler::Profile::stock;
  ASSERT_FALSE(stock.outside().empty());
  EXPECT_NE(stock.outside()[0].find("known only at run time"), std::string::npos) << stock.outside()[0];
}

}  // namespace
}  // namespace wick::cortex_m::open_batch_test
