// The dimensions of an operand that a node reduces. C++20.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

class ReducedDims {
 public:
  /// `dims`: the reduced dimensions, counted from either end; if there are none, all are reduced.
  ReducedDims(const Value& operand, std::vector<int64_t> dims);
  /// The kept and the reduced sizes, in the operand's order.
  Sizes rows, columns;
  Indices operand_at(const Indices& row, const Indices& column) const;
  /// The indices in a result that keeps reduced dimensions with size 1 or drops them.
  Indices result_at(ExpressionPool& pool, const Indices& row, const Value& result) const;
  /// The number of elements that are reduced to one.
  ExpressionPtr count(ExpressionPool& pool, ScalarType type) const;

 private:
  std::vector<bool> reduced_;
};

/// The dimensions that the node's argument `dim` names: a number, a list or nothing.
ReducedDims dims_of_argument(const Node& node, const Value& operand);

}  // namespace wick::cuda
