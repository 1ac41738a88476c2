// Which numbers the elements of tensors can be, and where infinities and NaN come from. C++20.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/graph.h"
#include "compiler/ir/value_range.h"

namespace wick::compiler {

using KnownRanges = std::unordered_map<const Value*, ValueRange>;

/// Of each value of a graph, sub-graphs apart; what their nodes and unknown operators make of finite numbers is taken
/// for finite.
class ValueRanges {
 public:
  /// `known`: of inputs, where more is known of them than that they are finite, and of constants.
  explicit ValueRanges(const Graph& graph, KnownRanges known = {});

  ValueRange of(const Value* value) const;
  /// Of the constants that somebody has asked about: reading all elements of a large one takes a while.
  KnownRanges constants() const;
  /// Some reader, perhaps behind others, may make a finite number (or a condition, an index) of a NaN in its place.
  bool hides_nan(const Value* value) const { return hides_nan_.count(value) != 0; }
  /// Some reader, perhaps behind others, looks whether there is a NaN: isnan, isfinite, nan_to_num, x != x; or, but
  /// not behind products of matrices, compares or takes the sign.
  bool asks_for_nan(const Value* value) const { return asks_for_nan_.count(value) + compares_.count(value) != 0; }
  /// As hides_nan, of an infinity: 1 / inf, exp(-inf), a clamp.
  bool hides_infinity(const Value* value) const { return hides_infinity_.count(value) != 0; }

 private:
  void find_ranges(const Graph& graph);
  void find_readers(const Graph& graph);

  mutable KnownRanges ranges_;  // constants when somebody asks; looked up only
  std::unordered_set<const Value*> hides_nan_, asks_for_nan_, compares_, hides_infinity_;
};

}  // namespace wick::compiler
