// Numbers that a target without subnormal numbers makes 0: where they arise, and who tells them from 0. C++20.
#pragma once
#include <unordered_set>

#include "compiler/ir/graph.h"

namespace wick::compiler {

class ValueRanges;

/// Which f32 values of a graph, without sub-graphs, may hold 0 on a target whose numbers below 2^-126 are 0, where
/// eager's number is another one. Counts what arises of numbers of ordinary size (e^-90), not what the caller passes.
/// A sum with a term of ordinary size counts as a number of ordinary size: terms that are exactly 0 are not followed.
class SmallNumbers {
 public:
  SmallNumbers() = default;
  /// Asks `ranges` for ranges only.
  SmallNumbers(const Graph& graph, const ValueRanges& ranges);

  bool may_vanish(const Value* value) const { return vanish_.count(value) != 0; }
  /// It may vanish, and a direct or indirect reader gives an ordinary number, a condition or an index that depends on
  /// whether it does.
  bool matter(const Value* value) const { return matter_.count(value) != 0; }
  /// The node itself distinguishes 0 from smaller numbers than 2^-126 in an operand that may vanish: 1 / x, x > 0,
  /// log(x). `ranges`: those of the constructor.
  bool tells(const Node& node, const ValueRanges& ranges) const;

 private:
  std::unordered_set<const Value*> vanish_, matter_;  // looked up only
};

}  // namespace wick::compiler
