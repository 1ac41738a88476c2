#include <algorithm>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/pointwise/clamp.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Quantization;
using compiler::Result;
using compiler::Value;

namespace {

// The producer of the activation's operand, if it can clamp: the operand is its first result, has no other reader, and
// is either not quantized or has the activation's scale.
Node* producer_of(const Node& activation) {
  const Value* x = activation.operands()[0];
  if (!x->producer || x->num_uses() != 1 || x->producer->results()[0] != x) return nullptr;
  if (!find_rule(*x->producer)) return nullptr;
  if (!x->is_quantized()) return x->producer;
  const bool same = has_elements(*x) && x->dtype() == activation.result()->dtype() &&
                    same_numbers(affine(*x), affine(*activation.result()));
  return same ? x->producer : nullptr;
}

bool fuse(Graph& graph, Node& node) {
  const auto bounds = clamp_bounds(node);
  if (!bounds || !has_elements(*node.result())) return false;
  Node* producer = producer_of(node);
  if (!producer) return false;
  Value *x = producer->result(0), *result = node.result();
  const Affine q = affine(*result);
  int32_t min = quantize(bounds->low, q), max = quantize(bounds->high, q);
  if (x->is_quantized()) {
    // x has no elements beyond its range.
    min = std::clamp(min, affine(*x).min, affine(*x).max);
    max = std::clamp(max, affine(*x).min, affine(*x).max);
  }
  auto narrowed = std::make_shared<Quantization>(*result->tensor().quantization);
  narrowed->quant_min = min;
  narrowed->quant_max = max;
  x->type.tensor.dtype = result->dtype();
  x->type.tensor.quantization = std::move(narrowed);
  x->forget();
  compiler::add_origins(*producer, node);
  graph.replace_unchecked(result, x);
  graph.erase(&node);
  return true;
}

}  // namespace

// The operator before an activation that only clamps does the clamping, by the range of its elements.
//   before: y = linear(x, w); z: i8 q(s, p) = relu(y)        after: z: i8 q(s, p, range=p..127) = linear(x, w)
//   before: y: i8 q(s, p) = linear(x, w); z: i8 q(s, p) = relu(y)        after: the same
// Requires: quantization is in types; the operator's first result has one reader, and the backend has a rule for the
// operator. Keeps: every element: quantizing is monotonic, so the quantized bounds bound the quantized numbers.
Result<Changed> fuse_activations(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = fuse(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
