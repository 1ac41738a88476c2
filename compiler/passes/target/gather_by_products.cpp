#include <algorithm>
#include <unordered_set>

#include "compiler/ops/compose.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/regions/bounds.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// The number of multiplications by 0 or 1 that cost about as much as a call of a delegate.
constexpr int64_t kMaxProducts = int64_t{1} << 20;

// Rows of `x` along `dim` at positions known only at run time.
struct Gather {
  Value *x = nullptr, *index = nullptr;
  size_t dim = 0;
};

std::optional<Gather> match_gather(const Node& node) {
  Gather out;
  out.x = node.args().empty() ? nullptr : node.tensor_or_null(0);
  if (!out.x || out.x->rank() == 0) return std::nullopt;
  if (node.is("aten.index_select.default")) {
    out.index = node.tensor("index");
    out.dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), out.x->rank()));
  } else if (node.is("aten.index.Tensor")) {
    const Values indices = node.tensors("indices");
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!indices[i]) continue;
      if (out.index) return std::nullopt;
      out.index = indices[i];
      out.dim = i;
    }
  }
  const bool fits = out.index && out.index->rank() == 1 && !out.index->is_constant() &&
                    (out.index->dtype() == DType::i64 || out.index->dtype() == DType::i32);
  return fits && out.x->dtype() == DType::f32 ? std::optional(out) : std::nullopt;
}

class Gatherer {
 public:
  explicit Gatherer(Graph& graph) : graph_(graph) {}

  Changed run() {
    std::vector<Node*> found;
    for (const auto& node : graph_.nodes()) {
      const auto operands = node->operands();
      const bool depends = std::any_of(operands.begin(), operands.end(), [&](Value* v) { return computed_.count(v); });
      if (!depends && !is_matmul_or_convolution(*node)) continue;
      computed_.insert(node->results().begin(), node->results().end());
      if (depends && match_gather(*node)) found.push_back(node.get());
    }
    if (found.empty()) return Changed::no;
    Bounds bounds(graph_);
    Changed changed = Changed::no;
    for (Node* node : found) {
      const Gather gather = *match_gather(*node);
      if (!computed_.count(gather.x) || !is_small(gather) || !bounds.is_number(gather.x)) continue;
      Builder b(graph_, node);
      Value* value = multiplied(b, gather, bounds.is_bounded(gather.x));
      for (Node* made : b.made()) add_origins(*made, *node);
      bounds.inherit(value, gather.x);
      graph_.replace(node->result(), value);
      graph_.erase(node);
      changed = Changed::yes;
    }
    return changed;
  }

 private:
  static bool is_small(const Gather& gather) {
    const Sym count = gather.index->sizes()[0], all = numel(gather.x->sizes());
    int64_t products = 0;
    return count.is_const() && all.is_const() && all.value() > 0 && count.value() > 0 &&
           !__builtin_mul_overflow(count.value(), all.value(), &products) && products <= kMaxProducts;
  }

  // The gather from 0, 1, 2 .. refuses positions outside the range and counts negative ones from the end.
  static Value* multiplied(Builder& b, const Gather& gather, bool is_bounded) {
    Compose c(b);
    const Sizes& sizes = gather.x->sizes();
    const Sym length = sizes[gather.dim], count = gather.index->sizes()[0];
    const auto dim = static_cast<ptrdiff_t>(gather.dim);
    Value* place = b.call("aten.index.Tensor", {c.arange(length, DType::i64), Values{gather.index}});
    Value* is_it = c.compare("eq", b.reshape(place, {count, 1}), b.reshape(c.arange(length, DType::i64), {1, length}));
    Value* taken = b.cast(is_it, DType::f32);
    const Sym before = numel(Sizes(sizes.begin(), sizes.begin() + dim)),
              behind = numel(Sizes(sizes.begin() + dim + 1, sizes.end()));
    constexpr double kLargest = std::numeric_limits<float>::max();
    Value* x = is_bounded ? gather.x : b.call("aten.clamp", {gather.x, -kLargest, kLargest});
    x = b.reshape(x, {before, length, behind});
    taken = b.expand(b.reshape(taken, {1, count, length}), {before, count, length});
    Sizes out = sizes;
    out[gather.dim] = count;
    return b.reshape(b.call("aten.bmm", {taken, x}), std::move(out));
  }

  Graph& graph_;
  std::unordered_set<const Value*> computed_;  // depend on a product of matrices
};

}  // namespace

// Replaces a gather from the result of a matmul by another matmul, with a matrix that has a 1 at each position and 0
// elsewhere. Backends have no gather, so it would cause a graph break between two matmuls.
//   before: y = index_select(bmm(..), 0, i)        after: y = eq(index(arange(n), i), arange(n)) @ bmm(..)
// The range check of i stays. Applies to gathers that cost at most 1 million multiplications, from f32 tensors that are
// finite for all finite inputs (Bounds). Tensors that may be infinite are clamped.
// Requires: sizes are known.
// Keeps: every finite value. Differs where the tensor holds NaN in any row, or infinity, which becomes the largest
// number.
Result<Changed> gather_by_products(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Gatherer(g).run(); });
}

}  // namespace wick::compiler
