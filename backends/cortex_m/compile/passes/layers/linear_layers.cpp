#include <numeric>
#include <unordered_map>

#include "backends/cortex_m/compile/passes/layers/moved_constant.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/rewrite.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Ints;
using compiler::Node;
using compiler::Result;
using compiler::Sizes;
using compiler::Value;

namespace {

// [K, N], or a batch of one such matrix.
bool is_matrix(const Value& value) { return value.rank() == 2 || (value.rank() == 3 && value.sizes()[0].is(1)); }

// The matrix that a batch repeats; else the value itself.
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
  return is_matrix(*value) ? *value : stack;
}

// Whether the result is the transposed operand; a view that turns a row into a column is.
bool transposes(const Node& node) {
  if (node.is("aten.permute.default")) return node.static_ints("dims") == std::vector<int64_t>{1, 0};
  if (!node.is("aten.view.default")) return false;
  const Sizes &from = node.tensor("self")->sizes(), &to = node.result()->sizes();
  return from.size() == 2 && to.size() == 2 && from[0].is(1) && to[1].is(1) && from[1] == to[0];
}

// A matmul takes elements with one scale.
bool has_one_scale(const Value& matrix) {
  const auto stored = compiler::stored_constant(matrix);
  return stored && stored->quantization->is_per_tensor();
}

// Whether a layer takes the scales of weights [N, K]: floats, one scale, or one for each output.
bool has_scales_of_rows(const Value& weight) {
  const auto stored = compiler::stored_constant(weight);
  return !stored || stored->quantization->is_per_tensor() || stored->quantization->channel_dim() == size_t{0};
}

// Weights that the pass has made, by matrix: layers that share a matrix share them, too.
using Made = std::unordered_map<const Value*, Value*>;  // looked up only

// The weights [N, K] whose transpose is `stack`, or each matrix of it. Null: they are not constant, or a matmul takes
// them as they are (unless `always`).
Value* rows_of(Builder& b, const Value& stack, bool always, Made& made) {
  const Value& matrix = matrix_of(stack);
  const Node* node = matrix.producer;
  if (node && matrix.rank() == 2 && transposes(*node) && is_constant_numbers(*node->tensor("self")) &&
      has_scales_of_rows(*node->tensor("self")))
    return node->tensor("self");
  if (!is_matrix(matrix) || matrix.dtype() != DType::f32 || !is_moved_constant(matrix)) return nullptr;
  if (!always && has_one_scale(matrix)) return nullptr;
  Value*& rows = made[&matrix];
  const Sizes& sizes = matrix.sizes();
  if (!rows) rows = moved_constant(b, matrix, {sizes[sizes.size() - 2], sizes.back()}, {1, 0});
  return rows;
}

bool is_product(const Node& node) { return node.is("aten.mm.default") || node.is("aten.bmm.default"); }

Value* linear_of(Builder& b, Node& node, Made& made) {
  if (!is_product(node)) return nullptr;
  Value* weight = rows_of(b, *node.tensor("mat2"), false, made);
  return weight ? b.call("aten.linear", {node.tensor("self"), weight}) : nullptr;
}

// x[K, M] or [B, K, M] -> x[M, K] or [B, M, K].
Value* transposed(Builder& b, Value* x) {
  return b.call("aten.permute", {x, x->rank() == 3 ? Ints{0, 2, 1} : Ints{1, 0}});
}

// Whether the value is dequantized, perhaps moved afterwards.
bool is_dequantized(const Value& value) {
  const Value* x = &value;
  while (x->producer && compiler::moves_data(*x->producer)) x = compiler::moved(*x->producer);
  return x->producer && compiler::converts(*x->producer, compiler::Conversion::dequantize);
}

// Whether the stored constant has one scale, before nodes move it.
bool has_one_scale_before_moves(const Value& matrix) {
  const Value* x = &matrix;
  while (!compiler::stored_constant(*x) && x->producer && compiler::moves_data(*x->producer))
    x = compiler::moved(*x->producer);
  return has_one_scale(*x);
}

// A layer for weights that are the left operand of a matmul and have scales that no matmul takes.
Value* transposed_linear_of(Builder& b, Node& node) {
  if (!is_product(node)) return nullptr;
  const Value& matrix = matrix_of(*node.tensor("self"));
  const bool is_weight = is_matrix(matrix) && matrix.dtype() == DType::f32 && is_moved_constant(matrix);
  if (!is_weight || has_one_scale_before_moves(matrix) || !is_dequantized(matrix)) return nullptr;
  const Sizes& sizes = matrix.sizes();
  Value* weight = moved_constant(b, matrix, {sizes[sizes.size() - 2], sizes.back()}, {0, 1});
  return weight ? transposed(b, b.call("aten.linear", {transposed(b, node.tensor("mat2")), weight})) : nullptr;
}

bool is_one(const compiler::Arg& arg) { return compiler::literal(arg) == 1.0; }

// The bias as [N], one number for each output; null: it has another form.
Value* bias_for_outputs(Builder& b, Value* bias, const compiler::Sym& outputs) {
  if (bias->rank() == 1 && bias->sizes()[0] == outputs) return bias;
  const bool row = numel(bias->sizes()) == outputs && bias->rank() > 0 && bias->sizes().back() == outputs;
  return row && is_constant_numbers(*bias) ? moved_constant(b, *bias, {outputs}, {0}) : nullptr;
}

// Replaces addmm by a layer, or by a matmul and a sum, all of which have integer forms.
Value* parts_of_addmm(Builder& b, Node& node, Made& made) {
  if (!node.is("aten.addmm.default")) return nullptr;
  Value *x = node.tensor("mat1"), *bias = node.tensor("self");
  if (is_one(node.arg("beta")) && is_one(node.arg("alpha"))) {
    Value* for_each = bias_for_outputs(b, bias, node.result()->sizes().back());
    Value* weight = for_each ? rows_of(b, *node.tensor("mat2"), true, made) : nullptr;
    if (weight) return b.call("aten.linear", {x, weight, for_each});
  }
  if (!is_dequantized(*x)) return nullptr;
  const auto scaled = [&](Value* value, const char* factor) {
    return is_one(node.arg(factor)) ? value : b.call("aten.mul.Scalar", {value, node.arg(factor)});
  };
  Value* product = scaled(b.call("aten.mm", {x, node.tensor("mat2")}), "alpha");
  if (compiler::literal(node.arg("beta")) == 0.0) return product;  // eager does not read the bias
  return b.call("aten.add.Tensor", {product, scaled(bias, "beta")});
}

// A layer with new constants for weights or a bias that have per-channel scales and are moved by nodes: no such node
// may read elements with several scales.
Value* with_moved_constants(Builder& b, Node& node) {
  if (!node.is("aten.linear.default") && !node.is("aten.convolution.default")) return nullptr;
  compiler::Args args = node.args();
  bool changed = false;
  for (const char* name : {"weight", "bias"}) {
    const Value* value = node.optional_tensor(name);
    const bool fits =
        value && is_constant_numbers(*value) && (node.is("aten.convolution.default") || has_scales_of_rows(*value));
    if (!value || fits || !is_moved_constant(*value)) continue;
    std::vector<int64_t> order(value->rank());
    std::iota(order.begin(), order.end(), 0);
    Value* moved = moved_constant(b, *value, value->sizes(), order);
    if (!moved) continue;
    args[static_cast<size_t>(node.op->parsed->find(name))] = moved;
    changed = true;
  }
  return changed ? b.call(node.op->name(), std::move(args)) : nullptr;
}

}  // namespace

// Matmuls with constant weights become linear layers.
//   before: t = permute(dequantize(w), [1, 0]); y = addmm(b, x, t)        after: y = linear(x, dequantize(w), b)
//           u = view(t, [1, K, N]); y = bmm(x, u)                         after: y = linear(x, dequantize(w))
//           y = mm(x, dequantize(w)), w with a scale for each column      after: const t; y = linear(x, dequantize(t))
//           y = mm(dequantize(w), x), w with a scale for each row         after: y = permute(linear(permute(x), ..))
//           y = linear(x, dequantize(w)), w with a scale for each input   after: const f; y = linear(x, f) in floats
//           y = addmm(c, x, z) of other matrices                          after: y = add(mm(x, z), c)
//           y = linear(x, view(dequantize(w), [N, K]))                    after: const v; y = linear(x, dequantize(v))
// After run_decompositions() programs have the first two forms. Weights with a scale for each output have, as a matrix,
// one for each column, which no matmul takes; a layer takes them. Layers take weights in floats, too. Requires:
// quantization is in nodes. Keeps: every number.
Result<Changed> linear_layers(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    Made made;
    const std::vector<compiler::RuleFn> rules = {[&](Builder& b, Node& node) { return parts_of_addmm(b, node, made); },
                                                 [&](Builder& b, Node& node) { return linear_of(b, node, made); },
                                                 transposed_linear_of, with_moved_constants};
    return compiler::rewrite_nodes(g, rules);
  });
}

}  // namespace wick::cortex_m
