// Elements at positions that other tensors hold.
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

// Advanced indexing: the index tensors broadcast to one shape, which stands where the first one stood if they are
// neighbours, else in front.
void lower_index(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *y = node.result();
  const compiler::Values indices = node.tensors("indices");
  size_t first = SIZE_MAX, last = 0, count = 0, depth = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    first = std::min(first, i);
    last = i;
    ++count;
    depth = std::max(depth, indices[i]->rank());
  }
  const size_t place = last - first + 1 == count ? first : 0;
  const uint32_t check = l.add_check();
  l.define(y, [&l, x, indices, place, depth, check](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const Indices shared(at.begin() + static_cast<std::ptrdiff_t>(place),
                         at.begin() + static_cast<std::ptrdiff_t>(place + depth));
    Indices rest(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(place));
    rest.insert(rest.end(), at.begin() + static_cast<std::ptrdiff_t>(place + depth), at.end());
    Indices own;
    size_t next = 0;
    for (size_t i = 0; i < x->rank(); ++i) {
      const Value* index = i < indices.size() ? indices[i] : nullptr;
      if (!index) {
        own.push_back(rest[next++]);
        continue;
      }
      Indices of;
      for (size_t k = 0; k < index->rank(); ++k)
        of.push_back(index->sizes()[k].is(1) ? pool.index(0) : shared[depth - index->rank() + k]);
      own.push_back(l.checked_index(l.element(index, of), x->sizes()[i], true, check));
    }
    return l.element(x, own);
  });
}

compiler::Verdict integer_indices(const Node& node, const compiler::TargetOptions&) {
  for (const Value* index : node.tensors("indices")) {
    if (index && (index->dtype() == DType::boolean || index->dtype() == DType::u8))
      return compiler::Verdict::no("its indices are a mask, so the size of the result depends on data");
  }
  return compiler::Verdict::yes();
}

constexpr OpRule kRows[] = {
    {"aten.embedding.default", lower_embedding},
    {"aten.index_select.default", lower_index_select},
    {"aten.gather.default", lower_gather},
    {"aten.index.Tensor", lower_index, integer_indices},
};

}  // namespace

const Span<const OpRule> kIndexingRules{kRows};

}  // namespace wick::cuda
