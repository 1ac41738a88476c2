#include <cmath>

#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// A convolution, linear or addmm with constant weights whose result only one node reads.
std::optional<LinearLayer> match_producer(const Arg& arg) {
  Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  if (!value || !value->producer || value->num_uses() != 1 || value->rank() < 2) return std::nullopt;
  return value->producer->is("aten.mm.default") ? std::nullopt : match_linear_layer(*value->producer);
}

// --- the scale and shift that follow ---

struct ScaleShift {
  Reals64 scale, shift;  // one number per channel
};

std::optional<ScaleShift> match_batch_norm(const Node& node, const LinearLayer& layer) {
  if (!node.is("aten._native_batch_norm_legit_no_training.default") || layer.output_dim != 1) return std::nullopt;
  if (node.result(1)->num_uses() + node.result(2)->num_uses() != 0) return std::nullopt;
  const Value *gamma = node.optional_tensor("weight"), *beta = node.optional_tensor("bias");
  const Value *mean = node.tensor("running_mean"), *variance = node.tensor("running_var");
  for (const Value* parameter : {gamma, beta, mean, variance}) {
    if (parameter &&
        (!has_reals(parameter) || !(numel(parameter->sizes()) == Sym(static_cast<int64_t>(layer.outputs)))))
      return std::nullopt;
  }
  const Reals64 means = reals_of(*mean), variances = reals_of(*variance);
  ScaleShift out{Reals64(layer.outputs, 1), Reals64(layer.outputs, 0)};
  if (gamma) out.scale = reals_of(*gamma);
  if (beta) out.shift = reals_of(*beta);
  const double epsilon = node.real("eps");
  for (size_t c = 0; c < layer.outputs; ++c) {
    out.scale[c] /= std::sqrt(variances[c] + epsilon);
    out.shift[c] -= means[c] * out.scale[c];
  }
  return out;
}

// Matches mul, div, add or sub with constants. `side` is the argument that holds the layer's result.
std::optional<ScaleShift> match_arithmetic(const Node& node, const LinearLayer& layer, size_t side) {
  const bool add = node.is(Binary::add), sub = node.is(Binary::sub);
  const bool mul = node.is(Binary::mul), div = node.is(Binary::div);
  if ((!add && !sub && !mul && !div) || ((sub || div) && side != 0)) return std::nullopt;
  if ((add || sub) && (node.arg(2).is<Value*>() || node.real("alpha") != 1)) return std::nullopt;
  const Value* result = node.result();
  auto numbers = per_channel(node.arg(1 - side), result->dtype(), result->rank(), layer.output_dim, layer.outputs);
  if (!numbers) return std::nullopt;
  if (div)
    for (double& number : *numbers) number = 1 / number;
  const Value& weights = *layer.weight();
  if ((mul || div) && !keep_digits(*numbers, weights.dtype(), weights.data)) return std::nullopt;
  if (mul || div) return ScaleShift{std::move(*numbers), Reals64(layer.outputs, 0)};
  if (sub)
    for (double& number : *numbers) number = -number;
  return ScaleShift{Reals64(layer.outputs, 1), std::move(*numbers)};
}

bool fold_norm(Graph& graph, Node& node, const LinearLayer& layer, ScaleShift change) {
  Value* result = node.result();
  if (result->type != layer.node->result()->type) return false;
  LayerChange outputs;
  outputs.output_scale = std::move(change.scale);
  outputs.output_shift = std::move(change.shift);
  auto weights = changed_weights(layer, outputs);
  if (!weights) return false;
  set_weights(graph, layer, std::move(*weights));
  add_origins(*layer.node, node);
  graph.replace(result, layer.node->result());
  graph.erase(&node);
  return true;
}

bool fold_into_producer(Graph& graph, Node& node) {
  const bool norm = node.is("aten._native_batch_norm_legit_no_training.default");
  if (!norm && node.results().size() != 1) return false;
  for (size_t side = 0; side < (norm ? 1u : 2u) && side < node.args().size(); ++side) {
    const auto layer = match_producer(node.arg(side));
    if (!layer) continue;
    auto change = norm ? match_batch_norm(node, *layer) : match_arithmetic(node, *layer, side);
    if (change && fold_norm(graph, node, *layer, std::move(*change))) return true;
  }
  return false;
}

}  // namespace

// Folds batch norm, and multiplication or addition by one constant per channel, into the preceding weights.
//   before: c = convolution(x, w, b); y = batch_norm(c, gamma, beta, mean, var, eps)
//   after:  y = convolution(x, w * s, (b - mean) * s + beta),  s = gamma / sqrt(var + eps), in double, rounded once
// Requires: constants are folded (weights after a permute are constants). Matches convolution, linear and addmm whose
// result has one reader.
// Keeps: values up to rounding. Leaves alone: parameters that are not constants, norms whose other results are read,
// weights that would not be finite, and factors that would take digits from the weights (keep_digits).
Result<Changed> fold_batch_norm(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) {
    Changed changed = Changed::no;
    for (auto it = g.nodes().begin(); it != g.nodes().end();) {
      Node& node = **it++;
      if (fold_into_producer(g, node)) changed = Changed::yes;
    }
    return changed;
  });
}

}  // namespace wick::compiler
