// Operators that read elements at positions from other tensors.
#include "backends/cuda/compile/ops/advanced_index.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

void lower_embedding(Lowering& l, const Node& node) {
  const Value *weight = node.tensor("weight"), *indices = node.tensor("indices");
  l.store_if_expensive(weight, 2);
  const uint32_t check = l.add_check();
  l.define(node.result(), [&l, weight, indices, check](const Indices& at) {
    const Indices own(at.begin(), at.end() - 1);
    return l.element(weight, {l.checked_index(l.element(indices, own), weight->sizes()[0], false, check), at.back()});
  });
}

void lower_index_select(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  const size_t dim = dim_argument(node, "dim", x->rank());
  const uint32_t check = l.add_check();
  l.define(node.result(), [&l, x, index, dim, check](Indices at) {
    if (x->rank() == 0) return l.element(x, {});
    const Indices own = index->rank() == 0 ? Indices{} : Indices{at[dim]};
    at[dim] = l.checked_index(l.element(index, own), x->sizes()[dim], false, check);
    return l.element(x, at);
  });
}

void lower_gather(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *index = node.tensor("index");
  const size_t dim = dim_argument(node, "dim", x->rank());
  const uint32_t check = l.add_check();
  l.define(node.result(), [&l, x, index, dim, check](Indices at) {
    if (x->rank() == 0) return l.element(x, {});
    at[dim] = l.checked_index(l.element(index, at), x->sizes()[dim], false, check);
    return l.element(x, at);
  });
}

void lower_index(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const AdvancedIndex index(node);
  const uint32_t check = l.add_check();
  l.define(node.result(),
           [&l, x, index, check](const Indices& at) { return l.element(x, index.self_at(l, at, check)); });
}

constexpr OpRule kIndexingRows[] = {
    {"aten.embedding.default", lower_embedding},
    {"aten.index_select.default", lower_index_select},
    {"aten.gather.default", lower_gather},
    needing({"aten.index.Tensor", lower_index, integer_indices}, index_needs),
};

}  // namespace

const Span<const OpRule> kIndexingRules{kIndexingRows};

}  // namespace wick::cuda
