// ValueRange: which numbers results can be, and what becomes of infinities and NaN, as operators' rows state it. C++20.
#pragma once
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Bounds and special values of the elements of a value. The bounds hold for its finite elements, for all finite inputs
/// of the graph. The flags say whether inputs of ordinary size can give +inf, -inf or NaN: log(0), 1 / 0, the root of a
/// negative number, the -inf of a mask. Overflow of sums, products and powers sets no flag; its results lie outside the
/// bounds.
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

/// The arguments of a range rule: a node, and the ranges of its tensors in argument order.
struct RangeCall {
  const Node& node;
  std::vector<ValueRange> tensors;

  /// The range of a tensor argument or a literal. Nothing for None and for numbers known only at run time.
  std::optional<ValueRange> argument(std::string_view name) const;
};

/// Whether NaN and infinities of an operand reach the result.
struct Passing {
  bool nan = false;       // NaN stays NaN, or spreads
  bool infinity = false;  // an infinity stays one, or becomes NaN
};

/// The range of the results, by the operator's row.
ValueRange range_of_results(const RangeCall& call);
/// Whether NaN and infinities of operand `index` reach the result, by the operator's row.
Passing passing_of(const Node& node, size_t index);

/// The smallest range that contains all of them; any number if there are none.
ValueRange hull_of(const std::vector<ValueRange>& ranges);

}  // namespace wick::compiler
