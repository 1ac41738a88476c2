#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Arg;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Value;

namespace {

constexpr double kLargestExponent = 60;  // exp of it, and a sum of many such, is finite

bool reads_as_first(const Node& node, const Value* x) {
  return node.arg(size_t{0}).is<Value*>() && node.arg(size_t{0}).as<Value*>() == x;
}

// The dimension that a node reduces in x, with keepdim; -1: it reduces several or none.
int64_t reduced_dim(const Node& node, const Value& x) {
  if (!reads_as_first(node, &x) || node.is_none("dim") || !node.boolean("keepdim")) return -1;
  const auto dims = node.static_ints("dim");
  return dims.size() == 1 ? compiler::wrap_dim(dims[0], x.rank()) : -1;
}

// Whether `arg` is the maximum of x along `dim`. If it is quantized it must have the scale of x: then it is exact.
bool is_maximum_of(const Arg& arg, const Value& x, int64_t dim) {
  if (!arg.is<Value*>()) return false;
  const Value* value = arg.as<Value*>();
  while (value->producer && value->producer->is("aten.expand.default")) value = value->producer->operands()[0];
  const Node* node = value->producer;
  const auto is_element = [](const Value& each) { return has_elements(each); };
  const bool keeps =
      !value->is_quantized() || (is_element(*value) && is_element(x) && same_numbers(affine(*value), affine(x)));
  if (!node || value != node->result() || !keeps) return false;
  if (node->is("aten.amax.default")) return reduced_dim(*node, x) == dim;
  return node->is("aten.max.dim") && reads_as_first(*node, &x) && node->boolean("keepdim") &&
         compiler::wrap_dim(node->static_integer("dim"), x.rank()) == dim;
}

// The scores whose exponentials the node computes, up to a factor for each row; null: it computes others.
Value* scores_of(const Node& exponentials, int64_t dim) {
  if (!exponentials.is("aten.exp.default") || !exponentials.arg(size_t{0}).is<Value*>()) return nullptr;
  Value* scores = exponentials.arg(size_t{0}).as<Value*>();
  const Node* difference = float_maker_before_expand(exponentials.arg(size_t{0}));
  if (!difference || !difference->is(compiler::Binary::sub) || !difference->arg(size_t{0}).is<Value*>())
    return reach(scores) <= kLargestExponent ? scores : nullptr;
  Value* x = difference->arg(size_t{0}).as<Value*>();
  const bool has_factor = compiler::has_argument(*difference, "alpha") && difference->real("alpha") != 1;
  return !has_factor && x->sizes() == scores->sizes() && is_maximum_of(difference->arg(1), *x, dim) ? x : nullptr;
}

bool becomes_softmax(Graph& graph, Node& node) {
  if (!node.is("aten.div.Tensor") || !node.arg(size_t{0}).is<Value*>() || node.result()->dtype() == DType::f64)
    return false;
  Value* e = node.arg(size_t{0}).as<Value*>();
  const Node* sum = float_maker_before_expand(node.arg(1));
  if (e->is_quantized() || !e->producer || !sum || !sum->is("aten.sum.dim_IntList")) return false;
  if (sum->result()->dtype() != e->dtype()) return false;
  const int64_t dim = reduced_dim(*sum, *e);
  Value* x = dim < 0 ? nullptr : scores_of(*e->producer, dim);
  if (!x || !(x->sizes() == node.result()->sizes())) return false;
  graph.rewrite(&node, compiler::op("aten._softmax.default"), {x, dim, false});
  return true;
}

}  // namespace

// A softmax that is written out as exponentials and their sum becomes one node.
//   before: e = exp(x - amax(x, d)); y = e / sum(e, d)        after: y = _softmax(x, d)
// The maximum may be missing where x is quantized and no exponential of its elements is infinite. Requires:
// quantization is in types, none in between. Keeps: every number, apart from rounding in floats.
Result<Changed> recognize_softmax(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = becomes_softmax(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
