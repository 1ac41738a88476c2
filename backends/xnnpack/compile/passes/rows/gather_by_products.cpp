#include <algorithm>
#include <limits>
#include <unordered_set>

#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/rows/row_matrix.h"
#include "compiler/analysis/zero_signs.h"
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
using compiler::Values;
using compiler::wrap_dim;
using compiler::ZeroSigns;

namespace {

// Rows of `x` at positions known only at run time.
struct Gather {
  Value* x = nullptr;
  RowPositions at;
};

std::optional<Gather> match_gather(const Node& node) {
  Value* x = node.args().empty() ? nullptr : node.tensor_or_null(0);
  if (!x || x->rank() == 0 || x->dtype() != DType::f32) return std::nullopt;
  std::optional<RowPositions> at;
  const auto dim = [&] { return static_cast<size_t>(wrap_dim(node.static_integer("dim"), x->rank())); };
  if (node.is("aten.index_select.default")) {
    Values indices(dim() + 1);
    indices.back() = node.tensor("index");
    at = only_position(indices);
    if (at) at->from_end = false;  // it refuses negative positions
  } else if (node.is("aten.index.Tensor")) {
    at = only_position(node.tensors("indices"));
  } else if (node.is("aten.gather.default")) {
    Sizes whole = x->sizes();
    whole[dim()] = node.tensor("index")->rank() == x->rank() ? node.tensor("index")->sizes()[dim()] : Sym(1);
    if (node.tensor("index")->sizes() == whole) at = positions_of(node.tensor("index"), dim());
  }
  return at ? std::optional(Gather{x, *at}) : std::nullopt;
}

class Gatherer {
 public:
  explicit Gatherer(Graph& graph) : graph_(graph) {}

  Changed run() {
    std::unordered_set<const Value*> computed = depends_on_matmul(graph_);
    std::vector<Node*> found;
    for (const auto& node : graph_.nodes()) {
      const auto gather = match_gather(*node);
      if (gather && computed.count(gather->x)) found.push_back(node.get());
    }
    if (found.empty()) return Changed::no;
    Bounds bounds(graph_);
    const ZeroSigns signs(graph_);
    Changed changed = Changed::no;
    for (Node* node : found) {
      const Gather gather = *match_gather(*node);
      if (!computed.count(gather.x) || !is_small_product(numel(gather.at.index->sizes()), gather.x->sizes()) ||
          !bounds.is_number(gather.x) || signs.matter(node->result()))
        continue;
      Builder b(graph_, node);
      Value* value = multiplied(b, gather, bounds.is_bounded(gather.x));
      for (Node* made : b.made()) add_origins(*made, *node);
      bounds.inherit(value, gather.x);
      computed.insert(value);
      graph_.replace(node->result(), value);
      graph_.erase(node);
      changed = Changed::yes;
    }
    return changed;
  }

 private:
  static Value* multiplied(Builder& b, const Gather& gather, bool is_bounded) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    Value* taken = row_matrix(b, gather.at, gather.x->sizes()[gather.at.dim], false);
    Value* x = is_bounded ? gather.x : b.call("aten.clamp", {gather.x, -kLargest, kLargest});
    return times_rows(b, taken, x, gather.at.dim);
  }

  Graph& graph_;
};

}  // namespace

// Replaces a gather from the result of a matmul by another matmul, with a matrix that has a 1 at each position and 0
// elsewhere. Backends have no gather, so it would cause a graph break between two matmuls.
//   before: y = index_select(bmm(..), 0, i)        after: y = eq(index(arange(n), i), arange(n)) @ bmm(..)
// Also gathers whose index names the same position along all of a row. The range check of i stays. Applies to gathers
// that cost at most 1 million multiplications, from f32 tensors that are finite for all finite inputs (Bounds). Tensors
// that may be infinite are clamped. Requires: sizes are known; nobody distinguishes -0 from 0. Keeps: every finite
// value. Differs where the tensor holds NaN in any row, or infinity, which becomes the largest number.
Result<Changed> gather_by_products(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Gatherer(g).run(); });
}

}  // namespace wick::xnnpack
