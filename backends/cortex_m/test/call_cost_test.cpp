// What the cost model counts, and that its table fits the list of kernels.
#include "backends/cortex_m/compile/cost/call_cost.h"

#include <gtest/gtest.h>

#include <set>

namespace wick::cortex_m::call_cost_test {
namespace {

using compiler::CallArgument;
using compiler::CallCost;

CallArgument tensor(std::vector<int64_t> sizes, DType dtype = DType::i8, bool constant = false) {
  CallArgument argument;
  argument.is_tensor = true;
  argument.is_constant = constant;
  argument.dtype = dtype;
  for (size_t i = 0; i < sizes.size(); ++i) argument.dim_order.push_back(static_cast<uint8_t>(i));
  argument.sizes = std::move(sizes);
  return argument;
}
CallArgument numbers(std::vector<int64_t> list) {
  CallArgument argument;
  argument.numbers = std::move(list);
  return argument;
}

CallCost cost(const std::string& name, std::vector<CallArgument> arguments, const std::string& isa = "mve") {
  const std::vector<std::string> facts = {"cortex_m.cpu=some", "cortex_m.isa=" + isa};
  return call_cost({name, std::move(arguments)}, {facts.data(), facts.size()});
}

double count(const CallCost& cost, std::string_view term) {
  for (const compiler::CostTerm& each : cost.terms) {
    if (each.name == term) return each.count;
  }
  ADD_FAILURE() << "no term " << term;
  return -1;
}

// Eight outputs of 3 x 3 x 2 taps at 5 x 5 positions with a border.
CallCost convolution(const std::string& isa) {
  return cost(
      "cortex_m::quantized_conv2d.out",
      {tensor({1, 2, 5, 5}), tensor({8, 3, 3, 2}, DType::i8, true), numbers({}), numbers({1, 1}), numbers({1, 1}),
       numbers({1, 1}), numbers({3}), numbers({4}), tensor({8}, DType::i32, true), tensor({8}, DType::i32, true),
       numbers({-128}), numbers({127}), tensor({192}, DType::u8), tensor({1, 8, 5, 5})},
      isa);
}

// Eight outputs of the four channels of 5 x 6 pixels, with padding at the ends of both dimensions.
CallCost packed_pixels(std::vector<int64_t> padding, bool summed = false, int64_t scratch = 0) {
  const CallArgument none = numbers({}), row = tensor({8}, DType::i32, true);
  return cost("wick_cortex_m::conv2d_int4.out",
              {tensor({1, 4, 5, 6}), tensor({8, 4}, DType::u8, true), summed ? none : row, summed ? row : none,
               numbers({1, 1}), numbers({1}), numbers({1, 1}), numbers(std::move(padding)), numbers({1, 1}),
               tensor({scratch}, DType::u8), tensor({1, 8, 5, 6})});
}

TEST(CallCost, PixelsOfAPackedConvolutionAreCopiedIfThereIsPadding) {
  EXPECT_EQ(count(packed_pixels({0, 0}), "copies"), 0);
  EXPECT_EQ(count(packed_pixels({0, 1}), "copies"), 30);
  EXPECT_EQ(count(packed_pixels({0, 0, 1, 0}), "copies"), 30);
  EXPECT_EQ(count(packed_pixels({0, 0}, true), "copies, summed"), 0);
  EXPECT_EQ(count(packed_pixels({0, 1}, true), "copies, summed"), 30);
}

// Three of eight outputs need 12 bytes, four bytes a weight's row. With sums nothing is unpacked.
TEST(CallCost, APackedConvolutionIsOneOnVectorsIfScratchHasRoomForThreeOutputs) {
  EXPECT_EQ(count(packed_pixels({0, 0}, false, 11), "on vectors"), 0);
  const double by_threes = count(packed_pixels({0, 0}, false, 12), "on vectors");
  const double whole = count(packed_pixels({0, 0}, false, 32), "on vectors");
  EXPECT_GT(by_threes, whole);
  EXPECT_GT(whole, 0);
  EXPECT_EQ(packed_pixels({0, 0}).macs, 30u * 8 * 4);
  EXPECT_EQ(packed_pixels({0, 0}, true).macs, 30u * 8 * 4);
}

TEST(CallCost, PackedWeightsAreConstantsAndNoScratch) {
  const CallCost found = packed_pixels({0, 0}, false, 12);
  EXPECT_EQ(found.scratch_bytes, 12u);
  EXPECT_EQ(found.constant_bytes, 8u * 4 + 8 * 4) << "weights and bias";
}

// Twelve channels of 4 x 5 pixels, whose nine taps are rows of eight bytes.
TEST(CallCost, APackedDepthwiseConvolutionCostsWhatThatOfInt8Does) {
  const auto depthwise = [](const std::string& kernel, int64_t row, DType weights) {
    const CallArgument scales = tensor({12}, DType::i32, true), one = numbers({1});
    return cost(kernel, {tensor({1, 12, 4, 5}), tensor({1, 3, 3, row}, weights, true), scales, numbers({1, 1}),
                         numbers({1, 1}), numbers({1, 1}), one, one, one, scales, scales, one, one,
                         tensor({64}, DType::u8), tensor({1, 12, 4, 5})});
  };
  const CallCost packed = depthwise("wick_cortex_m::depthwise_conv2d_int4.out", 8, DType::u8),
                 whole = depthwise("cortex_m::quantized_depthwise_conv2d.out", 12, DType::i8);
  EXPECT_EQ(packed.macs, 20u * 12 * 9);
  EXPECT_EQ(packed.macs, whole.macs);
  EXPECT_GT(packed.instructions(), 1000);
  EXPECT_EQ(packed.instructions(), whole.instructions());
}

// Seven steps of two sequences; four gates of five cells read three inputs and five cells.
TEST(CallCost, ARecurrentLayerCountsTheProductsOfAllSteps) {
  const CallArgument factors = tensor({20, 2}, DType::i32, true);
  const CallCost found =
      cost("wick_cortex_m::lstm.out", {tensor({7, 2, 3}), tensor({20, 3}, DType::i16, true),
                                       tensor({20, 5}, DType::i16, true), factors, tensor({7, 2, 5})});
  EXPECT_EQ(found.macs, 7u * 2 * 20 * (3 + 5));
  EXPECT_EQ(count(found, "cells"), 7 * 2 * 5);
  EXPECT_TRUE(found.is_known);
}

TEST(CallCost, AConvolutionCountsProductsMemoryAndBorders) {
  const CallCost found = convolution("mve");
  EXPECT_EQ(found.macs, 25u * 8 * 18);
  EXPECT_EQ(found.constant_bytes, 8u * 18 + 2 * 8 * 4);
  EXPECT_EQ(found.scratch_bytes, 192u);
  EXPECT_EQ(count(found, "outputs"), 200);
  EXPECT_EQ(count(found, "vectors"), 200 * 2) << "18 products are two vectors";
  EXPECT_EQ(count(found, "split lines"), 75 * 2 / 5.0) << "two of five columns reach into the padding";
  EXPECT_TRUE(found.is_known);
  EXPECT_GT(found.instructions(), 1000);
}

TEST(CallCost, VariantsAreThoseOfTheInstructionSet) {
  EXPECT_EQ(convolution("mve").variant, "mve");
  EXPECT_EQ(convolution("dsp").variant, "plain");
  EXPECT_EQ(convolution("scalar").variant, "plain");
  EXPECT_LT(convolution("mve").instructions(), convolution("dsp").instructions());
  EXPECT_LT(convolution("dsp").instructions(), convolution("scalar").instructions());
  EXPECT_EQ(cost("wick_cortex_m::layer_norm.out", {tensor({4, 8}), tensor({4, 8})}).variant, "reference");
  EXPECT_EQ(cost("aten::exp.out", {tensor({4}, DType::f32), tensor({4}, DType::f32)}).variant, "portable");
}

TEST(CallCost, WithoutAnInstructionSetItIsThatOfMve) {
  const CallCost found =
      call_cost({"cortex_m::quantized_activation.out", {tensor({4}), tensor({256}), tensor({4})}}, {});
  EXPECT_EQ(found.variant, "mve");
}

TEST(CallCost, RunsEndWhereOperandsAreSpread) {
  const auto add = [](std::vector<int64_t> other) {
    std::vector<CallArgument> arguments = {tensor({2, 3, 4, 5})};
    for (int i = 0; i < 3; ++i) arguments.push_back(numbers({1}));
    arguments.push_back(tensor(std::move(other)));
    arguments.push_back(tensor({2, 3, 4, 5}));
    return count(cost("wick_cortex_m::add.out", std::move(arguments)), "runs");
  };
  EXPECT_EQ(add({2, 3, 4, 5}), 1);
  EXPECT_EQ(add({1, 3, 1, 1}), 2 * 3);
  EXPECT_EQ(add({5}), 2 * 3 * 4);
}

TEST(CallCost, LinesThatAreJoinedAreCopiedInPieces) {
  const auto join = [](const CallArgument& other) {
    CallArgument tensors, x = tensor({1, 21, 5, 4}), y = tensor({1, 0, 5, 4});
    x.dim_order = y.dim_order = {0, 2, 3, 1};
    y.sizes[1] = 21 + other.sizes[1];
    tensors.items = {x, other};
    return cost("aten::cat.out", {tensors, numbers({1}), y});
  };
  CallArgument other = tensor({1, 11, 5, 4});
  EXPECT_EQ(count(join(other), "pieces"), 32 * 20) << "in another layout: each element";
  other.dim_order = {0, 2, 3, 1};
  EXPECT_EQ(count(join(other), "sixteens"), 20);
  EXPECT_EQ(count(join(other), "pieces"), 20 * (2 + 4)) << "4 + 1, and 8 + 1 + 1 + 1";
  other.sizes[1] = 65;
  EXPECT_EQ(count(join(other), "lines"), 20);
  EXPECT_EQ(count(join(other), "bytes"), 20 * 65);
}

TEST(CallCost, UnknownKernelsAndOddArgumentsHaveNoCost) {
  EXPECT_FALSE(cost("aten::no_such_kernel.out", {tensor({4}), tensor({4})}).is_known);
  EXPECT_EQ(cost("cortex_m::quantized_conv2d.out", {tensor({4})}).macs, 0u) << "a call without weights";
  EXPECT_EQ(cost("cortex_m::quantized_add.out", {}).terms.size(), 0u);
  const int64_t huge = INT32_MAX;
  const CallCost found =
      cost("cortex_m::quantized_linear.out", {tensor({huge, huge}), tensor({huge, 1}), tensor({huge, huge})});
  EXPECT_GT(found.instructions(), 1e18);
}

// An operator on sizes NHWC takes what its twin on channels-last images does.
TEST(CallCost, ImagesOfEitherSizesCostTheSame) {
  const auto convolution = [](const char* name, std::vector<int64_t> from, std::vector<int64_t> to) {
    const CallArgument stride = numbers({1, 1}), padding = numbers({1, 1});
    return cost(name, {tensor(from), tensor({24, 3, 3, 16}, DType::i8, true), CallArgument(), stride, padding, stride,
                       CallArgument(), tensor(to)});
  };
  const CallCost nchw = convolution("cortex_m::quantized_conv2d.out", {1, 16, 7, 9}, {1, 24, 7, 9});
  const CallCost nhwc = convolution("cortex_m::quantized_conv2d_nhwc.out", {1, 7, 9, 16}, {1, 7, 9, 24});
  EXPECT_EQ(nhwc.macs, nchw.macs);
  EXPECT_GT(nhwc.macs, 0u);
  EXPECT_EQ(nhwc.instructions(), nchw.instructions());
}

// scripts/fit_cortex_m_costs.py adds rows.
TEST(CallCost, EveryKernelHasRowsAndEveryRowIsOfAKernel) {
  const std::set<std::string_view> kernels = {
#define KERNEL(name, signature, function, mve, dsp, scalar) name,
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
  };
  size_t own = 0;
  for (const std::string_view kernel : {
#define COST(kernel, term, mve, dsp, scalar) kernel,
#include "backends/cortex_m/kernels/costs.inc"
#undef COST
       }) {
    if (kernel.find("cortex_m::") == std::string_view::npos) continue;
    EXPECT_EQ(kernels.count(kernel), 1u) << kernel;
    ++own;
  }
  EXPECT_GT(own, 50u);
  for (const std::string_view kernel : kernels)
    EXPECT_TRUE(cost(std::string(kernel), {tensor({4})}).is_known) << kernel;
}

}  // namespace
}  // namespace wick::cortex_m::call_cost_test
