// The ranges of tensor elements, and where infinities and NaN come from. C++20.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "compiler/analysis/small_numbers.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/value_range.h"

namespace wick::compiler {

using KnownRanges = std::unordered_map<const Value*, ValueRange>;

/// The range of each value of a graph, without sub-graphs. Results of control flow and of unknown operators on finite
/// numbers count as finite.
class ValueRanges {
 public:
  /// `known`: ranges of inputs, if more is known than that they are finite, and of constants. `overflowing`: inputs
  /// that may have overflowed in f16.
  explicit ValueRanges(const Graph& graph, KnownRanges known = {}, std::unordered_set<const Value*> overflowing = {});

  ValueRange of(const Value* value) const;
  /// Ranges of the constants that were asked about so far. Reading all elements of a large constant takes time.
  KnownRanges constants() const;
  /// A direct or indirect reader may turn a NaN into a finite number, a condition or an index.
  bool hides_nan(const Value* value) const { return hides_nan_.count(value) != 0; }
  /// A direct or indirect reader tells NaN from finite numbers: isnan, isfinite, nan_to_num, x != x, x > 0, sign.
  bool asks_for_nan(const Value* value) const { return asks_for_nan_.count(value) != 0; }
  /// As hides_nan, for an infinity: 1 / inf, exp(-inf), a clamp.
  bool hides_infinity(const Value* value) const { return hides_infinity_.count(value) != 0; }
  /// It may hold infinities because numbers overflowed in f16. `of` counts it as finite all the same.
  bool overflows_half(const Value* value) const { return overflows_half_.count(value) != 0; }
  const ZeroSigns& zero_signs() const { return zero_signs_; }
  const SmallNumbers& small_numbers() const { return small_numbers_; }

 private:
  bool passes_on_half_overflow(RangeCall call) const;
  void find_ranges(const Graph& graph);
  void find_readers(const Graph& graph);

  mutable KnownRanges ranges_;  // constants are added when asked about; the order never matters
  std::unordered_set<const Value*> hides_nan_, asks_for_nan_, hides_infinity_, overflows_half_;
  ZeroSigns zero_signs_;
  SmallNumbers small_numbers_;
};

}  // namespace wick::compiler
