// The payloads of partitions: node types and their number, the orders chosen, folds and fusions.
#include "backends/xnnpack/compile/lower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "backends/xnnpack/compile/target.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"

namespace wick::xnnpack::lower_test {
namespace {

struct Lowered {
  compiler::Function function;
  compiler::Delegate delegate;
  Payload payload;
  std::map<std::string, int> counts;

  int count(const std::string& type) const {
    const auto found = counts.find(type);
    return found == counts.end() ? 0 : found->second;
  }
};

Lowered lower_text(const std::string& text) {
  Lowered out;
  auto function = compiler::parse_graph(text);
  if (!function.ok()) {
    ADD_FAILURE() << render(function.diag()) << text;
    return out;
  }
  out.function = std::move(*function);
  const compiler::SymScope scope(out.function.graph->ranges);
  const compiler::ValueRanges ranges(*out.function.graph);
  compiler::TargetContext context;
  context.ranges = &ranges;
  for (const auto& node : out.function.graph->nodes()) {
    const compiler::Verdict verdict = supports(*node, context);
    EXPECT_TRUE(verdict.taken) << compiler::to_text(*node) << ": " << verdict.reason;
    if (!verdict.taken) return out;
  }
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
  for (const PayloadNode& node : out.payload.nodes) ++out.counts[name_of(node.type)];
  return out;
}

constexpr char kConv[] = R"(, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1))";

TEST(Lower, AConvolutionChainIsTransposedAtItsEndsOnly) {
  const Lowered out = lower_text(std::string(R"(graph f(%x: f32[1, 3, 8, 8]) {
    const %w: f32[16, 3, 3, 3] = ...
    const %v: f32[16, 16, 3, 3] = ...
    %a: f32[1, 16, 8, 8] = aten.convolution(%x, %w)") +
                                 kConv + R"(
    %r: f32[1, 16, 8, 8] = aten.relu(%a)
    %b: f32[1, 16, 8, 8] = aten.convolution(%r, %v)" +
                                 kConv + R"(
    %s: f32[1, 16, 8, 8] = aten.add.Tensor(%b, %r)
    %t: f32[1, 16, 8, 8] = aten.relu(%s)
    return %t
  })");
  EXPECT_EQ(out.count("conv_2d"), 2);
  EXPECT_EQ(out.count("static_transpose"), 2);
  EXPECT_EQ(out.count("clamp"), 0) << "a clamp belongs to the node before it";
}

TEST(Lower, AClampOfAResultThatIsReadTwiceStaysANode) {
  const Lowered out = lower_text(std::string(R"(graph f(%x: f32[1, 3, 8, 8]) {
    const %w: f32[3, 3, 3, 3] = ...
    %a: f32[1, 3, 8, 8] = aten.convolution(%x, %w)") +
                                 kConv + R"(
    %r: f32[1, 3, 8, 8] = aten.relu(%a)
    %s: f32[1, 3, 8, 8] = aten.add.Tensor(%a, %r)
    return %s
  })");
  EXPECT_EQ(out.count("clamp"), 1);
}

TEST(Lower, AFilterOfOnePlaceKeepsItsBytes) {
  const Lowered out = lower_text(std::string(R"(graph f(%x: f32[1, 3, 8, 8]) {
    const %w: f32[16, 3, 1, 1] = ...
    %a: f32[1, 16, 10, 10] = aten.convolution(%x, %w)") +
                                 kConv + "\n return %a\n}");
  ASSERT_EQ(out.delegate.constants.size(), 1u);
  const auto& filter = out.function.graph->nodes().front()->tensor("weight")->data;
  EXPECT_EQ(out.delegate.constants[0].data.bytes().data(), filter.bytes().data());
}

// A convolution over `image` (or over one dimension) of eight channels by a filter for each.
Lowered depthwise(const std::string& image, const std::string& filter, const std::string& window,
                  const std::string& bias = "none", const std::string& range = "") {
  return lower_text("graph f(%x: f32[1, 8, " + image + "]) {\n" + range + "const %w: f32[" + filter +
                    "] = ...\n const %b: f32[8] = ...\n %a = aten.convolution(%x, %w, " + bias + ", " + window +
                    ")\n %r = aten.relu(%a)\n return %r\n}");
}

constexpr char kSevenPadded[] = "[1, 1], [3, 3], [1, 1], false, [0, 0], 8";
constexpr char kUnpadded[] = "[1, 1], [0, 0], [1, 1], false, [0, 0], 8";

TEST(Lower, ALargeDepthwiseWindowIsASumOfSmallOnesThatNeedNoCopyOfTheInput) {
  const Lowered out = depthwise("20, 20", "8, 1, 7, 7", kSevenPadded, "%b");
  EXPECT_EQ(out.count("depthwise_conv_2d"), 3);
  EXPECT_EQ(out.count("add"), 2);
  EXPECT_EQ(out.count("static_slice") + out.count("static_constant_pad") + out.count("clamp"), 0);
  uint32_t taps = 0, biases = 0, clamped = 0;
  for (const PayloadNode& node : out.payload.nodes) {
    clamped += node.output_min == 0;
    if (node.type != NodeType::depthwise_conv_2d) continue;
    EXPECT_LE(node.window.kernel[0] * node.window.kernel[1], 25u);
    taps += node.window.kernel[0] * node.window.kernel[1];
    biases += node.inputs[2] != kNoValue;
  }
  EXPECT_EQ(taps, 49u);
  EXPECT_EQ(biases, 1u);
  EXPECT_EQ(clamped, 1u) << "only the whole sum";
}

TEST(Lower, LargeDepthwiseWindowsFallIntoTheFewestParts) {
  const auto parts = [](const std::string& image, const std::string& filter, const std::string& window) {
    return depthwise(image, filter, window).count("depthwise_conv_2d");
  };
  EXPECT_EQ(parts("20, 20", "8, 1, 5, 5", "[1, 1], [2, 2], [1, 1], false, [0, 0], 8"), 1);
  EXPECT_EQ(parts("20, 20", "8, 1, 9, 9", "[1, 1], [4, 4], [1, 1], false, [0, 0], 8"), 4);
  EXPECT_EQ(parts("20, 20", "8, 1, 11, 11", "[2, 2], [5, 5], [1, 1], false, [0, 0], 8"), 6);
  EXPECT_EQ(parts("50", "8, 1, 31", "[1], [15], [1], false, [0], 8"), 2);
}

TEST(Lower, WithoutPaddingThePartsOfADepthwiseWindowReadPartsOfTheInput) {
  const Lowered out = depthwise("20, 20", "8, 1, 7, 7", kUnpadded);
  EXPECT_EQ(out.count("depthwise_conv_2d"), 3);
  EXPECT_EQ(out.count("static_slice"), 2) << "one part reaches from edge to edge";
}

TEST(Lower, WithSizesKnownOnlyAtRunTimeADepthwiseWindowFallsApartWherePaddingSuffices) {
  constexpr char kRange[] = "range s0: 9..32\n";
  EXPECT_EQ(depthwise("s0, 20", "8, 1, 7, 7", kSevenPadded, "none", kRange).count("depthwise_conv_2d"), 3);
  EXPECT_EQ(depthwise("s0, 20", "8, 1, 7, 7", kUnpadded, "none", kRange).count("depthwise_conv_2d"), 1);
}

TEST(Lower, ALargeDepthwiseWindowThatTheLibraryHasNoKernelForStaysWhole) {
  EXPECT_EQ(depthwise("20, 20", "16, 1, 7, 7", kSevenPadded).count("depthwise_conv_2d"), 1) << "two outputs a channel";
}

TEST(Lower, PermutesAroundABlockOfLinearsVanishInChannelsLastOrder) {
  const Lowered out = lower_text(R"(graph f(%x: f32[1, 8, 6, 6]) {
    const %w: f32[8, 1, 3, 3] = ...
    const %v: f32[16, 8] = ...
    const %u: f32[8, 16] = ...
    const %g: f32[8, 1, 1] = ...
    %a: f32[1, 8, 6, 6] = aten.convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8)
    %p: f32[1, 6, 6, 8] = aten.permute(%a, [0, 2, 3, 1])
    %l: f32[1, 6, 6, 16] = aten.linear(%p, %v)
    %h: f32[1, 6, 6, 16] = aten.gelu(%l)
    %m: f32[1, 6, 6, 8] = aten.linear(%h, %u)
    %q: f32[1, 8, 6, 6] = aten.permute(%m, [0, 3, 1, 2])
    %s: f32[1, 8, 6, 6] = aten.mul.Tensor(%q, %g)
    %t: f32[1, 8, 6, 6] = aten.add.Tensor(%s, %a)
    %c: f32[1, 8, 6, 6] = aten.convolution(%t, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 8)
    return %c
  })");
  EXPECT_EQ(out.count("depthwise_conv_2d"), 2);
  EXPECT_EQ(out.count("fully_connected"), 2);
  EXPECT_EQ(out.count("static_transpose"), 2) << "at the input and at the output";
}

// Kernel, stride, dims of the filter.
using Columns = std::array<std::vector<uint32_t>, 3>;

Columns patches(const std::string& width, const std::string& filter, const std::string& window) {
  const Lowered out = lower_text("graph f(%x: f32[1, 4, 8, " + width + "]) {\n const %w: f32[" + filter +
                                 "] = ...\n %a = aten.convolution(%x, %w, none, " + window + ")\n return %a\n}");
  const auto conv = std::find_if(out.payload.nodes.begin(), out.payload.nodes.end(),
                                 [](const PayloadNode& node) { return node.type == NodeType::conv_2d; });
  if (conv == out.payload.nodes.end()) return {};
  const auto& [kernel, stride] = std::tie(conv->window.kernel, conv->window.stride);
  return {std::vector(std::begin(kernel), std::end(kernel)),
          {std::begin(stride), std::end(stride)},
          out.payload.values[conv->inputs[1]].dims};
}

TEST(Lower, ColumnsOfWindowsSideBySideAreChannels) {
  EXPECT_EQ(patches("12", "6, 4, 2, 3", "[2, 3], [0, 0], [1, 1], false, [0, 0], 1"),
            (Columns{{{2, 1}, {2, 1}, {6, 2, 1, 12}}}));
  EXPECT_EQ(patches("12", "6, 4, 3, 2", "[1, 2], [1, 0], [2, 1], false, [0, 0], 1"),
            (Columns{{{3, 1}, {1, 1}, {6, 3, 1, 8}}}));
}

TEST(Lower, ColumnsOfOtherWindowsStayColumns) {
  const Columns as_they_are{{{2, 3}, {2, 3}, {6, 2, 3, 4}}};
  EXPECT_EQ(patches("13", "6, 4, 2, 3", "[2, 3], [0, 0], [1, 1], false, [0, 0], 1"), as_they_are) << "a column is left";
  EXPECT_EQ(patches("12", "6, 4, 2, 3", "[2, 3], [0, 1], [1, 1], false, [0, 0], 1"), as_they_are) << "padding";
  EXPECT_EQ(patches("12", "6, 4, 2, 3", "[2, 3], [0, 0], [1, 2], false, [0, 0], 1"), as_they_are) << "gaps";
  EXPECT_EQ(patches("12", "6, 2, 2, 3", "[2, 3], [0, 0], [1, 1], false, [0, 0], 2"),
            (Columns{{{2, 3}, {2, 3}, {6, 2, 3, 2}}}))
      << "groups";
}

TEST(Lower, PatchesFlattenedToRowsNeedNoTranspose) {
  const Lowered out = lower_text(R"(graph f(%x: f32[1, 3, 32, 32]) {
    const %w: f32[24, 3, 16, 16] = ...
    %a: f32[1, 24, 2, 2] = aten.convolution(%x, %w, none, [16, 16], [0, 0], [1, 1], false, [0, 0], 1)
    %f: f32[1, 24, 4] = aten.view(%a, [1, 24, 4])
    %p: f32[1, 4, 24] = aten.permute(%f, [0, 2, 1])
    return %p
  })");
  EXPECT_EQ(out.count("static_transpose"), 1) << "of the image";
}

TEST(Lower, KeysOfAttentionAreReadSwapped) {
  const Lowered out = lower_text(R"(graph f(%q: f32[3, 5, 8], %k: f32[3, 7, 8]) {
    %t: f32[3, 8, 7] = aten.permute(%k, [0, 2, 1])
    %s: f32[3, 5, 7] = aten.bmm(%q, %t)
    return %s
  })");
  EXPECT_EQ(out.count("static_transpose"), 0);
  ASSERT_EQ(out.payload.nodes.size(), 1u);
  EXPECT_EQ(out.payload.nodes[0].flags, uint32_t{kTransposeWeights});
}

TEST(Lower, ALayerNormIsAMeanAndASumByFullyConnected) {
  const Lowered out = lower_text(R"(graph f(%x: f32[4, 16]) {
    const %w: f32[16] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    %n: f32[4, 16], %m: f32[4, 1], %r: f32[4, 1] = aten.native_layer_norm(%x, [16], %w, none, 1e-05)
    return %n
  })");
  EXPECT_EQ(out.count("fully_connected"), 2);
  EXPECT_EQ(out.count("square"), 1);
  EXPECT_EQ(out.count("square_root"), 1);
  EXPECT_EQ(out.count("static_transpose"), 0);
}

TEST(Lower, NormsOfHalfPrecisionAreComputedInSinglePrecision) {
  const Lowered out = lower_text(R"(graph f(%x: f16[4, 16]) {
    %n: f16[4, 16] = aten.rms_norm(%x, [16], none, 1e-05)
    return %n
  })");
  EXPECT_EQ(out.count("convert"), 2);
}

TEST(Lower, NumbersThatHalfPrecisionLacksAreComputedInSinglePrecision) {
  for (const auto& [number, converts] : {std::pair("3e5", 2), std::pair("1e-19", 2), std::pair("0.5", 0)}) {
    const Lowered out = lower_text(
        fmt::format("graph f(%x: f16[4, 6]) {{\n %y: f16[4, 6] = aten.mul.Scalar(%x, {})\n return %y\n}}", number));
    EXPECT_EQ(out.count("convert"), converts) << number;
  }
}

TEST(Lower, RunningSumsThatMayOverflowAreSumsOfShiftedElements) {
  const auto lowered = [](const char* op) {
    return lower_text(
        fmt::format("graph f(%x: f32[4, 6]) {{\n %a: f32[4, 6] = aten.{}(%x)\n"
                    " %y: f32[4, 6] = aten.cumsum(%a, 1)\n return %y\n}}",
                    op));
  };
  const Lowered squares = lowered("square"), shares = lowered("sigmoid");
  EXPECT_EQ(squares.count("fully_connected"), 0);
  EXPECT_EQ(squares.count("add"), 3);
  EXPECT_EQ(shares.count("fully_connected"), 1);
}

TEST(Lower, EqualConstantsAreStoredOnce) {
  const Lowered out = lower_text(R"(graph f(%x: f32[2, 2]) {
    const %a: f32[2, 2] = [1, 2, 3, 4]
    const %b: f32[2, 2] = [1, 2, 3, 4]
    %l: f32[2, 2] = aten.linear(%x, %a)
    %m: f32[2, 2] = aten.linear(%l, %b)
    %n: f32[2, 2] = aten.mul.Scalar(%m, 0.5)
    %o: f32[2, 2] = aten.mul.Scalar(%n, 0.5)
    return %o
  })");
  EXPECT_EQ(out.delegate.constants.size(), 2u);
}

// Rows of one number, which state a hash that need not be theirs.
class EqualRows : public compiler::ComputedRows {
 public:
  explicit EqualRows(float number) : ComputedRows(2, 2 * sizeof(float), 1), number_(number) {}
  void compute(size_t, size_t count, uint8_t* out) const override {
    const std::vector<float> elements(2 * count, number_);
    memcpy(out, elements.data(), elements.size() * sizeof(float));
  }

 private:
  const float number_;
};

TEST(Lower, OtherConstantsOfTheSameHashAreStoredApart) {
  compiler::Function function = std::move(*compiler::parse_graph(R"(graph f(%x: f32[2, 2]) {
    const %a: f32[2, 2] = [1, 1, 1, 1]
    const %b: f32[2, 2] = [2, 2, 2, 2]
    const %c: f32[2, 2] = [1, 1, 1, 1]
    %l: f32[2, 2] = aten.linear(%x, %a)
    %m: f32[2, 2] = aten.linear(%l, %b)
    %n: f32[2, 2] = aten.linear(%m, %c)
    return %n
  })"));
  const float numbers[] = {1, 2, 1};
  size_t i = 0;
  for (compiler::Value* constant : function.graph->constants())
    constant->data = {std::make_shared<EqualRows>(numbers[i++]), {7, std::nullopt}};
  const auto delegate = lower(*function.graph, {});
  ASSERT_TRUE(delegate.ok());
  ASSERT_EQ(delegate->constants.size(), 2u);
  EXPECT_NE(delegate->constants[0].key, delegate->constants[1].key);
}

TEST(Lower, AWeightThatIsAlsoAnOperandIsTwoValuesOfOneConstant) {
  const Lowered out = lower_text(R"(graph f(%x: f32[2, 2]) {
    const %w: f32[2, 2] = [1, 2, 3, 4]
    %l: f32[2, 2] = aten.linear(%x, %w)
    %s: f32[2, 2] = aten.add.Tensor(%l, %w)
    return %s
  })");
  EXPECT_EQ(out.delegate.constants.size(), 1u);
  ASSERT_EQ(out.payload.nodes.size(), 2u);
  const uint32_t weight = out.payload.nodes[0].inputs[1], operand = out.payload.nodes[1].inputs[1];
  EXPECT_NE(weight, operand) << "stock's runtime gives packed weights back";
  EXPECT_EQ(out.payload.values[weight].constant, out.payload.values[operand].constant);
}

TEST(Lower, AnExpandInFrontOfASumIsNoNode) {
  const Lowered out = lower_text(R"(graph f(%x: f32[1, 4], %y: f32[3, 4]) {
    %e: f32[3, 4] = aten.expand(%x, [3, 4])
    %s: f32[3, 4] = aten.add.Tensor(%e, %y)
    return %s
  })");
  EXPECT_EQ(out.payload.nodes.size(), 1u);
}

TEST(Lower, AnOutputThatIsAnInputSeenOtherwiseIsCopied) {
  const Lowered out = lower_text(R"(graph f(%x: f32[2, 6]) {
    %v: f32[3, 4] = aten.view(%x, [3, 4])
    %r: f32[3, 4] = aten.neg(%v)
    %w: f32[12] = aten.view(%r, [12])
    return %v, %r, %w
  })");
  EXPECT_EQ(out.payload.output_ids.size(), 3u);
  EXPECT_EQ(out.count("multiply"), 1);
}

TEST(Lower, DebugHandlesNameTheModelsNodes) {
  const Lowered out = lower_text(R"(graph f(%x: f32[2, 6]) {
    %a: f32[2, 6] = aten.exp(%x)  @ "block.act" "model.py:7"
    return %a
  })");
  ASSERT_EQ(out.payload.nodes.size(), 1u);
  ASSERT_LT(out.payload.nodes[0].debug_handle, out.delegate.origins.size());
  EXPECT_EQ(out.delegate.origins[out.payload.nodes[0].debug_handle]->module, "block.act");
}

TEST(Lower, NodesThatLeaveThePayloadHaveNoDebugHandle) {
  const Lowered out = lower_text(R"(graph f(%x: f32[3, 1], %y: f32[3, 4]) {
    %e: f32[3, 4] = aten.expand(%x, [3, 4])  @ "block.expand" "model.py:6"
    %s: f32[3, 4] = aten.add.Tensor(%e, %y)  @ "block.add" "model.py:7"
    return %s
  })");
  ASSERT_EQ(out.payload.nodes.size(), 1u) << "the sum broadcasts";
  EXPECT_EQ(out.payload.nodes[0].debug_handle, 0u);
  ASSERT_EQ(out.delegate.origins.size(), 1u);
  EXPECT_EQ(out.delegate.origins[0]->module, "block.add");
}

TEST(Lower, ANumberMayStandOnTheLeft) {
  const Lowered out = lower_text(R"(graph f(%x: f32[2, 2]) {
    %a: f32[2, 2] = aten.sub.Tensor(3, %x)
    %b: f32[2, 2] = aten.div.Tensor(2, %a)
    return %b
  })");
  ASSERT_EQ(out.payload.nodes.size(), 2u);
  for (const PayloadNode& node : out.payload.nodes) {
    EXPECT_NE(out.payload.values[node.inputs[0]].constant, 0u) << "the number is the left operand";
    EXPECT_EQ(out.payload.values[node.inputs[1]].constant, 0u);
  }
}

TEST(Lower, AFeatureOfSizeOneIsInnermostForTheResultsSake) {
  // [2, 4, 6, 1] looks innermost in any order; [2, 4, 6, 5] does not.
  const Lowered out = lower_text(R"(graph f(%x: f32[2, 4, 6, 1]) {
    const %w: f32[4, 4, 1, 1] = ...
    const %l: f32[5, 1] = ...
    %a: f32[2, 4, 6, 1] = aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %b: f32[2, 4, 6, 5] = aten.linear(%a, %l)
    %c: f32[2, 4, 6, 5] = aten.convolution(%b, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %c
  })");
  EXPECT_EQ(out.count("static_transpose"), 3) << "at both ends, and between the linear and the second convolution";
}

// Bytes of other sizes may be the right elements in another order.
TEST(Lower, AResultOfOtherSizesIsABug) {
  const auto function = compiler::parse_graph("graph f(%x: f32[2, 3]) {\n %y = aten.abs(%x)\n return %y\n}");
  ASSERT_TRUE(function.ok());
  const compiler::Node& node = *function->graph->nodes().front();
  const compiler::TargetContext context;
  Lowering lowering(*function->graph, context);
  const auto set = [&](const Sizes& dims) {
    return compiler::catch_failure([&] { lowering.set_result(node, lowering.value(dims)); });
  };
  EXPECT_TRUE(set({2, 3}).ok());
  EXPECT_TRUE(set({2, 1, 3}).ok());
  EXPECT_EQ(set({3, 2}).diag().code, compiler::Code::internal);
  EXPECT_EQ(set({6}).diag().code, compiler::Code::internal);
}

TEST(Lower, SameGraphSameBytes) {
  const std::string text = std::string(R"(graph f(%x: f32[1, 3, 8, 8]) {
    const %w: f32[16, 3, 3, 3] = ...
    %a: f32[1, 16, 8, 8] = aten.convolution(%x, %w)") +
                           kConv + R"(
    %s: f32[1, 16, 8, 8] = aten.silu(%a)
    return %s
  })";
  EXPECT_EQ(lower_text(text).delegate.payload, lower_text(text).delegate.payload);
}

}  // namespace
}  // namespace wick::xnnpack::lower_test
