#include "backends/cortex_m/compile/spread_quantization.h"

#include <algorithm>

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

bool has_elements(const Value& value) { return refuse_elements(value, "").empty(); }

// f32 numbers that only nodes of the graph read.
bool may_be_elements(const Value& value) {
  return value.type.is_tensor() && !value.is_quantized() && value.dtype() == DType::f32 && value.producer &&
         value.users().size() == value.num_uses();
}

// A view, or padding with zeros: each number of the result is one of the operand's, or 0.
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

bool forward(const Node& node) {
  if (!moves(node) || !may_be_elements(*node.result()) || !has_elements(*node.operands()[0])) return false;
  quantize_as(node.result(), *node.operands()[0]);
  return true;
}

bool backward(const Node& node) {
  if (!moves(node) || !has_elements(*node.result())) return false;
  Value* x = node.operands()[0];
  if (!may_be_elements(*x) || x->num_uses() != 1) return false;
  quantize_as(x, *node.result());
  return true;
}

}  // namespace

// Numbers that a view takes from quantized ones, or that only become elements behind a view, are elements there, too.
//   before: v = view(q: i8 q(s, z)); y = bmm(v, w)             after: v: i8 q(s, z) = view(q: i8 q(s, z)); ..
//   before: y = bmm(v, w); z: i8 q(s, p) = view(y)            after: y: i8 q(s, p) = bmm(v, w); ..
// Decompositions leave such views between the operators that a model quantizes. Requires: quantization is in types.
// Keeps: every number, as quantizing what is quantized changes nothing, and moving and quantizing commute.
Result<Changed> spread_quantization(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    std::vector<Node*> nodes = g.node_list();
    for (const Node* node : nodes) changed = forward(*node) || changed;
    std::reverse(nodes.begin(), nodes.end());
    for (const Node* node : nodes) changed = backward(*node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
