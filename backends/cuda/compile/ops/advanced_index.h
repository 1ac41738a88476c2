// Advanced indexing, as by aten.index and aten.index_put. C++20.
#pragma once
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {

/// The indices of a node: index tensors, which broadcast to one shape, for some dimensions of `self`. In the indexed
/// tensor, the dimensions of this shape are where the first index tensor was if the indexed dimensions are adjacent,
/// else they come first. The dimensions that are not indexed are around them.
class AdvancedIndex {
 public:
  /// Requires: the node has the arguments `self` and `indices`.
  explicit AdvancedIndex(const Node& node);
  Sizes shared;           // the shape that the index tensors broadcast to
  Sizes rest;             // dimensions of self that are not indexed
  Sizes indexed() const;  // the shape of the indexed tensor

  /// The indices of an element of self that may be indexed, in terms of fresh loop variables.
  Indices region(Lowering& lowering) const;
  /// The indices in the indexed tensor of an element, from its indices in the shared shape and in the rest.
  Indices result_at(const Indices& shared_at, const Indices& rest_at) const;
  /// The indices in the shared shape: those of the elements of the index tensors that an element's indices refer to.
  Indices shared_at(const Indices& at) const;
  /// The indices in self of the element at `at` of the indexed tensor.
  Indices self_at(Lowering& lowering, const Indices& at, uint32_t check) const;
  /// The same, from its indices in the shared shape and in the rest.
  Indices self_at(Lowering& lowering, const Indices& shared_at, const Indices& rest_at, uint32_t check) const;

 private:
  const Value* self_;
  compiler::Values indices_;
  size_t place_ = 0;  // of the first shared dimension in the indexed tensor
};

/// Index tensors must be integers: the number of elements that a mask selects depends on data.
compiler::Verdict integer_indices(const Node& node, const compiler::TargetContext& context);
/// Index tensors must broadcast to one shape, and values to the shape of the indexed tensor.
void index_needs(const Node& node, SizeRequirements& out);

}  // namespace wick::cuda
