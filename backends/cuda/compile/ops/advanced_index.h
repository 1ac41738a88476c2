// Advanced indexing, as of aten.index and aten.index_put. C++20.
#pragma once
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {

/// The index tensors of a node broadcast to one shape. In the indexed tensor its dimensions stand where the first index
/// stood if the indices are neighbours, else in front; around them are the dimensions that are not indexed.
class AdvancedIndex {
 public:
  /// Of a node with the arguments `self` and `indices`.
  explicit AdvancedIndex(const Node& node);
  Sizes shared;           // the shape that the index tensors broadcast to
  Sizes rest;             // dimensions of self that are not indexed
  Sizes indexed() const;  // the shape of the indexed tensor

  /// An element of self that may be indexed, in terms of fresh loop variables.
  Indices region(Lowering& lowering) const;
  /// Where an element of the indexed tensor stands.
  Indices result_at(const Indices& shared_at, const Indices& rest_at) const;
  /// The part of an element's indices that says which elements of the index tensors name it.
  Indices shared_at(const Indices& at) const;
  /// The element of self that stands at `at` of the indexed tensor.
  Indices self_at(Lowering& lowering, const Indices& at, uint32_t check) const;
  /// The same from its parts.
  Indices self_at(Lowering& lowering, const Indices& shared_at, const Indices& rest_at, uint32_t check) const;

 private:
  const Value* self_;
  compiler::Values indices_;
  size_t place_ = 0;  // of the first shared dimension in the indexed tensor
};

/// Masks have as many elements as are true.
compiler::Verdict integer_indices(const Node& node, const compiler::TargetContext& context);
/// Index tensors broadcast to one shape, and values to that of the indexed tensor.
void index_needs(const Node& node, SizeRequirements& out);

}  // namespace wick::cuda
