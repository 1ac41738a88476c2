// Linear and conversions on int16: which forms of the bias they get, what is refused, and results against the quantized
// graph on portable kernels.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::int16_linear_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr const char* kCpus[] = {"m55", "m4", "m3"};

struct Model {
  int64_t inputs = 13, outputs = 4;
  double x = 0x1p-15, y = 0x1p-13, weight = 0x1p-7;
  int x_zero = 0, y_zero = 0, weight_zero = 0;
  bool per_channel = false;
  std::vector<int64_t> weights;  // none: random ones
  std::string bias, activation;

  std::string text() const {
    Random random(5);
    std::vector<int64_t> w = weights;
    if (w.empty()) w = random_int8(random, inputs * outputs);
    std::string out = fmt::format("graph f(%x: f32[5, {}]) {{\n", inputs);
    out += constant_line("e", fmt::format("i8[{}, {}]", outputs, inputs).c_str(), w);
    if (per_channel) {
      std::vector<double> scales;
      for (int64_t n = 0; n < outputs; ++n) scales.push_back(weight * (1 + 0.25 * static_cast<double>(n)));
      out += constant_line("s", fmt::format("f64[{}]", outputs).c_str(), scales);
      out += constant_line("z", fmt::format("i64[{}]", outputs).c_str(), std::vector<int64_t>(scales.size()));
      out += "  %w = quantized_decomposed.dequantize_per_channel(%e, %s, %z, 0, -127, 127, i8)\n";
    } else {
      out += dequantize_line("w", "e", parameters(weight, weight_zero));
    }
    const std::string px = parameters(x, x_zero, -32767, 32767), py = parameters(y, y_zero, -32767, 32767);
    out += bias + quantize_line("q", "x", px, "i16") + dequantize_line("d", "q", px, "i16");
    out += fmt::format("  %l = aten.linear(%d, %w, {})\n", bias.empty() ? "none" : "%b");
    if (!activation.empty()) out += fmt::format("  %a = {}\n", activation);
    const char* last = activation.empty() ? "l" : "a";
    return out + quantize_line("p", last, py, "i16") + dequantize_line("o", "p", py, "i16") + "  return %o\n}";
  }
};

Pipeline compiled(const Model& model, const std::string& backend) {
  return std::move(Pipeline::from_text(model.text()).backend(backend));
}

void expect_runs(const Model& model, const std::string& backend) {
  SCOPED_TRACE(backend);
  Pipeline p = compiled(model, backend);
  p.at(Stage::lower).check_count("wick_cortex_m.linear_int16", 1).check_not("aten.linear");
  p.check_not("quantized_decomposed");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

std::string linear_line(const Model& model) {
  const std::string text = compiled(model, "cortex-m").dump(Stage::lower);
  const size_t at = text.find("= wick_cortex_m.linear_int16(");
  return at == std::string::npos ? text : text.substr(at + 2, text.find('\n', at) - at - 2);
}

std::string refusal(const Model& model, const std::string& backend = "cortex-m") {
  Pipeline p = compiled(model, backend);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  const std::vector<std::string> outside = p.outside();
  return outside.empty() ? "" : outside[0];
}

std::string float_bias(const std::vector<double>& numbers) {
  return constant_line("b", fmt::format("f32[{}]", numbers.size()).c_str(), numbers);
}

TEST(CortexMCompileInt16, LinearComputesOnIntegers) {
  for (const bool per_channel : {false, true}) {
    for (const std::string& bias : {std::string(), float_bias({0.5, -0.25, 0.001, 0})}) {
      Model model;
      model.per_channel = per_channel;
      model.bias = bias;
      for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
    }
  }
}

TEST(CortexMCompileInt16, ActivationsNarrowTheRange) {
  Model model;
  model.activation = "aten.relu(%l)";
  for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
  EXPECT_NE(linear_line(model).find(", 0, 32767)"), std::string::npos) << linear_line(model);
  model.activation = "aten.hardtanh(%l, -0.5, 1.0)";
  EXPECT_NE(linear_line(model).find(", -4096, 8192)"), std::string::npos) << linear_line(model);
}

// The sum of an output can reach |w| * 32767 + |bias|, which must stay below 2^31.
TEST(CortexMCompileInt16, SumsThatExceed32BitsHaveABiasOfInt64) {
  Model model;
  model.outputs = 1;
  model.inputs = 520;
  model.weights.assign(520, 127);
  model.weights[0] = model.weights[1] = 0;
  for (size_t i = 516; i < 520; ++i) model.weights[i] = 0;
  model.weights[2] = 67;  // 513 * 127 + 67 = 65218; * 32767 = 2136998206 < 2^31
  model.y = 0x1p-6;
  EXPECT_NE(linear_line(model).find("(%quantize_per_tensor, %e, none, %multipliers"), std::string::npos)
      << linear_line(model);
  expect_runs(model, "cortex-m");
  for (size_t i = 516; i < 520; ++i) model.weights[i] = 127;
  EXPECT_NE(linear_line(model).find("(%quantize_per_tensor, %e, %bias, %multipliers"), std::string::npos)
      << linear_line(model);
  EXPECT_NE(compiled(model, "cortex-m").dump(Stage::lower).find("const %bias: i64[1]"), std::string::npos);
  for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
}

TEST(CortexMCompileInt16, ABiasMayHaveMoreThan32Bits) {
  Model model;
  model.outputs = 2;
  model.y = 0x1p-10;
  model.bias = float_bias({500.5, -0.5});  // 500.5 * 2^22 steps
  for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
  EXPECT_NE(linear_line(model).find("%bias"), std::string::npos);
  model.bias = float_bias({40000000, 0});  // * 2^22 > 2^47
  EXPECT_NE(refusal(model).find("its bias does not fit 48 bits"), std::string::npos) << refusal(model);
}

TEST(CortexMCompileInt16, OnlyWeightsMayHaveZeroPoints) {
  Model model;
  model.x_zero = 1;
  EXPECT_NE(refusal(model).find("the zero point of its input, which is int16, is not 0"), std::string::npos);
  model.x_zero = 0;
  model.y_zero = -1;
  EXPECT_NE(refusal(model).find("the zero point of its result, which is int16, is not 0"), std::string::npos);
  model.y_zero = 0;
  for (const int zero : {1, -128, 127}) {
    model.weight_zero = zero;
    for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
  }
}

TEST(CortexMCompileInt16, ScalesThatAreTooFarApartStayOutside) {
  Model model;
  model.x = 0x1p-2;
  model.weight = 1;
  model.y = 0x1p-15;  // 2^13 has the shift 14
  EXPECT_EQ(refusal(model), "");
  model.y = 0x1p-16;
  EXPECT_NE(refusal(model).find("too far from those of input and weights"), std::string::npos);
}

TEST(CortexMCompileInt16, ProfileStockLeavesThemToPortableKernels) {
  Pipeline p = compiled({}, "cortex-m");
  p.options().profile = compiler::Profile::stock;
  p.at(Stage::partition);
  ASSERT_EQ(p.outside().size(), 1u);
  EXPECT_NE(p.outside()[0].find("stock has no operators on int16"), std::string::npos) << p.outside()[0];
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

std::string conversion_text(double from, double to, int zero) {
  const std::string wide = parameters(from, 0, -32767, 32767), narrow = parameters(to, zero);
  return "graph f(%x: f32[4, 9]) {\n" + quantize_line("a", "x", wide, "i16") + dequantize_line("b", "a", wide, "i16") +
         quantize_line("c", "b", narrow) + dequantize_line("d", "c", narrow) + quantize_line("e", "d", wide, "i16") +
         dequantize_line("o", "e", wide, "i16") + "  return %o\n}";
}

TEST(CortexMCompileInt16, ElementsGoToInt8AndBack) {
  for (const double to : {0.0077, 0.0123, 0.37}) {
    Pipeline p = std::move(Pipeline::from_text(conversion_text(0x1p-15, to, 3)).backend("cortex-m"));
    p.at(Stage::lower).check_count("wick_cortex_m.requantize", 2).check_count("cortex_m.quantize_per_tensor", 1);
    p.check_count("cortex_m.dequantize_per_tensor", 1).check_not("quantized_decomposed");
    p.run_and_compare({.absolute = to * 1.001, .relative = 0, .of_largest = 0});
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(CortexMCompileInt16, DataMovementBringsOperandsToOneScale) {
  const std::string a = parameters(0x1p-15, 0, -32767, 32767), b = parameters(0x1p-14, 0, -32767, 32767);
  const std::string text = "graph f(%x: f32[2, 3], %y: f32[2, 3]) {\n" + quantize_line("a", "x", a, "i16") +
                           dequantize_line("b", "a", a, "i16") + quantize_line("c", "y", b, "i16") +
                           dequantize_line("d", "c", b, "i16") + "  %e = aten.cat([%b, %d], 1)\n" +
                           "  %f = aten.permute(%e, [1, 0])\n  %g = aten.constant_pad_nd(%f, [1, 1], 0.25)\n" +
                           quantize_line("h", "g", b, "i16") + dequantize_line("i", "h", b, "i16") + "  return %i\n}";
  for (const char* cpu : kCpus) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_not("quantized_decomposed").check_count("cortex_m.dequantize_per_tensor", 1);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
  }
}

}  // namespace
}  // namespace wick::cortex_m::int16_linear_test
