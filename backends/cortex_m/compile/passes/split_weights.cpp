#include "backends/cortex_m/compile/passes/split_weights.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::PipelineOptions;
using compiler::Quantization;
using compiler::Result;
using compiler::TensorType;
using compiler::Value;

namespace {

constexpr double kLargest = 127, kFiner = 254;  // steps of the rest in one of the rounded weights: half fits int8
constexpr double kFinerSums = 64;               // int16 steps in one of the int8 result: 512 int8 steps fit 16 bits
constexpr double kCoarserSums = 2;  // int16 steps of the result in one of the parts, which may exceed their sum

bool is_int8_layer(const Node& node) { return is_int8(*node.tensor("input")) && is_int8(*node.result()); }
bool is_int16_layer(const Node& node) { return is_int16(*node.tensor("input")) && is_int16(*node.result()); }

struct Split {
  std::vector<int8_t> rounded, rest;  // weight = rounded * steps + rest * steps / kFiner
  std::vector<double> steps;          // scale of `rounded` for each channel
  size_t dim = 0;                     // of the weights' channels
};

// Nullopt: the remaining errors of the weights could add up to more than half of `tolerance`.
std::optional<Split> split(const Node& node, double tolerance) {
  const Value& weight = *node.tensor("weight");
  const std::vector<double> all = numbers(weight);
  Split out;
  out.dim = node.is("aten.convolution.default") && node.boolean("transposed") ? 1 : 0;
  const auto channels = static_cast<size_t>(weight.sizes()[out.dim].value());
  size_t inner = 1;
  for (size_t d = out.dim + 1; d < weight.rank(); ++d) inner *= static_cast<size_t>(weight.sizes()[d].value());
  out.steps.assign(channels, 0);
  const auto channel_of = [&](size_t i) { return i / inner % channels; };
  if (all.empty()) return {};
  for (size_t i = 0; i < all.size(); ++i) {
    if (!std::isfinite(all[i])) return {};
    out.steps[channel_of(i)] = std::max(out.steps[channel_of(i)], std::abs(all[i]) / kLargest);
  }
  for (double& step : out.steps) step = step > 0 ? step : 1;
  std::vector<double> left(channels);  // sum of the weights' errors in each channel
  for (size_t i = 0; i < all.size(); ++i) {
    const double step = out.steps[channel_of(i)], rounded = round_half_even(all[i] / step);
    const double rest = round_half_even((all[i] / step - rounded) * kFiner);
    out.rounded.push_back(static_cast<int8_t>(rounded));
    out.rest.push_back(static_cast<int8_t>(rest));
    left[channel_of(i)] += std::abs(all[i] - (rounded + rest / kFiner) * step);
  }
  const Affine x = affine(*node.tensor("input"));
  const double reach = x.scale * std::max(std::abs(x.min - x.zero), std::abs(x.max - x.zero));
  return *std::max_element(left.begin(), left.end()) * reach <= tolerance / 2 ? std::optional<Split>(std::move(out))
                                                                              : std::nullopt;
}

class Splitting {
 public:
  Splitting(Graph& graph, Node& node) : graph_(graph), node_(node) {}

  // From int8 to int8, with int16 in between.
  void build_narrow(const Split& split) {
    Value *x = node_.tensor("input"), *y = node_.result();
    Value* input = add("wick.convert.default", {x}, as_int16(x->tensor(), affine(*x).scale));
    const TensorType sums = as_int16(y->tensor(), affine(*y).scale / kFinerSums);
    add("wick.convert.default", {sum_of_parts(split, input, sums, sums)}, y->tensor());
  }
  // From int16 to int16.
  void build_wide(const Split& split) {
    const TensorType& type = node_.result()->tensor();
    sum_of_parts(split, node_.tensor("input"), as_int16(type, affine(*node_.result()).scale * kCoarserSums), type);
  }

  // Returns the new nodes if the backend takes all of them; otherwise erases them.
  std::vector<Node*> finish(const PipelineOptions& options) {
    if (std::all_of(made_.begin(), made_.end(), [&](const Node* node) { return options.takes(*node); })) return made_;
    for (auto node = made_.rbegin(); node != made_.rend(); ++node) graph_.erase(*node);
    return {};
  }

 private:
  Value* add(std::string_view op, Args args, const TensorType& type) {
    return record(graph_.add_node(compiler::op(op), std::move(args), 1, &node_, node_.result()->name), type);
  }
  Value* record(Node* node, const TensorType& type) {
    node->origin = node_.origin;
    node->more_origins = node_.more_origins;
    node->result()->type = compiler::Type::of(type.dtype, type.sizes);
    node->result()->type.tensor = type;
    made_.push_back(node);
    return node->result();
  }

  Value* sum_of_parts(const Split& split, Value* input, const TensorType& parts, const TensorType& sum) {
    const Value& weight = *node_.tensor("weight");
    Value* most = layer(input, weights(weight, split.rounded, split, 1), true, parts);
    Value* rest = layer(input, weights(weight, split.rest, split, kFiner), false, parts);
    return add("aten.add.Tensor", {most, rest}, sum);
  }

  Value* layer(Value* input, Value* weight, bool with_bias, const TensorType& type) {
    Args args = node_.args();
    const auto index = [&](const char* name) { return static_cast<size_t>(node_.op->parsed->find(name)); };
    args[index("input")] = input;
    args[index("weight")] = weight;
    if (!with_bias) args[index("bias")] = compiler::None();
    return record(graph_.add_node(*node_.op, std::move(args), 1, &node_, node_.result()->name), type);
  }

  Value* weights(const Value& like, std::vector<int8_t> elements, const Split& split, double finer) {
    auto q = std::make_shared<Quantization>();
    std::vector<double> scales = split.steps;
    for (double& scale : scales) scale /= finer;
    q->quant_min = -static_cast<int64_t>(kLargest);
    q->blocks.assign(like.rank(), 0);
    q->blocks[split.dim] = 1;
    q->zero_points = compiler::NumberList::of(DType::i64, std::vector<double>(scales.size()));
    q->scales = compiler::NumberList::of(DType::f64, scales);
    TensorType type = like.tensor();
    type.dtype = DType::i8;
    type.dim_order.clear();
    type.quantization = std::move(q);
    return graph_.add_constant(std::move(type), compiler::layout::own(std::move(elements)),
                               graph_.unique_name(like.name));
  }

  Graph& graph_;
  Node& node_;
  std::vector<Node*> made_;
};

}  // namespace

bool has_float_weights(const Node& node) {
  if (!node.is("aten.convolution.default") && !node.is("aten.linear.default")) return false;
  const Value *weight = node.tensor("weight"), *bias = node.optional_tensor("bias");
  return weight->is_constant() && !weight->is_quantized() && weight->dtype() == DType::f32 && weight->rank() > 1 &&
         (!bias || bias->is_constant()) && is_known_but_batch(*node.tensor("input"));
}

std::vector<Node*> split_layer(Graph& graph, Node& node, double tolerance, const PipelineOptions& options) {
  const auto parts = is_int16_layer(node) ? split(node, tolerance) : std::nullopt;
  if (!parts) return {};
  Splitting splitting(graph, node);
  splitting.build_wide(*parts);
  return splitting.finish(options);
}

// A layer from int8 to int8 whose weights no quantizer annotated becomes two layers: one with weights rounded to int8,
// and one with the remainder of the weights, as int8 on a finer scale.
//   before: y: i8 q(s, z) = linear(x: i8, w: f32, b)
//   after:  h: i16 = linear(c, w0: i8 q(t), b); l: i16 = linear(c, w1: i8 q(t / 254)); y: i8 q(s, z) = convert(h + l)
//           with c: i16 = convert(x)
// Together the weights have 16 bits. Requires: quantization is in types. Keeps: every number, apart from the remaining
// errors of the weights: at most half a step of the result. Layers in which they could exceed that stay.
Result<Changed> split_weights(Graph& graph, const PipelineOptions& options) {
  if (!options.takes) return Changed::no;
  const compiler::SymScope scope(graph.ranges);  // for sizes that rules leave open
  return compiler::for_each_graph(graph, [&](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) {
      if (!has_float_weights(*node) || !is_int8_layer(*node)) continue;
      const auto parts = split(*node, affine(*node->result()).scale);
      if (!parts) continue;
      Splitting splitting(g, *node);
      splitting.build_narrow(*parts);
      const std::vector<Node*> made = splitting.finish(options);
      if (made.empty()) continue;
      g.replace_unchecked(node->result(), made.back()->result());
      g.erase(node);
      changed = true;
    }
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
