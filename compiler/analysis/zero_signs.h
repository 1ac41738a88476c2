// Signs of zeros: which readers distinguish -0 from 0, and which values may be -0. C++20.
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

/// Whether an element may be -0. A sum is -0 only if all its terms are. Matmuls never give -0: they add to 0.
bool may_be_negative_zero(const Value* value, const ValueRanges& ranges);

}  // namespace wick::compiler
