// split_weights: layers between quantized values with weights in floats become integer layers, or stay.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::split_weights_test {
namespace {

using testing::Pipeline;
using testing::Stage;

const std::string kFrom = parameters(0.03125, -11), kTo = parameters(0.0205078125, 3);

std::string floats(const char* name, const char* sizes, size_t count, double largest) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(fmt::format("{:.9f}", largest * (static_cast<double>(i * 7919 % 1009) / 504.5 - 1)));
  return constant_line(name, fmt::format("f32[{}]", sizes).c_str(), numbers);
}

std::string model(const char* sizes, const std::string& constants, const std::string& layer,
                  const std::string& to = kTo) {
  return fmt::format("graph f(%x: f32[{}]) {{\n", sizes) + constants + fake_quantized("d", "x", "q", kFrom) +
         "  %y = " + layer + "\n" + fake_quantized("o", "y", "p", to) + "  return %o\n}";
}

void expect_integers(const std::string& text, const char* op) {
  SCOPED_TRACE(text);
  for (const char* cpu : {"m55", "m4", "m3"}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend(backend_for(cpu)));
    p.at(Stage::lower).check_outside({}).check_count(op, 2);
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "") << cpu;
  }
}

TEST(CortexMSplitWeights, LinearLayersAndConvolutionsOfAnyKind) {
  const std::string bias = floats("b", "4", 4, 0.5);
  expect_integers(model("2, 6", floats("w", "4, 6", 24, 0.4) + bias, "aten.linear(%d, %w, %b)"),
                  "wick_cortex_m.linear_int16");
  expect_integers(model("1, 3, 11", floats("w", "4, 3, 5", 60, 0.4) + bias,
                        "aten.convolution(%d, %w, %b, [2], [2], [1], false, [0], 1)"),
                  "wick_cortex_m.conv2d_int16");
  expect_integers(model("2, 4, 6, 5", floats("w", "4, 1, 3, 3", 36, 0.4),
                        "aten.convolution(%d, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 4)"),
                  "wick_cortex_m.depthwise_conv2d_int16");
  expect_integers(model("1, 6, 4, 3", floats("w", "6, 2, 3, 3", 108, 0.3) + bias,
                        "aten.convolution(%d, %w, %b, [2, 2], [1, 1], [1, 1], true, [1, 1], 2)"),
                  "wick_cortex_m.conv2d_int16");
}

TEST(CortexMSplitWeights, TheResultKeepsItsRange) {
  const std::string text =
      model("1, 3, 5, 4", floats("w", "4, 3, 1, 1", 12, 0.7), "aten.relu(%c)", parameters(0.0078125, -128));
  const std::string layer = "  %c = aten.convolution(%d, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)\n";
  std::string whole = text;
  whole.insert(whole.find("  %y = "), layer);
  expect_integers(whole, "wick_cortex_m.conv2d_int16");
}

TEST(CortexMSplitWeights, WeightsWhoseRestCountsStayFloats) {
  for (const std::string& text :
       {model("1, 6", floats("w", "4, 6", 24, 0.4), "aten.linear(%d, %w)", parameters(1e-5, 0)),
        model("1, 2", constant_line("w", "f32[1, 2]", std::vector<std::string>{"inf", "1.0"}),
              "aten.linear(%d, %w)")}) {
    Pipeline p = std::move(Pipeline::from_text(text).backend("cortex-m"));
    p.at(Stage::lower).check_not("linear_int16");
    EXPECT_FALSE(p.outside().empty());
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
  }
}

TEST(CortexMSplitWeights, ALayerWithoutOutputsStays) {
  Pipeline p = std::move(
      Pipeline::from_text(model("2, 6", floats("w", "0, 6", 0, 1), "aten.linear(%d, %w)")).backend("cortex-m"));
  p.at(Stage::lower).check_not("linear_int16");
  EXPECT_EQ(p.failures(), "");
}

TEST(CortexMSplitWeights, StockHasNoFormOfThem) {
  Pipeline p = std::move(
      Pipeline::from_text(model("2, 6", floats("w", "4, 6", 24, 0.4), "aten.linear(%d, %w)")).backend("cortex-m"));
  p.options().profile = compiler::Profile::stock;
  p.at(Stage::lower).check_not("int16");
  EXPECT_EQ(p.failures(), "");
}

}  // namespace
}  // namespace wick::cortex_m::split_weights_test
