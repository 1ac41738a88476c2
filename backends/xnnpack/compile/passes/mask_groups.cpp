#include <limits>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/ops/compose.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Compose;
using compiler::Graph;
using compiler::kView;
using compiler::Node;
using compiler::Result;
using compiler::Rule;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;

namespace {

// A constant, or views of one.
bool shows_constant(const Value* value) {
  while (value && value->producer && value->producer->op->has(kView)) value = value->producer->tensor_or_null(0);
  return value && value->is_constant();
}

// Row r of x belongs to the first group whose end lies beyond r, and to none behind the last.
struct Grouped {
  Value *x = nullptr, *weights = nullptr, *ends = nullptr;
};

std::optional<Grouped> match_grouped(Node& node) {
  const bool fallback = node.is("transformers.grouped_mm_fallback.default");
  if (!fallback && !node.is("aten._grouped_mm.default")) return std::nullopt;
  if (!fallback && !node.is_none("bias")) return std::nullopt;
  const Grouped out{node.tensor_or_null(0), node.tensor_or_null(1), node.tensor_or_null(2)};
  if (!out.ends || out.x->rank() != 2 || out.weights->rank() != 3 || out.ends->rank() != 1) return std::nullopt;
  const auto is_float = [](const Value* value) { return value->dtype() == DType::f32; };
  const Sizes& sizes = out.weights->sizes();
  const bool fits = is_float(out.x) && is_float(out.weights) && is_float(node.result()) && is_static(sizes) &&
                    sizes[0] == out.ends->sizes()[0] && sizes[1] == out.x->sizes()[1] && shows_constant(out.weights);
  return fits ? std::optional(out) : std::nullopt;
}

Value* masked(Builder& b, Node& node) {
  const auto grouped = match_grouped(node);
  if (!grouped) return nullptr;
  Compose c(b);
  const Sizes& sizes = grouped->weights->sizes();
  const Sym rows = grouped->x->sizes()[0], groups = sizes[0], inner = sizes[1], columns = sizes[2];
  Value* row = b.unsqueeze(c.arange(rows, DType::i64), 1);
  Value* group = c.sum(c.compare("le", b.unsqueeze(b.cast(grouped->ends, DType::i64), 0), row), {1}, true);
  Value* is_own = c.compare("eq", group, b.unsqueeze(c.arange(groups, DType::i64), 0));
  // 0 times infinity would be NaN. NaN may stay: it belongs to its whole row, if that has a group.
  constexpr double kLargest = std::numeric_limits<float>::max();
  Value* finite = b.call("aten.clamp", {grouped->x, -kLargest, kLargest});
  Value* apart = c.mul(b.unsqueeze(finite, 1), b.unsqueeze(b.cast(is_own, DType::f32), 2));
  return b.call("aten.mm",
                {b.reshape(apart, {rows, groups * inner}), b.reshape(grouped->weights, {groups * inner, columns})});
}

constexpr Rule kMaskRules[] = {masked};

}  // namespace

// Computes grouped matmuls (experts of a mixture) as one matmul. Each row is written into the columns of its group,
// between zeros. Which group that is depends on integers alone, so that nothing between two grouped matmuls has to be
// gathered. The usual decomposition gathers from the products with all groups, which are as many.
//   before: y = grouped_mm(x: [r, k], w: [g, k, n], ends)
//   after:  y = mm(view(x * (group_of_row == arange(g)), [r, g k]), view(w, [g k, n]))
// Requires: weights are constants (and finite, as all weights are taken to be).
// Keeps: every finite value but the sign of zeros, and NaN. Differs where x is infinite: that becomes the largest
// number; and in rows behind the last group, which are zeros, if x holds NaN there.
Result<Changed> mask_groups(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kMaskRules)); });
}

}  // namespace wick::xnnpack
