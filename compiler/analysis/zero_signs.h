// The signs of zeros: who tells -0 from 0, and what may be -0. C++20.
#pragma once
#include <unordered_set>

#include "compiler/ir/graph.h"

namespace wick::compiler {

class ValueRanges;

/// Which values of a graph, without sub-graphs, have readers that distinguish -0 from 0.
class ZeroSigns {
 public:
  explicit ZeroSigns(const Graph& graph);

  /// A direct or indirect reader gives another number for -0 than for 0, as 1 / x does. Outputs of the graph do not
  /// count.
  bool matter(const Value* value) const { return matter_.count(value) != 0; }

 private:
  std::unordered_set<const Value*> matter_;  // looked up only
};

/// Whether an element may be -0. Sums are not, unless all terms are. Matmuls start from 0.
bool may_be_negative_zero(const Value* value, const ValueRanges& ranges);

}  // namespace wick::compiler
