#include <algorithm>
#include <limits>
#include <unordered_set>

#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/rows/row_matrix.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/ops/compose.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/match/bounds.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Bounds;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::wrap_dim;
using compiler::ZeroSigns;

namespace {

// Rows that are added to those of `self`.
struct Scatter {
  Value *self = nullptr, *rows = nullptr;
  RowPositions at;
};

std::optional<Scatter> match_sum_of_rows(const Node& node) {
  Scatter out;
  std::optional<RowPositions> at;
  if (node.is("aten.scatter_add.default")) {
    out = {node.tensor("self"), node.tensor("src"), {}};
    const Value* index = node.tensor("index");
    if (out.self->rank() == 0 || index->sizes() != out.rows->sizes()) return std::nullopt;
    at =
        positions_of(node.tensor("index"), static_cast<size_t>(wrap_dim(node.static_integer("dim"), out.self->rank())));
  } else if (node.is("aten.index_put.default") && node.boolean("accumulate")) {
    out = {node.tensor("self"), node.tensor("values"), {}};
    at = only_position(node.tensors("indices"));
  }
  if (!at || out.self->dtype() != DType::f32 || at->dim >= out.self->rank()) return std::nullopt;
  out.at = *at;
  Sizes whole = out.self->sizes();
  whole[at->dim] = numel(at->index->sizes());
  return out.rows->sizes() == whole ? std::optional(out) : std::nullopt;
}

bool holds_zeros(const Value& value) {
  const auto element = value.is_constant() ? uniform_element(&value) : std::nullopt;
  return element && element->floating && element->real == 0;
}

class Scatterer {
 public:
  explicit Scatterer(Graph& graph) : graph_(graph) {}

  Changed run() {
    const std::unordered_set<const Value*> computed = depends_on_matmul(graph_);
    std::vector<Node*> found;
    for (const auto& node : graph_.nodes()) {
      const auto scatter = match_sum_of_rows(*node);
      if (scatter && computed.count(scatter->rows)) found.push_back(node.get());
    }
    if (found.empty()) return Changed::no;
    Bounds bounds(graph_);
    const ZeroSigns signs(graph_);
    Changed changed = Changed::no;
    for (Node* node : found) {
      const Scatter scatter = *match_sum_of_rows(*node);
      const Sym length = scatter.self->sizes()[scatter.at.dim];
      if (!is_small_product(length, scatter.rows->sizes()) || !bounds.is_number(scatter.rows) ||
          signs.matter(node->result()))
        continue;
      Builder b(graph_, node);
      constexpr double kLargest = std::numeric_limits<float>::max();
      Value* rows = scatter.rows;
      if (!bounds.is_bounded(rows)) rows = b.call("aten.clamp", {rows, -kLargest, kLargest});
      Value* value = times_rows(b, row_matrix(b, scatter.at, length, true), rows, scatter.at.dim);
      if (!holds_zeros(*scatter.self)) value = b.call("aten.add.Tensor", {scatter.self, value});
      for (Node* made : b.made()) add_origins(*made, *node);
      bounds.inherit(value, node->result());
      graph_.replace(node->result(), value);
      graph_.erase(node);
      changed = Changed::yes;
    }
    return changed;
  }

 private:
  Graph& graph_;
};

}  // namespace

// Replaces sums of rows at positions that are data (the messages of a graph network) by a matmul with a matrix that has
// a 1 where a row belongs to a sum and 0 elsewhere. Backends have no scatter, so it would cause a graph break.
//   before: y = index_put(zeros, [i], bmm(..), accumulate)        after: y = eq(arange(n), index(arange(n), i)) @
//   bmm(..)
// Also scatter_add whose index names the same position along all of a row. The range check of i stays. Applies to at
// most 1 million multiplications, of f32 rows that are finite for all finite inputs (Bounds) and depend on a matmul.
// Rows that may be infinite are clamped.
// Requires: sizes are known.
// Requires: nobody distinguishes -0 from 0. Keeps: every finite value, up to the order of the additions. Differs where
// a row holds NaN, or infinity, which becomes the largest number.
Result<Changed> scatter_by_products(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Scatterer(g).run(); });
}

}  // namespace wick::xnnpack
