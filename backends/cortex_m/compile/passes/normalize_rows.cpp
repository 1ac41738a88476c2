#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Arg;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Ints;
using compiler::Node;
using compiler::Result;
using compiler::Value;

namespace {

// In steps of x: a bound of the length that is at most this counts only in rows of zeros.
constexpr double kLargestBound = 1e-4;

bool is_power(const Node& node, double exponent) {
  if (!node.is("aten.pow.Tensor_Scalar")) return false;
  const auto found = compiler::number_of(node.arg(1), DType::f64);
  return found && found->is(exponent);
}

bool is_square_of(const Arg& arg, const Value* x) {
  const Node* node = float_maker(arg);
  if (!node || !node->arg(size_t{0}).is<Value*>() || node->arg(size_t{0}).as<Value*>() != x) return false;
  return is_power(*node, 2) ||
         (node->is("aten.mul.Tensor") && node->arg(1).is<Value*>() && node->arg(1).as<Value*>() == x);
}

// sum(x * x, -1) or mean(x * x, -1), plus `added`.
struct Squares {
  bool is_mean = false;
  double added = 0;
};

// Whether the node reduces just the last dimension of x.
bool is_over_rows(const Node& node, const Value* x, bool keepdim) {
  if (node.is_none("dim") || node.boolean("keepdim") != keepdim) return false;
  const auto dims = node.static_ints("dim");
  return dims.size() == 1 && compiler::wrap_dim(dims[0], x->rank()) + 1 == static_cast<int64_t>(x->rank());
}

std::optional<Squares> squares_of(const Arg& arg, const Value* x, bool keepdim) {
  Squares found;
  const Node* node = float_maker(arg);
  if (node && (node->is("aten.add.Scalar") || (node->is("aten.add.Tensor") && !node->arg(1).is<Value*>()))) {
    const auto number = compiler::number_of(node->arg(1), DType::f64);
    if (!number || !(number->real >= 0) || (compiler::has_argument(*node, "alpha") && node->real("alpha") != 1))
      return std::nullopt;
    found.added = number->real;
    node = float_maker(node->arg(size_t{0}));
  }
  if (!node || !(node->is("aten.sum.dim_IntList") || node->is("aten.mean.dim"))) return std::nullopt;
  if (node->result()->dtype() != DType::f32) return std::nullopt;
  found.is_mean = node->is("aten.mean.dim");
  const bool found_squares = is_over_rows(*node, x, keepdim) && is_square_of(node->arg(size_t{0}), x);
  return found_squares ? std::optional(found) : std::nullopt;
}

bool is_length_of(const Node& node, const Value* x, bool keepdim) {
  if (!node.is("aten.linalg_vector_norm.default") || !node.is_none("dtype")) return false;
  const auto order = compiler::number_of(node.arg("ord"), DType::f64);
  return order && order->is(2) && node.arg(size_t{0}).is<Value*>() && node.arg(size_t{0}).as<Value*>() == x &&
         is_over_rows(node, x, keepdim);
}

// The squares whose root the node computes: sqrt, or with `is_reciprocal` 1 / sqrt.
std::optional<Squares> squares_under_root(const Node* node, const Value* x, bool is_reciprocal, bool keepdim = true) {
  if (!node) return std::nullopt;
  if (!is_reciprocal && is_length_of(*node, x, keepdim)) return Squares{};
  const bool is_root = is_reciprocal ? node->is("aten.rsqrt.default") || is_power(*node, -0.5)
                                     : node->is("aten.sqrt.default") || is_power(*node, 0.5);
  return is_root ? squares_of(node->arg(size_t{0}), x, keepdim) : std::nullopt;
}

bool is_lower_bound(const Node& node) {
  return node.is("aten.clamp_min.default") || (node.is("aten.clamp.default") && node.is_none("max"));
}

// The squares of rows of x whose root is the divisor; a lower bound of the root, if it is small, becomes `added`.
std::optional<Squares> squares_of_divisor(const Arg& divisor, const Value* x) {
  const Node* node = float_maker_before_expand(divisor);
  if (!node || !is_lower_bound(*node)) return squares_under_root(node, x, false);
  const auto bound = compiler::number_of(node->arg("min"), DType::f64);
  const auto squares = squares_under_root(float_maker(node->arg(size_t{0})), x, false);
  if (!squares || squares->is_mean || squares->added != 0 || !bound || !(bound->real > 0) ||
      bound->real > kLargestBound * affine(*x).scale)
    return std::nullopt;
  return Squares{false, bound->real * bound->real};
}

bool has_rows(const Value& x) {
  return x.rank() > 0 && x.sizes().back().is_const() && x.sizes().back().value() > 0 && has_elements(x);
}

// The squared length that stands for that of a row of zeros, so that the division gives zeros instead of NaN.
double least_square(const Value& x) { return std::pow(kLargestBound * affine(x).scale, 2); }

compiler::Args norm_args(Graph& graph, Node& before, Value* x, const Squares& squares) {
  const auto count = x->sizes().back().value();
  if (squares.is_mean) return {x, Ints{count}, compiler::None{}, squares.added};
  Builder b(graph, &before);
  const std::vector<float> weights(static_cast<size_t>(count), 1 / std::sqrt(static_cast<float>(count)));
  Value* weight = b.constant({DType::f32, {count}, {}}, compiler::layout::own(weights), "weight");
  return {x, Ints{count}, weight, squares.added / static_cast<double>(count)};
}

// Whether a result shows a difference between NaN and numbers: comparisons and positions.
bool gives_no_numbers(const Node& node) {
  return std::any_of(node.results().begin(), node.results().end(), [](const Value* result) {
    return result->num_uses() > 0 && !result->is_quantized() &&
           !(result->type.is_tensor() && is_floating(result->dtype()));
  });
}

// Where eager gives NaN for a row of zeros, only quantized values may depend on the row: they have no NaN.
bool ends_in_elements(const Value& value) {
  std::vector<const Value*> open = {&value};
  std::unordered_set<const Value*> seen = {&value};  // looked up only
  while (!open.empty()) {
    const Value* next = open.back();
    open.pop_back();
    if (next->is_quantized()) continue;
    if (next->users().size() != next->num_uses()) return false;
    for (const Node* user : next->users()) {
      if (gives_no_numbers(*user)) return false;
      for (const Value* result : user->results()) {
        if (seen.insert(result).second) open.push_back(result);
      }
    }
  }
  return true;
}

bool divides(Graph& graph, Node& node) {
  const bool is_product = node.is("aten.mul.Tensor");
  if (!is_product && !node.is("aten.div.Tensor")) return false;
  for (size_t side : {size_t{0}, size_t{1}}) {
    if ((side == 1 && !is_product) || !node.arg(side).is<Value*>()) continue;
    Value* x = node.arg(side).as<Value*>();
    if (!has_rows(*x) || !(node.result()->sizes() == x->sizes())) continue;
    auto squares =
        is_product ? squares_under_root(float_maker(node.arg(1 - side)), x, true) : squares_of_divisor(node.arg(1), x);
    if (!squares || (squares->added == 0 && !ends_in_elements(*node.result()))) continue;
    if (squares->added == 0) squares->added = least_square(*x);
    graph.rewrite(&node, compiler::op("aten.rms_norm.default"), norm_args(graph, node, x, *squares));
    return true;
  }
  return false;
}

Value* floats(Graph& graph, Node& before, const char* op, compiler::Args args, const Value& like) {
  Node* node = graph.add_node(compiler::op(op), std::move(args), 1, &before, like.name);
  node->origin = before.origin;
  node->result()->type = compiler::Type::of(DType::f32, like.sizes());
  return node->result();
}

// The value whose length (of each row) the node may compute; null: none.
Value* measured(const Node& node) {
  const Node* from = &node;
  if (!node.is("aten.linalg_vector_norm.default")) {
    const bool is_root = node.is("aten.sqrt.default") || is_power(node, 0.5);
    const Node* sum = is_root ? float_maker(node.arg(size_t{0})) : nullptr;
    from = sum && sum->is("aten.sum.dim_IntList") ? float_maker(sum->arg(size_t{0})) : nullptr;
  }
  return from && from->arg(size_t{0}).is<Value*>() ? from->arg(size_t{0}).as<Value*>() : nullptr;
}

// The node that computes the length: `node` itself, or the operand of a lower bound that counts only in rows of zeros.
// Null: the bound counts in others, too.
const Node* without_bound(const Node& node, const Value& result) {
  if (!is_lower_bound(node)) return &node;
  const auto bound = compiler::number_of(node.arg("min"), DType::f64);
  const Node* length = float_maker(node.arg(size_t{0}));
  const Value* x = length ? measured(*length) : nullptr;
  if (!x || !has_rows(*x) || !bound) return nullptr;
  return bound->real <= kLargestBound * std::min(affine(*x).scale, affine(result).scale) ? length : nullptr;
}

// Replaces a quantized length by the sum of the products of a row and its direction, which has 15 bits.
bool measures(Graph& graph, Node& node) {
  if (node.results().size() != 1 || !is_int8(*node.result())) return false;
  const Node* length = without_bound(node, *node.result());
  Value* x = length ? measured(*length) : nullptr;
  if (!x || !has_rows(*x)) return false;
  const bool keepdim = node.result()->rank() == x->rank();
  const auto under_root = squares_under_root(length, x, false, keepdim);
  if (!under_root || under_root->added != 0) return false;
  const Squares squares = {false, least_square(*x)};
  Value* direction = floats(graph, node, "aten.rms_norm.default", norm_args(graph, node, x, squares), *x);
  Value* along = floats(graph, node, "aten.mul.Tensor", {x, direction}, *x);
  graph.rewrite(&node, compiler::op("aten.sum.dim_IntList"), {along, Ints{-1}, keepdim, compiler::None{}});
  return true;
}

}  // namespace

// A row divided by its length, or by the root of its mean square, becomes an RMS norm, which has a kernel. A length
// becomes the sum of the products of the row and its direction.
//   before: l = sqrt(sum(x * x, -1)); z = x / max(l, eps)       x: i8 q(s), rows of n
//   after:  z = rms_norm(x, weight = 1 / sqrt(n), eps = eps^2 / n)
//   before: l: i8 q = sqrt(sum(x * x, -1))
//   after:  z = rms_norm(x, weight = 1 / sqrt(n)); l: i8 q = sum(x * z, -1)
// The same holds for x / sqrt(sum(x * x, -1) + eps), for the mean instead of the sum, and for factors 1 / sqrt(..).
// Requires: quantization is in types, none in between; eps <= s / 10000 where it bounds a length, so that it counts
// only in rows of zeros. Keeps: every number, apart from rounding in floats; rows of zeros, for which eager divides by
// 0, give zeros.
Result<Changed> normalize_rows(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = divides(g, *node) || measures(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
