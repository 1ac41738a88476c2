// Linear from quantize and dequantize nodes to kernels: which arguments it gets on each instruction set, what is
// refused, and its results against the quantized graph on portable kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::linear_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr const char* kCpus[] = {"m55", "m4", "m3"};

struct Model {
  std::vector<int64_t> leading = {2};
  int64_t inputs = 3, outputs = 2;
  std::string x = parameters(0.0625, 3), y = parameters(0.125, -1);
  double weight_scale = 0.03125;
  int weight_zero = 0;
  std::vector<double> channel_scales;  // instead of one scale and zero point
  std::vector<int64_t> channel_zeros;  // zero points that belong to them
  std::vector<int64_t> weights;        // none: random ones
  std::string bias;                    // lines that define %b; "": no bias
  std::string activation;              // such as "aten.relu"

  std::string sizes(int64_t last) const { return fmt::format("{}, {}", fmt::join(leading, ", "), last); }
  std::string text() const {
    Random random(5);
    std::vector<int64_t> w = weights;
    if (w.empty()) w = random_int8(random, inputs * outputs);
    std::string out = fmt::format("graph f(%x: f32[{}]) {{\n", sizes(inputs));
    out += constant_line("e", fmt::format("i8[{}, {}]", outputs, inputs).c_str(), w);
    if (channel_scales.empty()) {
      out += dequantize_line("w", "e", parameters(weight_scale, weight_zero));
    } else {
      out += constant_line("s", fmt::format("f64[{}]", outputs).c_str(), channel_scales);
      out += constant_line("z", fmt::format("i64[{}]", outputs).c_str(),
                           channel_zeros.empty() ? std::vector<int64_t>(channel_scales.size()) : channel_zeros);
      out += "  %w = quantized_decomposed.dequantize_per_channel(%e, %s, %z, 0, -128, 127, i8)\n";
    }
    out += bias + fake_quantized("d", "x", "q", x);
    out += fmt::format("  %l = aten.linear(%d, %w, {})\n", bias.empty() ? "none" : "%b");
    if (!activation.empty()) out += fmt::format("  %a = {}\n", activation);
    out += fake_quantized("o", activation.empty() ? "l" : "a", "p", y);
    return out + "  return %o\n}";
  }
};

std::string int32_bias(const std::vector<int64_t>& elements, double scale) {
  return constant_line("i", fmt::format("i32[{}]", elements.size()).c_str(), elements) +
         dequantize_line("b", "i", parameters(scale, 0, INT32_MIN + 1, INT32_MAX), "i32");
}

Pipeline compiled(const Model& model, const std::string& backend) {
  return std::move(Pipeline::from_text(model.text()).backend(backend));
}

void expect_runs(const Model& model, const std::string& backend, const char* op = "cortex_m.quantized_linear") {
  SCOPED_TRACE(backend);
  Pipeline p = compiled(model, backend);
  p.at(Stage::lower).check_count(op, 1).check_count("cortex_m.quantize_per_tensor", 1);
  p.check_count("cortex_m.dequantize_per_tensor", 1).check_not("aten.linear").check_not("quantized_decomposed");
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

std::string linear_line(const Model& model, const std::string& backend) {
  const std::string text = compiled(model, backend).dump(Stage::lower);
  const size_t at = text.find("= cortex_m.quantized_linear(");
  return at == std::string::npos ? text : text.substr(at + 2, text.find('\n', at) - at - 2);
}

// "i32[2] = [10, -20]"
std::string constant_of(const Model& model, const std::string& backend, const char* name) {
  const std::string text = compiled(model, backend).dump(Stage::lower), start = fmt::format("const %{}: ", name);
  size_t at = text.find(start);
  if (at == std::string::npos) return "";
  at += start.size();
  std::string line = text.substr(at, text.find('\n', at) - at);
  const size_t unnamed = line.find(" \"\"");
  return unnamed == std::string::npos ? line : line.erase(unnamed, 3);
}

Model small() {
  Model model;
  model.weights = {1, -2, 3, 4, 5, -128};
  model.bias = int32_bias({10, -20}, 0.0625 * 0.03125);
  return model;
}

// 0.0625 * 0.03125 / 0.125 = 2^-6
TEST(CortexMCompileLinear, VectorCodeGetsSumsAndOtherCodeTheBias) {
  EXPECT_EQ(linear_line(small(), backend_for("m55")),
            "cortex_m.quantized_linear(%quantize_per_tensor, %e, none, %kernel_sum, -3, 0, -1, [1073741824], [-5], "
            "127, -128)");
  EXPECT_EQ(constant_of(small(), backend_for("m55"), "kernel_sum"), "i32[1, 2] = [4, 337]")
      << "10 - 3 * 2, -20 - 3 * -119";
  for (const char* backend : {"cortex-m:cpu=m4", "cortex-m:cpu=m3", "cortex-m:isa=dsp", "cortex-m:isa=scalar"}) {
    SCOPED_TRACE(backend);
    EXPECT_EQ(linear_line(small(), backend),
              "cortex_m.quantized_linear(%quantize_per_tensor, %e, %bias, none, -3, 0, -1, [1073741824], [-5], 127, "
              "-128)");
    EXPECT_EQ(constant_of(small(), backend, "bias"), "i32[2] = [10, -20]");
  }
}

TEST(CortexMCompileLinear, WithoutBiasOnlyVectorCodeHasAnAddend) {
  Model model = small();
  model.bias = "";
  EXPECT_EQ(constant_of(model, backend_for("m55"), "kernel_sum"), "i32[1, 2] = [-6, 357]");
  EXPECT_NE(linear_line(model, backend_for("m4")).find("%e, none, none, -3"), std::string::npos);
}

TEST(CortexMCompileLinear, AnyRankAndSize) {
  for (const std::vector<int64_t>& leading :
       std::vector<std::vector<int64_t>>{{1}, {5}, {2, 3}, {1, 2, 2}, {2, 1, 2, 3}}) {
    for (const auto& [inputs, outputs] : {std::pair(1, 1), std::pair(61, 37), std::pair(16, 4), std::pair(130, 3)}) {
      Model model;
      model.leading = leading;
      model.inputs = inputs;
      model.outputs = outputs;
      model.weight_scale = 0.005;
      for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
    }
  }
}

TEST(CortexMCompileLinear, ARankOneInputIsOneRow) {
  std::string text = small().text();
  for (size_t at; (at = text.find("f32[2, 3]")) != std::string::npos;) text.replace(at, 9, "f32[3]");
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.at(Stage::lower).check_count("cortex_m.quantized_linear", 1);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
}

// Inputs between 0 and 0.002, so the zero point is -128 and every product has a large offset.
TEST(CortexMCompileLinear, TinyPositiveInputsOnEachInstructionSet) {
  Random random(9);
  Model model;
  model.leading = {1};
  model.inputs = 512;
  model.outputs = 10;
  model.x = parameters(0.002 / 255, -128);
  model.weight_scale = 0.0004;
  model.y = parameters(0.0004, 5);
  std::vector<float> x;
  for (int i = 0; i < 512; ++i) x.push_back(static_cast<float>(random.in(0, 2000)) * 1e-6f);
  std::vector<double> bias;
  for (int i = 0; i < 10; ++i) bias.push_back(static_cast<double>(random.in(-20, 20)) * 1e-3);
  for (const bool with_bias : {false, true}) {
    model.bias = with_bias ? constant_line("b", "f32[10]", bias) : "";
    for (const char* cpu : kCpus) {
      SCOPED_TRACE(fmt::format("{} {}", cpu, with_bias));
      Pipeline p = compiled(model, backend_for(cpu));
      p.run_and_compare(one_step(), {float_input({1, 512}, x)});
      EXPECT_EQ(p.failures(), "");
      const std::string line = linear_line(model, backend_for(cpu));
      const char* slots = cpu == kCpus[0] ? "%e, none, %kernel_sum, 128"
                          : with_bias     ? "%e, %bias, none, 128"
                                          : "%e, none, none, 128";
      EXPECT_NE(line.find(slots), std::string::npos) << line;
    }
  }
}

TEST(CortexMCompileLinear, BiasesOfAnyScaleBecomeStepsOfTheSum) {
  Model model = small();
  model.bias = constant_line("b", "f32[2]", std::vector<double>{0.01953125, -0.0390625});
  EXPECT_EQ(constant_of(model, backend_for("m4"), "bias"), "i32[2] = [10, -20]");
  model.bias = int32_bias({5, -10}, 2 * 0.0625 * 0.03125);
  EXPECT_EQ(constant_of(model, backend_for("m4"), "bias"), "i32[2] = [10, -20]");
}

TEST(CortexMCompileLinear, AZeroPointOfWeightsIsExact) {
  for (const int zero : {-128, -7, 127}) {
    Model model = small();
    model.weight_zero = zero;
    for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
    EXPECT_NE(linear_line(model, backend_for("m4")).find(fmt::format("-3, {}, -1", -zero)), std::string::npos);
  }
}

// Weights minus their zero points have nine bits: they are sums of two or three 8-bit weights, and the input is
// repeated as often.
TEST(CortexMCompileLinear, AZeroPointForEachOutputIsExact) {
  for (const std::vector<int64_t>& zeros : std::vector<std::vector<int64_t>>{{3, -5}, {-128, 127}, {0, 1}}) {
    for (const std::vector<int64_t>& weights :
         std::vector<std::vector<int64_t>>{{127, -128, 5, -128, 127, 0}, {10, 20, -30, 7, 0, 100}, {}}) {
      Model model = small();
      model.channel_scales = {0.03125, 0.015625};
      model.channel_zeros = zeros;
      model.weights = weights;
      model.y = parameters(0.5, -1);
      for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu), "wick_cortex_m.linear_per_channel");
    }
  }
  Model model = small();
  model.channel_scales = {0.03125, 0.015625};
  model.weights = {127, -128, 5, -128, 127, 0};
  const auto sizes = [&](const std::vector<int64_t>& zeros) {
    model.channel_zeros = zeros;
    const std::string text = compiled(model, backend_for("m4")).dump(Stage::lower);
    return text.substr(text.find("const %weights: "), 25);
  };
  EXPECT_EQ(sizes({1, 0}), "const %weights: i8[2, 6] ");
  EXPECT_EQ(sizes({-128, 1}), "const %weights: i8[2, 9] ");
}

TEST(CortexMCompileLinear, ActivationsNarrowTheRangeOfElements) {
  Model model = small();
  const auto ends = [&](const char* activation) {
    model.activation = activation;
    const std::string line = linear_line(model, backend_for("m55"));
    return line.substr(line.find("[-5], ") + 6);
  };
  EXPECT_EQ(ends("aten.relu(%l)"), "127, -1)");
  EXPECT_EQ(ends("aten.relu6(%l)"), "47, -1)");
  EXPECT_EQ(ends("aten.hardtanh(%l, -2.0, 3.0)"), "23, -17)");
  EXPECT_EQ(ends("aten.clamp(%l, -1.0, none)"), "127, -9)");
  EXPECT_EQ(ends("aten.clamp(%l, none, 0.5)"), "3, -128)");
  for (const char* activation : {"aten.relu(%l)", "aten.relu6(%l)", "aten.hardtanh(%l, -0.3, 0.7)"}) {
    model.activation = activation;
    for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
  }
}

// The result's scale need not end where the activation ends.
TEST(CortexMCompileLinear, ActivationsWhoseRangeEndsInsideInt8AreExact) {
  Model model = small();
  model.weight_scale = 0.5;
  model.y = parameters(0.1, -100);
  for (const char* activation : {"aten.relu(%l)", "aten.relu6(%l)"}) {
    model.activation = activation;
    for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));
  }
}

TEST(CortexMCompileLinear, AScaleForEachOutputIsAnOperatorOfWicks) {
  Model model = small();
  model.channel_scales = {0.03125, 0.0078125};
  model.bias = constant_line("b", "f32[2]", std::vector<double>{0.5, -0.25});
  for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu), "wick_cortex_m.linear_per_channel");
  Pipeline stock = compiled(model, "cortex-m");
  stock.options().profile = compiler::Profile::stock;
  stock.at(Stage::partition);
  const std::vector<std::string> outside = stock.outside();
  ASSERT_EQ(outside.size(), 1u);
  EXPECT_NE(outside[0].find("aten.linear.default: stock's quantized_linear takes one scale"), std::string::npos)
      << outside[0];
  stock.run_and_compare(one_step());
  EXPECT_EQ(stock.failures(), "");
}

TEST(CortexMCompileLinear, EqualScalesForAllOutputsAreOne) {
  Model model = small();
  model.channel_scales = {0.03125, 0.03125};
  expect_runs(model, "cortex-m");
}

// The sums replace the bias; computing them in each run takes as much of the arena, and makes the file larger.
TEST(CortexMCompileLinear, TightMemoryStoresTheSumsToo) {
  for (const compiler::Profile profile : {compiler::Profile::automatic, compiler::Profile::stock}) {
    for (const char* cpu : {"m55", "m4", "m3"}) {
      for (const bool with_bias : {false, true}) {
        Model model = small();
        if (!with_bias) model.bias = "";
        std::string lowered[2];
        for (size_t i = 0; i < 2; ++i) {
          Pipeline p = compiled(model, backend_for(cpu, i == 0 ? "" : ",memory=tight"));
          p.options().profile = profile;
          p.run_and_compare(one_step());
          lowered[i] = p.dump(Stage::lower);
          EXPECT_EQ(p.failures(), "");
        }
        EXPECT_EQ(lowered[0], lowered[1]) << cpu;
      }
    }
  }
}

TEST(CortexMCompileLinear, SharedWeightsAreStoredOnce) {
  std::string text = "graph f(%x: f32[2, 2]) {\n" + constant_line("e", "i8[2, 2]", std::vector<int>{3, -2, 7, 1}) +
                     dequantize_line("w", "e", parameters(0.125, 0)) +
                     fake_quantized("a", "x", "p", parameters(0.05, 1));
  text += "  %l = aten.linear(%a, %w, none)\n" + fake_quantized("b", "l", "q", parameters(0.07, 2));
  text += "  %m = aten.linear(%b, %w, none)\n" + fake_quantized("c", "m", "r", parameters(0.11, 3));
  text += "  %n = aten.linear(%c, %w, none)\n" + fake_quantized("d", "n", "s", parameters(0.13, 4)) + "  return %d\n}";
  for (const char* cpu : kCpus) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_count("cortex_m.quantized_linear", 3).check_not("quantized_decomposed");
    p.run_and_compare({.quantization_steps = 3.001});
    EXPECT_EQ(p.failures(), "");
    const std::string lowered = p.dump(Stage::lower);
    const size_t at = lowered.find("i8[2, 2] \"\" =");
    EXPECT_NE(at, std::string::npos) << lowered;
    EXPECT_EQ(lowered.find("i8[2, 2] \"\" =", at + 1), std::string::npos) << lowered;
  }
}

// --- what is refused, on both sides of each limit ---

std::string refusal(const Model& model, const std::string& backend = "cortex-m") {
  Pipeline p = compiled(model, backend);
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  const std::vector<std::string> outside = p.outside();
  return outside.empty() ? "" : outside[0];
}

// Dynamic rows: one or all leading dimensions; with one scale or one for each output; weights of eight and of four
// bits; called with the fewest, some and the most rows.
TEST(CortexMCompileLinear, RowsMayBeKnownOnlyAtRunTime) {
  for (const size_t rank : {1u, 2u, 3u}) {
    for (size_t unknown = 1; unknown < size_t{1} << rank; ++unknown) {
      for (const bool per_channel : {false, true}) {
        for (const bool narrow : {false, true}) {
          Model model = small();
          model.inputs = 64;
          model.outputs = 2;
          model.weights.assign(128, 3);
          model.weights[5] = narrow ? -8 : -128;
          model.leading.assign(rank, 3);
          if (per_channel) model.channel_scales = {0.03125, 0.015625};
          if (per_channel) model.bias = "";
          std::string text = model.text(), sizes, ranges;
          for (size_t d = 0; d < rank; ++d) {
            const bool is_unknown = (unknown >> d & 1) != 0;
            sizes += is_unknown ? fmt::format("s{}, ", d) : "3, ";
            if (is_unknown) ranges += fmt::format("  range s{}: 1..5\n", d);
          }
          const std::string fixed = model.sizes(model.inputs), open = sizes + fmt::format("{}", model.inputs);
          text.replace(text.find(fixed), fixed.size(), open);
          text.insert(text.find('\n') + 1, ranges);
          for (const char* cpu : kCpus) {
            SCOPED_TRACE(fmt::format("{} {}", cpu, text));
            Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
            EXPECT_TRUE(p.outside().empty());
            for (const int32_t rows : {1, 2, 5}) {
              std::vector<int32_t> called;
              for (size_t d = 0; d < rank; ++d) called.push_back((unknown >> d & 1) != 0 ? rows : 3);
              called.push_back(static_cast<int32_t>(model.inputs));
              size_t count = 1;
              for (const int32_t size : called) count *= static_cast<size_t>(size);
              std::vector<float> x(count);
              for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 31) * 0.25f - 3.5f;
              p.run_and_compare(one_step(), {float_input(called, x)});
            }
            EXPECT_EQ(p.failures(), "");
          }
        }
      }
    }
  }
}

TEST(CortexMCompileLinear, UnknownRowsStayOutsideOfStocksPrograms) {
  std::string text = small().text();
  text.replace(text.find("[2, 3]"), 6, "[s0, 3]");
  text.insert(text.find('\n') + 1, "  range s0: 1..5\n");
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.options().profile = compiler::Profile::stock;
  const std::vector<std::string> outside = p.outside();
  ASSERT_FALSE(outside.empty());
  EXPECT_NE(outside[0].find("stock's quantized_linear takes those that it was compiled for"), std::string::npos)
      << outside[0];
}

TEST(CortexMCompileLinear, SumsThatCouldExceed32BitsStayOutside) {
  Model model = small();
  model.outputs = 1;
  model.inputs = 1;
  model.leading = {1};
  model.x = parameters(0.0625, -128);  // differences up to 255
  model.weights = {127};
  const double fits = 2147483647 - 255 * 127.0;
  model.y = parameters(0.0625 * 0.03125 * 0x1p25, 0);
  model.bias = int32_bias({static_cast<int64_t>(fits)}, 0.0625 * 0.03125);
  EXPECT_EQ(refusal(model), "");
  model.bias = int32_bias({static_cast<int64_t>(fits) + 1}, 0.0625 * 0.03125);
  EXPECT_NE(refusal(model).find("its sums could exceed 32 bits"), std::string::npos);
}

TEST(CortexMCompileLinear, ScalesBeyondTheShifts) {
  Model model = small();
  model.bias = "";
  model.weight_scale = 0x1p-20;
  model.x = parameters(0x1p-10, 0);
  model.y = parameters(4.0, 0);  // 2^-32
  EXPECT_EQ(refusal(model), "");
  model.y = parameters(8.0, 5);
  EXPECT_EQ(refusal(model), "");
  for (const char* cpu : kCpus) expect_runs(model, backend_for(cpu));  // all sums round to 0
  model.y = parameters(0x1p-60, 0);
  EXPECT_NE(refusal(model).find("too far from those"), std::string::npos);
}

TEST(CortexMCompileLinear, NumbersThatAreNotInt8StayOutside) {
  Model model = small();
  model.x = parameters(0.0625, 200);
  EXPECT_NE(refusal(model).find("zero point of its input is outside int8"), std::string::npos);
  std::string text = small().text();
  const size_t at = text.find("  %p = quantized_decomposed.quantize");
  text = text.substr(0, at) + "  return %l\n}";
  Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
  p.run_and_compare({});
  EXPECT_EQ(p.failures(), "");
  ASSERT_FALSE(p.outside().empty());
  EXPECT_NE(p.outside()[0].find("its result is not quantized"), std::string::npos) << p.outside()[0];
}

}  // namespace
}  // namespace wick::cortex_m::linear_test
