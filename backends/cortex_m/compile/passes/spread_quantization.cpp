#include <algorithm>

#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Quantization;
using compiler::Result;
using compiler::Value;

namespace {

// Whether the value is f32 and only nodes read it, so that it may become quantized. A dequantized value is excluded: it
// stands between elements of two different scales.
bool may_be_elements(const Value& value) {
  return value.type.is_tensor() && !value.is_quantized() && value.dtype() == DType::f32 && value.producer &&
         !value.producer->op->has(compiler::kDequantizes) && value.users().size() == value.num_uses();
}

// Whether each number of the result is one of the operand's, or 0: a view, or padding with zeros.
bool moves(const Node& node) {
  if (node.results().size() != 1) return false;
  if (node.is("aten.constant_pad_nd.default")) return compiler::literal(node.arg("value")) == 0.0;
  return node.op->has(compiler::kView) && !node.op->has(compiler::kReinterprets);
}

void quantize_as(Value* value, const Value& like) {
  auto q = std::make_shared<Quantization>(*like.tensor().quantization);
  q->blocks.assign(value->rank(), 0);
  value->type.tensor.dtype = like.dtype();
  value->type.tensor.quantization = std::move(q);
  value->forget();
}

bool joins(const Node& node) { return node.is("aten.cat.default"); }

// The operands must have one scale. The result's range covers all of their ranges.
bool join_forward(const Node& node) {
  const std::vector<Value*> operands = node.operands();
  const bool all = !operands.empty() && std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
    return has_elements(*operand) && operand->dtype() == operands[0]->dtype() &&
           cortex_m::same_numbers(affine(*operand), affine(*operands[0]));
  });
  if (!all || !may_be_elements(*node.result())) return false;
  quantize_as(node.result(), *operands[0]);
  auto q = std::make_shared<Quantization>(*node.result()->tensor().quantization);
  for (const Value* operand : operands) {
    q->quant_min = std::min(q->quant_min, operand->tensor().quantization->quant_min);
    q->quant_max = std::max(q->quant_max, operand->tensor().quantization->quant_max);
  }
  node.result()->type.tensor.quantization = std::move(q);
  return true;
}

bool forward(const Node& node) {
  if (joins(node)) return join_forward(node);
  if (!moves(node) || !may_be_elements(*node.result()) || !has_elements(*node.operands()[0])) return false;
  quantize_as(node.result(), *node.operands()[0]);
  return true;
}

// Whether all readers of x only move it, to elements like those of `result`.
bool only_becomes(const Value& x, const Value& result) {
  const std::vector<Node*>& users = x.users();
  return std::all_of(users.begin(), users.end(), [&](const Node* user) {
    return (moves(*user) || joins(*user)) && has_elements(*user->result()) &&
           user->result()->dtype() == result.dtype() && affine(*user->result()) == affine(result);
  });
}

bool is_float_input(const Value& value) {
  return value.kind == compiler::ValueKind::input && value.type.is_tensor() && !value.is_quantized() &&
         value.dtype() == DType::f32 && value.users().size() == value.num_uses();
}

void quantize_input(Graph& graph, Value* x, const Value& like) {
  Node* convert = graph.add_node(compiler::op("wick.convert.default"), {x}, 1, graph.nodes().front().get(), x->name);
  convert->origin = like.producer->origin;
  convert->result()->type = x->type;
  quantize_as(convert->result(), like);
  graph.replace_unchecked(x, convert->result());
  graph.set_arg(convert, 0, x);
}

bool backward(Graph& graph, const Node& node) {
  if ((!moves(node) && !joins(node)) || !has_elements(*node.result())) return false;
  bool changed = false;
  for (Value* x : node.operands()) {
    const bool is_input = is_float_input(*x);
    if ((!is_input && !may_be_elements(*x)) || !only_becomes(*x, *node.result())) continue;
    if (is_input)
      quantize_input(graph, x, *node.result());
    else
      quantize_as(x, *node.result());
    changed = true;
  }
  return changed;
}

}  // namespace

// A view, zero padding or cat of quantized values computes on elements. So does the operator before a value that its
// readers only move to quantized results.
//   before: v = view(q: i8 q(s, z)); y = bmm(v, w)             after: v: i8 q(s, z) = view(q: i8 q(s, z)); ..
//   before: y = bmm(v, w); z: i8 q(s, p) = view(y)            after: y: i8 q(s, p) = bmm(v, w); ..
//   before: z: i8 q(s, p) = view(x), x an input               after: e: i8 q(s, p) = wick.convert(x); z: .. = view(e)
// Decompositions leave such views between the operators that a model quantizes. Requires: quantization is in types.
// Keeps: every number: quantizing twice equals quantizing once, and data movement and quantization commute.
Result<Changed> spread_quantization(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    std::vector<Node*> nodes = g.node_list();
    for (const Node* node : nodes) changed = forward(*node) || changed;
    std::reverse(nodes.begin(), nodes.end());
    for (const Node* node : nodes) changed = backward(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
