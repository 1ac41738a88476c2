#include "backends/cuda/compile/ops/advanced_index.h"

#include <algorithm>

namespace wick::cuda {

AdvancedIndex::AdvancedIndex(const Node& node) : self_(node.tensor("self")), indices_(node.tensors("indices")) {
  size_t first = SIZE_MAX, last = 0, count = 0, depth = 0;
  for (size_t i = 0; i < indices_.size(); ++i) {
    if (!indices_[i]) continue;
    first = std::min(first, i);
    last = i;
    ++count;
    depth = std::max(depth, indices_[i]->rank());
  }
  place_ = last - first + 1 == count ? first : 0;
  shared.assign(depth, 1);
  for (const Value* index : indices_) {
    for (size_t k = 0; index && k < index->rank(); ++k) {
      Sym& size = shared[depth - index->rank() + k];
      const Sym& own = index->sizes()[k];
      if (size.is(1) || (!size.is_const() && own.is_const() && !own.is(1))) size = own;
    }
  }
  for (size_t i = 0; i < self_->rank(); ++i) {
    if (i >= indices_.size() || !indices_[i]) rest.push_back(self_->sizes()[i]);
  }
}

Sizes AdvancedIndex::indexed() const {
  Sizes sizes = rest;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(place_), shared.begin(), shared.end());
  return sizes;
}

Indices AdvancedIndex::region(Lowering& l) const { return l.indices_of(self_->sizes()); }

Indices AdvancedIndex::result_at(const Indices& shared_at, const Indices& rest_at) const {
  Indices at = rest_at;
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(place_), shared_at.begin(), shared_at.end());
  return at;
}

Indices AdvancedIndex::shared_at(const Indices& at) const {
  const auto begin = at.begin() + static_cast<std::ptrdiff_t>(place_);
  return {begin, begin + static_cast<std::ptrdiff_t>(shared.size())};
}

Indices AdvancedIndex::self_at(Lowering& l, const Indices& at, uint32_t check) const {
  Indices rest_at = at;
  const auto begin = rest_at.begin() + static_cast<std::ptrdiff_t>(place_);
  rest_at.erase(begin, begin + static_cast<std::ptrdiff_t>(shared.size()));
  return self_at(l, shared_at(at), rest_at, check);
}

Indices AdvancedIndex::self_at(Lowering& l, const Indices& shared_at, const Indices& rest_at, uint32_t check) const {
  Indices own;
  size_t next = 0;
  for (size_t i = 0; i < self_->rank(); ++i) {
    const Value* index = i < indices_.size() ? indices_[i] : nullptr;
    own.push_back(!index ? rest_at[next++]
                         : l.checked_index(l.element(index, l.broadcast(*index, shared_at, shared)), self_->sizes()[i],
                                           true, check));
  }
  return own;
}

compiler::Verdict integer_indices(const Node& node, const compiler::TargetContext&) {
  for (const Value* index : node.tensors("indices")) {
    if (index && (index->dtype() == DType::boolean || index->dtype() == DType::u8))
      return compiler::Verdict::no("its indices are a mask, so how many elements they name depends on data");
  }
  return compiler::Verdict::yes();
}

void index_needs(const Node& node, SizeRequirements& out) {
  const AdvancedIndex advanced(node);
  for (const Value* index : node.tensors("indices")) {
    if (index) add_broadcasts(index->sizes(), advanced.shared, out);
  }
  if (node.op->parsed->find("values") >= 0) add_broadcasts(node.tensor("values")->sizes(), advanced.indexed(), out);
}

}  // namespace wick::cuda
