// What operators' rows say of ranges: which numbers results can be, and what becomes of infinities and NaN. C++20.
#pragma once
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// What holds of the elements of a value. The bounds are those of its finite elements, for all finite inputs of the
/// graph. The flags name what inputs of ordinary size can make: log(0), 1 / 0, the root of a negative number, minus
/// infinity of a mask. Overflow of sums, products and powers
/// sets no flag: such results lie outside the bounds.
struct ValueRange {
  double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // +inf, -inf
  bool nan = false;

  static ValueRange between(double min, double max) {
    ValueRange range;
    range.min = min;
    range.max = max;
    return range;
  }
  bool is_infinite() const { return above || below; }
  bool is_finite() const { return !above && !below && !nan; }
  bool holds(double x) const { return min <= x && x <= max; }
};

/// What a row's rule is asked with: a node, and the ranges of its tensors in argument order.
struct RangeCall {
  const Node& node;
  std::vector<ValueRange> tensors;

  /// A literal, or a tensor argument's range; nothing: None, or a number known only at run time.
  std::optional<ValueRange> argument(std::string_view name) const;
};

/// What becomes of an element that is not finite.
struct Passing {
  bool nan = false;       // NaN stays NaN, or spreads
  bool infinity = false;  // an infinity stays one, or becomes NaN
};

/// The range of the results, by the operator's row.
ValueRange range_of_results(const RangeCall& call);
/// Of operand `index`, by the operator's row.
Passing passing_of(const Node& node, size_t index);

/// The smallest range that holds all of them; of none: any number.
ValueRange hull_of(const std::vector<ValueRange>& ranges);

}  // namespace wick::compiler
