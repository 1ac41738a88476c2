#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::NumberList;
using compiler::Quantization;
using compiler::Result;
using compiler::Value;

namespace {

constexpr double kSlope = 6, kOffset = 0.5;  // hardsigmoid(x) = clamp(x / 6 + 1/2, 0, 1)

// The linear layer or convolution that computes the operand, if the node is its only reader.
Node* layer_before(const Node& node) {
  const Value* x = node.operands()[0];
  Node* layer = x->producer;
  const bool is_layer = layer && (layer->is("aten.convolution.default") || layer->is("aten.linear.default"));
  return is_layer && !x->is_quantized() && x->num_uses() == 1 ? layer : nullptr;
}

// The same elements, on a scale divided by the slope.
Value* divided_weight(Builder& b, const Value& weight) {
  compiler::TensorType type = weight.tensor();
  auto q = std::make_shared<Quantization>(*type.quantization);
  std::vector<double> scales = q->scales.all();
  for (double& scale : scales) scale /= kSlope;
  q->scales = NumberList::of(DType::f64, scales);
  type.quantization = std::move(q);
  return b.constant(std::move(type), weight.data, "weight");
}

Value* moved_bias(Builder& b, const Value* bias, int64_t outputs) {
  std::vector<double> real = bias ? numbers(*bias) : std::vector<double>(static_cast<size_t>(outputs), 0);
  std::vector<float> moved;
  for (const double number : real) moved.push_back(static_cast<float>(number / kSlope + kOffset));
  return b.constant({DType::f32, {outputs}, {}}, compiler::layout::own(std::move(moved)), "bias");
}

bool fold_into_layer(Graph& graph, Node& node) {
  if (!node.is("aten.hardsigmoid.default") || !is_int8(*node.result())) return false;
  Node* layer = layer_before(node);
  if (!layer) return false;
  const Value *weight = layer->tensor("weight"), *bias = layer->optional_tensor("bias");
  if (!weight->is_constant() || !weight->is_quantized() || weight->tensor().quantization->at_run_time ||
      (bias && !bias->is_constant()))
    return false;
  const bool rows = layer->is("aten.linear.default");
  const compiler::Sym outputs = rows ? layer->result()->sizes().back() : layer->result()->sizes()[1];
  if (!outputs.is_const()) return false;
  Builder b(graph, layer);
  compiler::Args args = layer->args();
  args[static_cast<size_t>(layer->op->parsed->find("weight"))] = divided_weight(b, *weight);
  args[static_cast<size_t>(layer->op->parsed->find("bias"))] = moved_bias(b, bias, outputs.value());
  graph.rewrite(layer, *layer->op, std::move(args));
  layer->result()->forget();
  graph.rewrite(&node, compiler::op("aten.clamp.default"), {layer->result(), 0.0, 1.0});
  return true;
}

}  // namespace

// A hardsigmoid becomes a clamp; the layer before it divides and adds.
//   before: y = convolution(x, w: i8 q(s), b); z: i8 q = hardsigmoid(y)
//   after:  y = convolution(x, w: i8 q(s / 6), b / 6 + 1/2); z: i8 q = clamp(y, 0, 1)
// fuse_activations makes one operator of the two. Requires: quantization is in types; y has no other reader and is not
// quantized. Keeps: every number, apart from rounding in floats.
Result<Changed> fold_hardsigmoid(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = fold_into_layer(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
