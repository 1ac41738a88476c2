#include "backends/cortex_m/compile/passes/linear_layers.h"

#include "compiler/ops/rules.h"
#include "compiler/passes/rewrite.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Conversion;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Value;

namespace {

bool is_weight(const Value& value) {
  if (value.rank() != 2) return false;
  const Node* node = value.producer;
  return value.is_constant() ||
         (node && compiler::converts(*node, Conversion::dequantize) && node->operands()[0]->is_constant());
}

// The matrix that each of a stack of matrices is; the value itself if it is one.
const Value& matrix_of(const Value& stack) {
  const Value* value = &stack;
  while (value->rank() == 3 && value->producer) {
    const Node& node = *value->producer;
    const bool expands = node.is("aten.expand.default");
    const bool adds_dim = node.is("aten.view.default") || node.is("aten.unsqueeze.default");
    if (!expands && !adds_dim) break;
    const Value& x = *node.operands()[0];
    const bool same_rows =
        x.rank() >= 2 && x.sizes().back() == value->sizes().back() && x.sizes()[x.rank() - 2] == value->sizes()[1];
    if (!same_rows || (x.rank() == 3 && !expands)) break;
    value = &x;
  }
  return value->rank() == 2 ? *value : stack;
}

// Whether the result is the transposed operand. One row becomes a column by a view, too.
bool transposes(const Node& node) {
  if (node.is("aten.permute.default")) return node.static_ints("dims") == std::vector<int64_t>{1, 0};
  if (!node.is("aten.view.default")) return false;
  const compiler::Sizes &from = node.tensor("self")->sizes(), &to = node.result()->sizes();
  return from.size() == 2 && to.size() == 2 && from[0].is(1) && to[1].is(1) && from[1] == to[0];
}

// [N, K] of weights whose transposed matrix this is, or a stack of that; null for others.
Value* rows_of(const Value& stack) {
  const Node* node = matrix_of(stack).producer;
  if (!node || !transposes(*node)) return nullptr;
  Value* weight = node->tensor("self");
  return is_weight(*weight) ? weight : nullptr;
}

bool adds_one_for_one(const Node& node) {
  return compiler::literal(node.arg("beta")) == 1.0 && compiler::literal(node.arg("alpha")) == 1.0;
}

Value* linear_of(Builder& b, Node& node) {
  const bool summed = node.is("aten.addmm.default");
  if (!summed && !node.is("aten.mm.default") && !node.is("aten.bmm.default")) return nullptr;
  Value* weight = rows_of(*node.tensor("mat2"));
  if (!weight) return nullptr;
  if (!summed) return b.call("aten.linear", {node.tensor("self"), weight});
  Value* bias = node.tensor("self");
  const bool for_each_output = bias->rank() == 1 && bias->sizes()[0] == weight->sizes()[0];
  return for_each_output && adds_one_for_one(node) ? b.call("aten.linear", {node.tensor("mat1"), weight, bias})
                                                   : nullptr;
}

}  // namespace

// Matmuls with constant weights are linear layers.
//   before: t = permute(dequantize(w), [1, 0]); y = addmm(b, x, t)        after: y = linear(x, dequantize(w), b)
//           u = view(t, [1, K, N]); y = bmm(x, u)                         after: y = linear(x, dequantize(w))
// Programs hold them so after run_decompositions(). Weights with a scale for each output have one for each column of
// the permuted matrix, which no matmul takes. Requires: quantization is in nodes. Keeps: every number.
Result<Changed> linear_layers(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    constexpr compiler::Rule kRules[] = {linear_of};
    return compiler::rewrite_nodes(g, Span<const compiler::Rule>(kRules));
  });
}

}  // namespace wick::cortex_m
