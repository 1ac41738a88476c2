// Which dimensions of an operand a node reduces. C++20.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

class ReducedDims {
 public:
  /// `dims`: the reduced ones, counted from either end; none: all.
  ReducedDims(const Value& operand, std::vector<int64_t> dims);
  /// Sizes that are kept, and those that are reduced, in the operand's order.
  Sizes rows, columns;
  Indices operand_at(const Indices& row, const Indices& column) const;
  /// Of a result that keeps reduced dimensions with size 1 or drops them.
  Indices result_at(ExpressionPool& pool, const Indices& row, const Value& result) const;
  /// How many elements one result stands for.
  ExpressionPtr count(ExpressionPool& pool, ScalarType type) const;

 private:
  std::vector<bool> reduced_;
};

/// As the node's argument `dim` says: a number, a list or nothing.
ReducedDims dims_of_argument(const Node& node, const Value& operand);

}  // namespace wick::cuda
