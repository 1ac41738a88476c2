// Which quantized nodes are taken, what is computed on int8, and what becomes of weights and biases.
#include "backends/xnnpack/compile/quantized.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "backends/xnnpack/compile/group_weights.h"
#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/target.h"
#include "common/float16.h"
#include "compiler/ir/text/text.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/quantize/fold_quantization.h"

namespace wick::xnnpack::quantized_test {
namespace {

struct Lowered {
  compiler::Function function;
  compiler::Delegate delegate;
  Payload payload;

  int count(NodeType type) const {
    return static_cast<int>(std::count_if(payload.nodes.begin(), payload.nodes.end(),
                                          [&](const PayloadNode& node) { return node.type == type; }));
  }
  const PayloadNode& node(NodeType type) const {
    return *std::find_if(payload.nodes.begin(), payload.nodes.end(),
                         [&](const PayloadNode& found) { return found.type == type; });
  }
  const PayloadValue& input(NodeType type, size_t i) const { return payload.values[node(type).inputs[i]]; }
  const PayloadValue& output(NodeType type) const { return payload.values[node(type).output]; }
  template <typename T>
  std::vector<T> constant(uint32_t index) const {
    const auto& bytes = delegate.constants[index - 1].data.bytes();
    std::vector<T> out(bytes.size() / sizeof(T));
    memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

// As the backend gets it.
compiler::Result<compiler::Function> parse_folded(const std::string& text) {
  ASSIGN_OR_RETURN(compiler::Function function, compiler::parse_graph(text));
  compiler::fold_quantization(*function.graph, [](const compiler::Node& node) { return supports(node, {}).taken; });
  RETURN_IF_ERROR(verify(*function.graph));
  return function;
}

// The reasons of nodes that are not taken, one a line.
std::string refusals(const std::string& text) {
  auto function = parse_folded(text);
  if (!function.ok()) return render(function.diag());
  std::string out;
  for (const auto& node : function->graph->nodes()) {
    const compiler::Verdict verdict = supports(*node, {});
    if (!verdict.taken) out += verdict.reason + "\n";
  }
  return out;
}

Lowered lower_text(const std::string& text, const compiler::TargetContext& context = {}) {
  Lowered out;
  EXPECT_EQ(refusals(text), "") << text;
  auto function = parse_folded(text);
  if (!function.ok()) return out;
  out.function = std::move(*function);
  auto delegate = lower(*out.function.graph, context);
  if (!delegate.ok()) {
    ADD_FAILURE() << render(delegate.diag()) << text;
    return out;
  }
  out.delegate = std::move(*delegate);
  char buffer[256];
  ErrorText error(buffer);
  EXPECT_EQ(read_payload({out.delegate.payload.data(), out.delegate.payload.size()}, &out.payload, &error), Error::Ok)
      << error.c_str();
  return out;
}

std::string quantize(const char* to, const char* type, const char* from, const char* parameters) {
  return fmt::format("  %{}: {} = quantized_decomposed.quantize_per_tensor(%{}, {}, i8)\n", to, type, from, parameters);
}
std::string dequantize(const char* to, const char* type, const char* from, const char* parameters) {
  return fmt::format("  %{}: {} = quantized_decomposed.dequantize_per_tensor(%{}, {}, i8)\n", to, type, from,
                     parameters);
}

constexpr char kFine[] = "0.5, 3, -128, 127";

// x, q, d: an input on int8.
std::string on_int8(const char* sizes, const char* parameters = kFine) {
  return quantize("q", fmt::format("i8[{}]", sizes).c_str(), "x", parameters) +
         dequantize("d", fmt::format("f32[{}]", sizes).c_str(), "q", parameters);
}

std::string linear(const std::string& weights, const char* bias = "none", const char* result = "0.25, -1, -128, 127") {
  return "graph f(%x: f32[1, 2]) {\n" + weights + on_int8("1, 2") +
         fmt::format("  %y: f32[1, 2] = aten.linear(%d, %w, {})\n", bias) + quantize("r", "i8[1, 2]", "y", result) +
         dequantize("z", "f32[1, 2]", "r", result) + "  return %z\n}";
}

constexpr char kByChannel[] = R"(  const %e: i8[2, 2] = [1, -2, 3, 127]
  const %s: f32[2] = [0.5, 0.125]
  const %p: i64[2] = [0, 0]
  const %b: f32[2] = [1.0, -0.71875]
  %w: f32[2, 2] = quantized_decomposed.dequantize_per_channel(%e, %s, %p, 0, -127, 127, i8)
)";

TEST(Quantized, ALinearBetweenInt8ValuesIsOneNode) {
  const Lowered out = lower_text(linear(kByChannel, "%b"));
  EXPECT_EQ(out.payload.nodes.size(), 3u) << "to int8, the product, to float";
  const NodeType type = NodeType::fully_connected;
  EXPECT_EQ(out.input(type, 0).type, DataType::qint8);
  EXPECT_EQ(out.input(type, 0).quantization.scale, 0.5f);
  EXPECT_EQ(out.input(type, 0).quantization.zero_point, 3);
  EXPECT_EQ(out.input(type, 1).type, DataType::qcint8);
  EXPECT_EQ(out.constant<int8_t>(out.input(type, 1).constant), (std::vector<int8_t>{1, -2, 3, 127}));
  EXPECT_EQ(out.constant<float>(out.input(type, 1).quantization.scale_constant), (std::vector<float>{0.5f, 0.125f}));
  EXPECT_EQ(out.output(type).type, DataType::qint8);
  EXPECT_EQ(out.output(type).quantization.scale, 0.25f);
  EXPECT_EQ(out.output(type).quantization.zero_point, -1);
}

TEST(Quantized, ABiasIsInt32OnTheScaleOfInputTimesWeight) {
  const Lowered out = lower_text(linear(kByChannel, "%b"));
  const PayloadValue& bias = out.input(NodeType::fully_connected, 2);
  EXPECT_EQ(bias.type, DataType::qcint32);
  EXPECT_EQ(out.constant<float>(bias.quantization.scale_constant), (std::vector<float>{0.25f, 0.0625f}));
  EXPECT_EQ(out.constant<int32_t>(bias.constant), (std::vector<int32_t>{4, -12})) << "-11.5 rounds to even";
}

TEST(Quantized, WeightsOfOneScaleHaveABiasOfOneScale) {
  const Lowered out = lower_text(linear(R"(  const %e: i8[2, 2] = [1, -2, 3, 127]
  const %b: f32[2] = [1.0, -0.75]
)" + dequantize("w", "f32[2, 2]", "e", "0.125, 0, -127, 127"),
                                        "%b"));
  EXPECT_EQ(out.input(NodeType::fully_connected, 1).type, DataType::qint8);
  const PayloadValue& bias = out.input(NodeType::fully_connected, 2);
  EXPECT_EQ(bias.type, DataType::qint32);
  EXPECT_EQ(bias.quantization.scale, 0.0625f);
  EXPECT_EQ(out.constant<int32_t>(bias.constant), (std::vector<int32_t>{16, -12}));
}

TEST(Quantized, WeightsWithZeroPointsAreComputedInFloat) {
  const Lowered out = lower_text(linear(R"(  const %e: i8[2, 2] = [1, -2, 3, 127]
)" + dequantize("w", "f32[2, 2]", "e", "0.5, 1, -127, 127")));
  EXPECT_EQ(out.input(NodeType::fully_connected, 0).type, DataType::fp32);
  EXPECT_EQ(out.input(NodeType::fully_connected, 1).type, DataType::fp32);
  EXPECT_EQ(out.constant<float>(out.input(NodeType::fully_connected, 1).constant),
            (std::vector<float>{0, -1.5f, 1, 63}));
}

TEST(Quantized, AReluBelongsToTheProductBeforeIt) {
  const Lowered out = lower_text("graph f(%x: f32[1, 2]) {\n" + std::string(kByChannel) + on_int8("1, 2") +
                                 "  %y: f32[1, 2] = aten.linear(%d, %w)\n  %c: f32[1, 2] = aten.relu(%y)\n" +
                                 quantize("r", "i8[1, 2]", "c", kFine) + "  return %r\n}");
  EXPECT_EQ(out.payload.nodes.size(), 2u);
  EXPECT_EQ(out.node(NodeType::fully_connected).output_min, 0);
  EXPECT_EQ(out.output(NodeType::fully_connected).type, DataType::qint8);
  EXPECT_TRUE(out.output(NodeType::fully_connected).is_output);
}

TEST(Quantized, MovesKeepTheElements) {
  const Lowered out = lower_text(
      "graph f(%x: f32[1, 4, 2, 2]) {\n" + on_int8("1, 4, 2, 2") +
      "  %p: f32[1, 2, 2, 4] = aten.permute(%d, [0, 2, 3, 1])\n" + quantize("r", "i8[1, 2, 2, 4]", "p", kFine) +
      dequantize("s", "f32[1, 2, 2, 4]", "r", kFine) + "  %v: f32[4, 4] = aten.view(%s, [4, 4])\n" +
      quantize("t", "i8[4, 4]", "v", kFine) + dequantize("z", "f32[4, 4]", "t", kFine) + "  return %z\n}");
  EXPECT_EQ(out.count(NodeType::convert), 2) << "at the input and at the output";
  EXPECT_EQ(out.count(NodeType::static_transpose), 1);
  EXPECT_EQ(out.output(NodeType::static_transpose).type, DataType::qint8) << "a quarter of the bytes";
  EXPECT_EQ(out.output(NodeType::static_reshape).type, DataType::qint8);
}

// d + d, on the scale `result`.
Lowered sum(const char* result) {
  return lower_text("graph f(%x: f32[4]) {\n" + on_int8("4", "1.0, 0, -128, 127") +
                    "  %y: f32[4] = aten.add.Tensor(%d, %d)\n" + quantize("r", "i8[4]", "y", result) +
                    "  return %r\n}");
}

TEST(Quantized, ASumOfScalesThatLieTooFarApartIsComputedInFloat) {
  EXPECT_EQ(sum("0.00390626, 0, -128, 127").output(NodeType::add).type, DataType::qint8) << "just below 2^8";
  EXPECT_EQ(sum("0.00390625, 0, -128, 127").output(NodeType::add).type, DataType::fp32);
  EXPECT_EQ(sum("1024.0, 0, -128, 127").output(NodeType::add).type, DataType::qint8);
  EXPECT_EQ(sum("1024.1, 0, -128, 127").output(NodeType::add).type, DataType::fp32);
}

TEST(Quantized, PoolingOntoAnotherScaleIsComputedInFloat) {
  const auto pool = [](const char* result) {
    return lower_text(
        "graph f(%x: f32[1, 2, 4, 4]) {\n" + on_int8("1, 2, 4, 4") +
        "  %y: f32[1, 2, 2, 2], %i: i64[1, 2, 2, 2] = aten.max_pool2d_with_indices(%d, [2, 2], [2, 2])\n" +
        quantize("r", "i8[1, 2, 2, 2]", "y", result) + "  return %r\n}");
  };
  EXPECT_EQ(pool(kFine).output(NodeType::max_pooling_2d).type, DataType::qint8);
  EXPECT_EQ(pool("0.5, 4, -128, 127").output(NodeType::max_pooling_2d).type, DataType::fp32);
}

TEST(Quantized, AMeanOfOneElementIsOnItsOwnScaleToo) {
  for (const char* op : {"aten.mean.dim(%d, [2, 3], true)", "aten._adaptive_avg_pool2d(%d, [1, 1])"}) {
    const Lowered out = lower_text("graph f(%x: f32[1, 2, 1, 1]) {\n" + on_int8("1, 2, 1, 1") +
                                   fmt::format("  %y: f32[1, 2, 1, 1] = {}\n", op) +
                                   quantize("r", "i8[1, 2, 1, 1]", "y", "0.25, 4, -128, 127") + "  return %r\n}");
    const Quantization& found = out.payload.values[out.payload.output_ids[0]].quantization;
    EXPECT_EQ(found.scale, 0.25f) << op;
    EXPECT_EQ(found.zero_point, 4) << op;
  }
}

TEST(Quantized, AValueThatIsReadInFloatTooIsComputedInFloat) {
  const Lowered out = lower_text("graph f(%x: f32[1, 2]) {\n" + std::string(kByChannel) + on_int8("1, 2") +
                                 "  %y: f32[1, 2] = aten.linear(%d, %w)\n" + quantize("r", "i8[1, 2]", "y", kFine) +
                                 "  return %r, %y\n}");
  EXPECT_EQ(out.output(NodeType::fully_connected).type, DataType::fp32);
}

TEST(Quantized, Int8InputsAndOutputsCarryTheirScale) {
  const Lowered out =
      lower_text("graph f(%q: i8[4]) {\n" + dequantize("d", "f32[4]", "q", kFine) + "  %y: f32[4] = aten.tanh(%d)\n" +
                 quantize("r", "i8[4]", "y", "0.01, 0, -128, 127") + "  return %r\n}");
  const PayloadValue& in = out.payload.values[out.payload.input_ids[0]];
  EXPECT_EQ(in.type, DataType::qint8);
  EXPECT_EQ(in.quantization.scale, 0.5f);
  EXPECT_EQ(out.payload.values[out.payload.output_ids[0]].quantization.scale, 0.01f);
}

// --- what is refused ---

std::string refused_quantize(const char* parameters, const char* type = "i8") {
  return refusals(
      fmt::format("graph f(%x: f32[4]) {{\n  %q: {}[4] = quantized_decomposed.quantize_per_tensor(%x, {}, {})\n"
                  "  return %q\n}}",
                  type, parameters, type));
}

TEST(Quantized, OnlyRangesScalesAndZeroPointsOfTheLibraryAreTaken) {
  EXPECT_EQ(refused_quantize("0.5, -128, -128, 127"), "");
  EXPECT_EQ(refused_quantize("0.5, 127, -128, 127"), "");
  EXPECT_EQ(refused_quantize("1.2e-38, 0, -128, 127"), "");
  for (const char* parameters :
       {"0.5, 0, -127, 127", "0.5, 0, -128, 126", "0.5, 128, -128, 127", "0.5, -129, -128, 127",
        "1.1e-38, 0, -128, 127", "0.0, 0, -128, 127", "-1.0, 0, -128, 127"}) {
    EXPECT_NE(refused_quantize(parameters).find("its range is not -128 .. 127"), std::string::npos) << parameters;
  }
  EXPECT_EQ(refused_quantize("0.5, 0, 0, 255", "u8"), "uint8 elements; only int8 is taken\n");
  EXPECT_EQ(refused_quantize("0.5, 0, -32768, 32767", "i16"), "elements i16[4]; only int8 is taken\n");
}

TEST(Quantized, ElementsHaveTheScaleOfTheirFirstReader) {
  const std::string text = "graph f(%q: i8[4]) {\n" + dequantize("a", "f32[4]", "q", kFine) +
                           dequantize("b", "f32[4]", "q", "0.5, 4, -128, 127") + "  return %a, %b\n}";
  EXPECT_EQ(refusals(text), "its elements are read with a different scale too\n");
}

// --- quantized at run time ---

std::string dynamic(const char* weights, const char* columns, const std::string& readers, const char* returned) {
  return fmt::format(R"(graph f(%x: f32[3, {0}]) {{
{1}  %s: f64[1], %z: i64[1] = quantized_decomposed.choose_qparams.tensor(%x, -128, 127, 0.0002, i8)
  %q: i8[3, {0}] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8)
  %d: f32[3, {0}] = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, -128, 127, i8)
{2}  return {3}
}})",
                     columns, weights, readers, returned);
}

constexpr char kWeights[] = R"(  const %e: i8[2, 2] = [1, -2, 3, 127]
  const %c: f32[2] = [0.5, 0.125]
  %w: f32[2, 2] = quantized_decomposed.dequantize_per_channel(%e, %c, none, 0, -127, 127, i8)
)";

TEST(Quantized, ProductsShareWhatIsQuantizedAtRunTime) {
  const Lowered out = lower_text(dynamic(
      kWeights, "2", "  %y: f32[3, 2] = aten.linear(%d, %w)\n  %v: f32[3, 2] = aten.linear(%d, %w)\n", "%y, %v"));
  EXPECT_EQ(out.count(NodeType::convert), 1);
  EXPECT_EQ(out.count(NodeType::fully_connected), 2);
  EXPECT_EQ(out.input(NodeType::fully_connected, 0).type, DataType::qdint8);
  EXPECT_EQ(out.input(NodeType::fully_connected, 0).quantization.num_nonbatch_dims, 1u);
  EXPECT_EQ(out.output(NodeType::fully_connected).type, DataType::fp32);
}

TEST(Quantized, PatchesAreViewedBeforeTheyAreQuantized) {
  const Lowered out = lower_text(R"(graph f(%x: f32[1, 2, 4, 4]) {
  const %e: i8[1, 2, 2, 2] = [1, -2, 3, 4, 5, 6, 7, 127]
  const %c: f32[1] = [0.5]
  %w: f32[1, 2, 2, 2] = quantized_decomposed.dequantize_per_channel(%e, %c, none, 0, -127, 127, i8)
  %s: f64[1], %z: i64[1] = quantized_decomposed.choose_qparams.tensor(%x, -128, 127, 0.0002, i8)
  %q: i8[1, 2, 4, 4] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, -128, 127, i8)
  %d: f32[1, 2, 4, 4] = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, -128, 127, i8)
  %y: f32[1, 1, 2, 2] = aten.convolution(%d, %w, none, [2, 2], [0, 0], [1, 1], false, [0, 0], 1)
  return %y
})");
  EXPECT_EQ(out.count(NodeType::convert), 1);
  EXPECT_EQ(out.output(NodeType::convert).dims, (std::vector<uint32_t>{1, 4, 2, 4}));
  EXPECT_EQ(out.input(NodeType::conv_2d, 0).quantization.num_nonbatch_dims, 3u);
  EXPECT_EQ(out.constant<int8_t>(out.input(NodeType::conv_2d, 1).constant),
            (std::vector<int8_t>{1, 5, -2, 6, 3, 7, 4, 127}));
}

TEST(Quantized, AReaderInFloatLeavesTheWholeChainOutside) {
  const std::string text =
      dynamic(kWeights, "2", "  %y: f32[3, 2] = aten.linear(%d, %w)\n  %r: f32[3, 2] = aten.relu(%d)\n", "%y, %r");
  const std::string reason =
      "it is for a matmul or convolution that is not taken on int8:  an operator that does not compute on int8 reads "
      "it\n";
  EXPECT_EQ(refusals(text), reason + reason + reason);
}

std::string weights_4_bit(int columns, int group, std::string scales = "") {
  std::string elements;
  for (int i = 0; i < 2 * columns; ++i) elements += fmt::format("{}{}", i ? ", " : "", i % 16 - 8);
  if (scales.empty()) {
    for (int i = 0; i < 2 * columns / group; ++i) scales += fmt::format("{}{}", i ? ", " : "", 0.125 * (i + 1));
  }
  return fmt::format(R"(  const %e: i8[2, {0}] = [{2}]
  const %c: f32[2, {1}] = [{3}]
  %w: f32[2, {0}] = torchao.dequantize_affine(%e, [1, {4}], %c, none, i8, -8, 7)
)",
                     columns, columns / group, elements, scales, group);
}
std::string linear_4_bit(int columns, int group, const char* scales = "") {
  return dynamic(weights_4_bit(columns, group, scales).c_str(), fmt::format("{}", columns).c_str(),
                 "  %y: f32[3, 2] = aten.linear(%d, %w)\n", "%y");
}

TEST(Quantized, FourBitWeightsArePackedInPairs) {
  const Lowered out = lower_text(linear_4_bit(64, 32));
  const PayloadValue& weight = out.input(NodeType::fully_connected, 1);
  EXPECT_EQ(weight.type, DataType::qbint4);
  EXPECT_EQ(weight.quantization.group_size, 32u);
  EXPECT_EQ(weight.dims, (std::vector<uint32_t>{2, 64}));
  const auto bytes = out.constant<uint8_t>(weight.constant);
  ASSERT_EQ(bytes.size(), 64u);
  EXPECT_EQ(bytes[0], 0x10) << "-8, -7";
  EXPECT_EQ(bytes[7], 0xfe) << "6, 7";
  EXPECT_EQ(out.constant<uint16_t>(weight.quantization.scale_constant),
            (std::vector<uint16_t>{0x3e00, 0x3e80, 0x3ec0, 0x3f00}));
}

TEST(Quantized, RowsOfFourBitWeightsThatAreNoWholeGroupsHaveFloatScales) {
  const Lowered out = lower_text(linear_4_bit(5, 5));
  const PayloadValue& weight = out.input(NodeType::fully_connected, 1);
  EXPECT_EQ(weight.type, DataType::qcint4);
  EXPECT_EQ(out.constant<uint8_t>(weight.constant), (std::vector<uint8_t>{0x10, 0x32, 0x84, 0x65, 0x87, 0x89}));
}

TEST(Quantized, GroupsThatAreRowsOrHaveEqualScalesInEachKeepFloatScales) {
  for (const auto& [group, scales] : {std::pair(64, "0.1, 0.3"), std::pair(32, "0.1, 0.1, 0.3, 0.3")}) {
    const Lowered out = lower_text(linear_4_bit(64, group, scales));
    EXPECT_EQ(out.count(NodeType::fully_connected), 1);
    const PayloadValue& weight = out.input(NodeType::fully_connected, 1);
    EXPECT_EQ(weight.type, DataType::qcint4);
    EXPECT_EQ(out.constant<float>(weight.quantization.scale_constant), (std::vector<float>{0.1f, 0.3f}));
  }
}

TEST(Quantized, ScalesOfGroupsAreRoundedOnRequestAndItIsSaid) {
  const compiler::TargetSettings settings = {{"group-scales", "bf16"}};
  compiler::TargetContext rounded;
  rounded.options.settings = &settings;
  const std::string inexact = linear_4_bit(64, 32, "0.1, 0.2, 0.3, 0.4"), exact = linear_4_bit(64, 32);
  EXPECT_EQ(lower_text(inexact).count(NodeType::fully_connected), 3);
  const Lowered out = lower_text(inexact, rounded);
  ASSERT_EQ(out.count(NodeType::fully_connected), 1);
  EXPECT_EQ(out.constant<uint16_t>(out.input(NodeType::fully_connected, 1).quantization.scale_constant),
            (std::vector<uint16_t>{0x3dcd, 0x3e4d, 0x3e9a, 0x3ecd}));
  for (const std::string& text : {inexact, exact}) {
    const auto function = parse_folded(text);
    ASSERT_TRUE(function.ok());
    for (const auto& node : function->graph->nodes()) {
      if (!node->is("aten.linear.default")) continue;
      const auto says_so = [&](const compiler::TargetContext& context) {
        const compiler::Verdict verdict = supports(*node, context);
        EXPECT_EQ(verdict.asked_for, verdict.reason.find("groups are rounded to bf16") != std::string::npos)
            << "compile prints it";
        return verdict.asked_for;
      };
      EXPECT_FALSE(says_so({}));
      EXPECT_EQ(says_so(rounded), text == inexact);
    }
  }
}

TEST(Quantized, WeightsOfFloatLinearsThatBecomeFloatsAreNamed) {
  const std::string start = "graph f(%x: f32[3, 64]) {\n",
                    end = "  %y: f32[3, 2] = aten.linear(%x, %w)\n  return %y\n}";
  for (const int group : {32, 64}) {
    const auto function = parse_folded(start + weights_4_bit(64, group) + end);
    ASSERT_TRUE(function.ok());
    const std::string reason = supports(*function->graph->nodes().back(), {}).reason;
    EXPECT_EQ(reason.find("its weight is stored as floats") != std::string::npos, group == 32) << reason;
  }
}

// Models have gigabytes of weights. So stored weights are computed, or lie in the model's file, while it is written.
TEST(Quantized, NoCopiesOfIntegerWeightsAndGroupScalesAreHeld) {
  std::string elements, scales;
  for (int i = 0; i < 16 * 64; ++i) elements += fmt::format("{}{}", i ? ", " : "", i % 251 - 125);
  for (int i = 0; i < 16; ++i) scales += fmt::format("{}{}", i ? ", " : "", 0.1 * (i + 1));
  const std::string int8_rows = fmt::format(
      "  const %e: i8[16, 64] = [{}]\n  const %c: f32[16] = [{}]\n"
      "  %w: f32[16, 64] = torchao.dequantize_affine(%e, [1, 64], %c, none, i8, -128, 127)\n",
      elements, scales);
  const std::string shifted = "  const %zeros: i8[2, 2] = [1, 2, 3, 4]\n" + weights_4_bit(64, 32);
  const std::string with_zeros = std::string(shifted).replace(shifted.find("none"), 4, "%zeros");
  for (const auto& [weights, outputs] :
       {std::pair(int8_rows, 16), {weights_4_bit(64, 32), 2}, {weights_4_bit(64, 64), 2}, {with_zeros, 2}}) {
    const Lowered out = lower_text(
        dynamic(weights.c_str(), "64", fmt::format("  %y: f32[3, {}] = aten.linear(%d, %w)\n", outputs).c_str(), "%y"));
    std::set<const uint8_t*> of_model;
    for (const compiler::Value* constant : out.function.graph->constants()) {
      of_model.insert(constant->data.bytes().data());
      if (constant->is_quantized()) of_model.insert(constant->tensor().quantization->scales.data.bytes().data());
    }
    size_t large = 0;
    for (const auto& constant : out.delegate.constants) {
      if (constant.data.size_bytes() < 64) continue;
      ++large;
      EXPECT_TRUE(constant.data.depth() > 0 || of_model.count(constant.data.bytes().data()) > 0)
          << constant.data.size_bytes() << " bytes of " << weights;
    }
    EXPECT_GT(large, 0u);
  }
}

TEST(Quantized, ScalesOfGroupsThatBf16CannotHoldAreExactSums) {
  // 0.3125 has 3 digits, 1.01171875 (259 / 256) has 9, 0.1f has 24.
  const auto parts_of = [](const std::vector<double>& scales) {
    return group_scales(compiler::NumberList::of(DType::f64, scales));
  };
  EXPECT_EQ(parts_of({0.3125, 2}).size(), 1u);
  EXPECT_EQ(parts_of({0.3125, 1.01171875}).size(), 2u);
  for (const std::vector<double>& scales : {std::vector<double>{0.3125, 1.01171875}, {0.1, 0.3125, 1e-30, 1e30}}) {
    for (size_t i = 0; i < scales.size(); ++i) {
      double sum = 0;
      for (const compiler::ConstantData& part : parts_of(scales)) {
        uint16_t bits = 0;
        part.read(i * sizeof bits, sizeof bits, reinterpret_cast<uint8_t*>(&bits));
        const float element = float_from_bits(uint32_t{bits} << 16);
        EXPECT_TRUE(std::isnormal(element) && element > 0) << "the library takes no others";
        sum += static_cast<double>(element);
      }
      EXPECT_EQ(sum, static_cast<double>(static_cast<float>(scales[i])));
    }
  }
}

TEST(Quantized, EightBitElementsAreSumsOfDifferentPlanesOfDigits) {
  std::vector<int8_t> all, multiples_of_17, small, twos;
  for (int element = -128; element <= 127; ++element) all.push_back(static_cast<int8_t>(element));
  for (int i = -7; i <= 7; ++i) multiples_of_17.push_back(static_cast<int8_t>(17 * i));
  for (int i = -8; i <= 7; ++i) small.push_back(static_cast<int8_t>(i));
  for (int i = 0; i < 16; ++i) twos.push_back(static_cast<int8_t>(i % 2 ? 121 : 16 * (i - 8)));
  const struct {
    std::vector<int8_t> elements;
    size_t planes;
  } cases[] = {{all, 3},       {multiples_of_17, 3}, {small, 1},  {twos, 3},
               {{17, -17}, 3}, {{16, -32}, 1},       {{0, 0}, 1}, {{1, 17, 112}, 2}};
  for (const auto& [elements, count] : cases) {
    const std::vector<DigitPlane> planes = digit_planes(compiler::layout::own(elements));
    EXPECT_EQ(planes.size(), count) << static_cast<int>(elements[0]);
    std::set<std::vector<int8_t>> different;
    std::vector<double> sums(elements.size());
    for (const DigitPlane& plane : planes) {
      std::vector<int8_t> digits(elements.size());
      plane.digits.read(0, digits.size(), reinterpret_cast<uint8_t*>(digits.data()));
      different.insert(digits);
      for (size_t i = 0; i < digits.size(); ++i) {
        EXPECT_TRUE(digits[i] >= -8 && digits[i] <= 7);
        sums[i] += plane.factor * digits[i];
      }
    }
    EXPECT_EQ(different.size(), planes.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      const double sum = sums[i];
      EXPECT_EQ(sum, elements[i]);
    }
  }
}

std::vector<const PayloadNode*> products(const Lowered& out) {
  std::vector<const PayloadNode*> found;
  for (const PayloadNode& node : out.payload.nodes) {
    if (node.type == NodeType::fully_connected) found.push_back(&node);
  }
  return found;
}

// Stock's cache of packed weights looks at the bytes of filter and bias only.
void expect_other_biases(const Lowered& out) {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const PayloadNode* node : products(out)) {
    const uint32_t filter = out.payload.values[node->inputs[1]].constant, bias = node->inputs[2];
    EXPECT_TRUE(seen.insert({filter, bias == kNoValue ? 0 : out.payload.values[bias].constant}).second);
  }
}

TEST(Quantized, ALinearIsASumOfProductsWithTheSameElements) {
  const Lowered out = lower_text(linear_4_bit(64, 32, "0.1, 0.25, 0.3, 1e-30"));
  const auto found = products(out);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(out.count(NodeType::add), 2);
  EXPECT_EQ(out.count(NodeType::convert), 1);
  for (const PayloadNode* node : found)
    EXPECT_EQ(out.payload.values[node->inputs[1]].constant, out.payload.values[found[0]->inputs[1]].constant);
  expect_other_biases(out);
}

TEST(Quantized, ABiasIsAddedOnceAndAClampComesLast) {
  const std::string text =
      dynamic(("  const %b: f32[2] = [1.0, 2.0]\n" + weights_4_bit(64, 32, "0.1, 0.25, 0.3, 0.7")).c_str(), "64",
              "  %y: f32[3, 2] = aten.linear(%d, %w, %b)\n  %r: f32[3, 2] = aten.relu(%y)\n", "%r");
  const Lowered out = lower_text(text);
  expect_other_biases(out);
  for (const PayloadNode* node : products(out)) EXPECT_EQ(node->output_min, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(out.payload.nodes.back().type, NodeType::add);
  EXPECT_EQ(out.payload.nodes.back().output_min, 0);
}

TEST(Quantized, EightBitWeightsInGroupsAreSumsOfProductsOfFourBitDigits) {
  std::string elements;
  for (int i = 0; i < 128; ++i) elements += fmt::format("{}{}", i ? ", " : "", i * 37 % 256 - 128);
  for (const auto& [scales, count] : {std::pair("0.1, 0.25, 0.3, 0.7", 9), std::pair("0.5, 0.25, 0.125, 3.0", 3)}) {
    const std::string weights = fmt::format(R"(  const %e: i8[2, 64] = [{}]
  const %c: f32[2, 2] = [{}]
  const %b: f32[2] = [1.0, 2.0]
  %w: f32[2, 64] = torchao.dequantize_affine(%e, [1, 32], %c, none, i8, -128, 127)
)",
                                            elements, scales);
    const Lowered out = lower_text(dynamic(weights.c_str(), "64", "  %y: f32[3, 2] = aten.linear(%d, %w, %b)\n", "%y"));
    EXPECT_EQ(out.count(NodeType::fully_connected), count);
    EXPECT_EQ(out.count(NodeType::add), count - 1);
    EXPECT_EQ(out.count(NodeType::convert), 1);
    expect_other_biases(out);
  }
}

TEST(Quantized, GroupsWithScalesTooSmallToSplitAreRefused) {
  EXPECT_NE(refusals(linear_4_bit(64, 32, "0.1, 0.25, 0.3, 1e-31")).find("whose scale is below 2^-100"),
            std::string::npos);
}

TEST(Quantized, FourBitWeightsWithLargerElementsAreRefused) {
  std::string text = linear_4_bit(64, 32);
  text.replace(text.find("[-8, "), 5, "[-9, ");
  EXPECT_NE(refusals(text).find("a weight with elements outside its range"), std::string::npos);
}

TEST(Quantized, GroupsOf16AreRefusedInWords) {
  EXPECT_NE(refusals(linear_4_bit(64, 16)).find("a weight whose groups are not multiples of 32"), std::string::npos);
}

}  // namespace
}  // namespace wick::xnnpack::quantized_test
