// Bilinear and nearest upsampling of images, by an operator of Wick. The taps are eager's result for images with a
// single pixel of 1.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/analysis/evaluate.h"
#include "compiler/ir/decompose.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/support/failure.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_resize {
namespace {

constexpr int kTapBits = 11;      // of the weights along one dimension, for int8
constexpr int kWideTapBits = 20;  // .. and for int16; the kernel keeps 16 bits of their sum
constexpr int kWideSumBits = 16;
constexpr double kLargestFactor = 3;      // of scales: weights are off by 2^-12 in each of two dimensions
constexpr double kWideLargestFactor = 7;  // .. or by 2^-21 for int16 elements
constexpr int64_t kLargestSize = 1024;    // of an image whose taps are computed

bool is_bilinear(const Node& node) { return node.op->parsed->find("align_corners") >= 0; }

const char* operator_of(const Node& node) {
  const bool exact = node.is("aten._upsample_nearest_exact2d.default") || node.is("aten._upsample_nearest_exact2d.vec");
  return is_bilinear(node) ? "aten.upsample_bilinear2d"
         : exact           ? "aten._upsample_nearest_exact2d"
                           : "aten.upsample_nearest2d";
}

// The first operand is called input or self, depending on the operator.
Value* image_of(const Node& node) { return node.operands()[0]; }

// The scale factor that the node gives for a dimension, or none.
compiler::Arg scale_along(const Node& node, size_t axis) {
  if (node.op->parsed->find("scales_h") >= 0) return node.arg(axis == 0 ? "scales_h" : "scales_w");
  const compiler::Arg& scales = node.arg("scale_factors");
  if (scales.is<compiler::None>()) return compiler::None();
  return scales.as<compiler::Reals>()[axis];
}

// weights[o * size + i]: the weight of pixel i in position o of `count`.
std::vector<float> weights_along(const Node& node, size_t axis, int64_t size, int64_t count) {
  compiler::Graph graph;
  Builder b(graph, nullptr);
  std::vector<float> pixels(static_cast<size_t>(size * size), 0);
  for (int64_t i = 0; i < size; ++i) pixels[static_cast<size_t>(i * size + i)] = 1;  // channel i: pixel i
  Value* x = b.constant({DType::f32, {1, size, size, 1}, {}}, compiler::layout::own(std::move(pixels)), "pixels");
  Args args = {x, Ints{count, 1}};
  if (is_bilinear(node)) args.push_back(node.boolean("align_corners"));
  args.push_back(scale_along(node, axis));
  args.push_back(compiler::None());
  compiler::GraphOutput output;
  output.value = b.call(operator_of(node), std::move(args));
  graph.add_output(std::move(output));
  const auto has_kernel = [](const Node& inner) { return compiler::can_evaluate(inner); };
  compiler::throw_if_error(compiler::decompose(graph, has_kernel));
  compiler::HostValues values;
  compiler::throw_if_error(compiler::evaluate_graph(graph, values));
  const auto& result = std::get<compiler::HostTensor>(values.at(graph.outputs[0].value));
  const auto bytes = result.data.bytes();
  std::vector<float> by_pixel(bytes.size() / sizeof(float)), weights;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(by_pixel.data()));
  for (int64_t o = 0; o < count; ++o) {
    for (int64_t i = 0; i < size; ++i) weights.push_back(by_pixel[static_cast<size_t>(i * count + o)]);
  }
  return weights;
}

// {first pixel, weight of the second pixel} for each position.
std::vector<int32_t> taps_along(const Node& node, size_t axis, int bits) {
  const int64_t size = image_of(node)->sizes()[2 + axis].value(), count = node.result()->sizes()[2 + axis].value();
  const std::vector<float> weights = weights_along(node, axis, size, count);
  std::vector<int32_t> taps;
  for (int64_t o = 0; o < count; ++o) {
    const float* row = weights.data() + o * size;
    const int64_t first = std::find_if(row, row + size, [](float weight) { return weight != 0; }) - row;
    const double second = first + 1 < size ? std::clamp<double>(row[first + 1], 0, 1) : 0;
    taps.push_back(static_cast<int32_t>(std::min(first, size - 1)));
    taps.push_back(static_cast<int32_t>(round_half_even(std::ldexp(second, bits))));
  }
  return taps;
}

std::optional<Requantization> factor_of(const Node& node) {
  const double factor = affine(*image_of(node)).scale / affine(*node.result()).scale;
  return requantization(std::ldexp(factor, computes_on_int16(node) ? -kWideSumBits : -2 * kTapBits));
}

Refusal refuse_resize(const Node& node) {
  Refusal reason = computes_on_int16(node) ? refuse_int16(node) : refuse_int8(node);
  if (!reason.empty()) return reason;
  const Value* x = image_of(node);
  if (x->rank() != 4)
    return {"wanted images [N, C, H, W]",
            "view it as images: x.unsqueeze(0) for one without a batch, x.unsqueeze(-2) for rows"};
  for (const Value* image : {x, static_cast<const Value*>(node.result())}) {
    for (size_t axis = 0; axis < 2; ++axis) {
      const compiler::Sym& size = image->sizes()[2 + axis];
      if (size.value() < 1 || size.value() > kLargestSize)
        return {"an image of more than 1024 rows or columns", "resize it in parts"};
    }
  }
  const double factor = affine(*x).scale / affine(*node.result()).scale;
  const double largest = computes_on_int16(node) ? kWideLargestFactor : kLargestFactor;
  if (!factor_of(node) || (is_bilinear(node) && factor > largest))
    return {"the scale of its result is too small for that of its input", "give its result the scale of its input"};
  return {};
}

Verdict supports_resize(const Node& node, const Configuration& configuration) {
  const Refusal reason = refuse_resize(node);
  if (!reason.empty()) return refused(reason);
  return configuration.stock_only ? refused({"stock has no integer form of it", kProfileAuto}) : Verdict::yes();
}

// Whether the portable kernel moves the pixels: with profile stock, and for int16.
bool is_moved(const Node& node, const Configuration& configuration) {
  return configuration.stock_only || computes_on_int16(node);
}

Verdict supports_nearest(const Node& node, const Configuration& configuration) {
  return is_moved(node, configuration) ? kMovementRule.supports(node, configuration)
                                       : supports_resize(node, configuration);
}

std::vector<Value*> rewrite_resize(Builder& b, Node& node, const Configuration&) {
  const Affine from = affine(*image_of(node)), to = affine(*node.result());
  const Requantization factor = *factor_of(node);
  const bool wide = computes_on_int16(node);
  Args args = {image_of(node)};
  for (size_t axis = 0; axis < 2; ++axis) {
    std::vector<int32_t> taps = taps_along(node, axis, wide ? kWideTapBits : kTapBits);
    const auto count = static_cast<int64_t>(taps.size());
    args.push_back(constant(b, {count}, std::move(taps), axis == 0 ? "rows" : "columns"));
  }
  std::vector<int64_t> scales = {from.zero, factor.multiplier, factor.shift, to.zero, to.min, to.max};
  if (wide) scales = {factor.multiplier, factor.shift, to.min, to.max};
  args.insert(args.end(), scales.begin(), scales.end());
  return {b.call(wide ? "wick_cortex_m.resize2d_int16" : "wick_cortex_m.resize2d", std::move(args))};
}

std::vector<Value*> rewrite_nearest(Builder& b, Node& node, const Configuration& configuration) {
  return is_moved(node, configuration) ? kMovementRule.rewrite(b, node, configuration)
                                       : rewrite_resize(b, node, configuration);
}

constexpr OpRule kRules[] = {
    {"aten._upsample_nearest_exact2d.default", supports_resize, rewrite_resize, true},
    {"aten._upsample_nearest_exact2d.vec", supports_resize, rewrite_resize, true},
    {"aten.upsample_bilinear2d.default", supports_resize, rewrite_resize, true},
    {"aten.upsample_bilinear2d.vec", supports_resize, rewrite_resize, true},
    {"aten.upsample_nearest2d.default", supports_nearest, rewrite_nearest, true},
    {"aten.upsample_nearest2d.vec", supports_nearest, rewrite_nearest, true},
};

}  // namespace
}  // namespace rules_resize

const RuleFamily kResizeRules = {rules_resize::kRules, std::size(rules_resize::kRules)};

}  // namespace wick::cortex_m
