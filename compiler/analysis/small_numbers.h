// Numbers that become 0 on a target without subnormal numbers: which values may hold them, and which readers
// distinguish them from 0. C++20.
#pragma once
#include <unordered_set>

#include "compiler/ir/graph.h"

namespace wick::compiler {

class ValueRanges;

/// Which values of a graph, without sub-graphs, may hold 0 where eager has another number, on a target that replaces
/// f32 numbers below 2^-126 by 0. Such a value may *vanish*. These are f32 values, and f64 and bf16 values computed
/// from them. Counts small numbers that arise from numbers of ordinary size (e^-90), not those that the caller passes.
/// A sum with a term of ordinary size counts as of ordinary size, even if that term may be exactly 0.
class SmallNumbers {
 public:
  SmallNumbers() = default;
  /// Calls only `ranges.of()`, not the other members of `ranges`.
  SmallNumbers(const Graph& graph, const ValueRanges& ranges);

  bool may_vanish(const Value* value) const { return vanish_.count(value) != 0; }
  /// It may vanish, and a direct or indirect reader gives an ordinary number, a condition or an index that depends on
  /// whether it does.
  bool matter(const Value* value) const { return matter_.count(value) != 0; }
  /// The node itself distinguishes 0 from numbers below 2^-126 in an operand that may vanish: 1 / x, x > 0, log(x).
  /// `ranges`: those of the constructor.
  bool tells(const Node& node, const ValueRanges& ranges) const;

 private:
  std::unordered_set<const Value*> vanish_, matter_;  // looked up only
};

}  // namespace wick::compiler
