#include "backends/cortex_m/compile/passes/normalize_rows.h"

#include <cmath>

#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/constant_elements.h"
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

// Of the scale of x: a length at this bound is that of a row of zeros.
constexpr double kLargestBound = 1e-4;

// The node of numbers that no quantizer annotated.
const Node* maker(const Arg& arg) {
  const Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  return value && !value->is_quantized() ? value->producer : nullptr;
}

bool is_power(const Node& node, double exponent) {
  if (!node.is("aten.pow.Tensor_Scalar")) return false;
  const auto found = compiler::number_of(node.arg(1), DType::f64);
  return found && found->is(exponent);
}

bool is_square_of(const Arg& arg, const Value* x) {
  const Node* node = maker(arg);
  if (!node || !node->arg(size_t{0}).is<Value*>() || node->arg(size_t{0}).as<Value*>() != x) return false;
  return is_power(*node, 2) ||
         (node->is("aten.mul.Tensor") && node->arg(1).is<Value*>() && node->arg(1).as<Value*>() == x);
}

// sqrt(sum(x * x, -1, keepdim))
bool is_length_of(const Arg& arg, const Value* x) {
  const Node* root = maker(arg);
  if (!root || !(root->is("aten.sqrt.default") || is_power(*root, 0.5))) return false;
  const Node* sum = maker(root->arg(size_t{0}));
  if (!sum || !sum->is("aten.sum.dim_IntList") || sum->is_none("dim") || !sum->boolean("keepdim")) return false;
  const auto dims = sum->static_ints("dim");
  return dims.size() == 1 && compiler::wrap_dim(dims[0], x->rank()) + 1 == static_cast<int64_t>(x->rank()) &&
         is_square_of(sum->arg(size_t{0}), x);
}

// The lower bound of the length of x that a divisor is; nothing if it is none.
std::optional<double> bound_of(const Arg& divisor, const Value* x) {
  const Node* node = maker(divisor);
  while (node && node->is("aten.expand.default")) node = maker(node->arg(size_t{0}));
  const bool is_bound =
      node && (node->is("aten.clamp_min.default") || (node->is("aten.clamp.default") && node->is_none("max")));
  if (!is_bound || !is_length_of(node->arg(size_t{0}), x)) return std::nullopt;
  const auto bound = compiler::number_of(node->arg("min"), DType::f64);
  return bound && bound->real > 0 ? std::optional(bound->real) : std::nullopt;
}

bool rewrite(Graph& graph, Node& node) {
  if (!node.is("aten.div.Tensor") || !node.arg(size_t{0}).is<Value*>()) return false;
  Value* x = node.arg(size_t{0}).as<Value*>();
  if (x->rank() == 0 || !x->sizes().back().is_const() || !refuse_elements(*x, "").empty() ||
      !refuse_elements(*node.result(), "").empty() || !(node.result()->sizes() == x->sizes()))
    return false;
  const auto bound = bound_of(node.arg(1), x);
  const int64_t count = x->sizes().back().value();
  if (!bound || *bound > kLargestBound * affine(*x).scale || count == 0) return false;
  Builder b(graph, &node);
  const std::vector<float> weights(static_cast<size_t>(count), 1 / std::sqrt(static_cast<float>(count)));
  Value* weight = b.constant({DType::f32, {count}, {}}, compiler::layout::own(weights), "weight");
  graph.rewrite(&node, compiler::op("aten.rms_norm.default"),
                {x, Ints{count}, weight, *bound * *bound / static_cast<double>(count)});
  return true;
}

}  // namespace

// A row divided by its length (functional.normalize) is an RMS norm, which has a kernel.
//   before: l = sqrt(sum(x * x, -1)); z: i8 q = x / max(l, eps)       x: i8 q(s), rows of n
//   after:  z: i8 q = rms_norm(x, weight = 1 / sqrt(n), eps = eps^2 / n)
// Requires: quantization is in types, none in between; eps <= s / 10000, so that it counts in rows of zeros only.
// Keeps: every number, apart from rounding in floats.
Result<Changed> normalize_rows(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = rewrite(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
