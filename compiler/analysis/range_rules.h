// Internal to value_ranges: one row per operator. C++20.
#pragma once
#include <optional>
#include <vector>

#include "compiler/analysis/value_ranges.h"

namespace wick::compiler {

/// What the rows ask of a node: ranges of its tensors in argument order, and its numbers.
struct RangeCall {
  const Node& node;
  std::vector<ValueRange> tensors;

  /// A literal, or a tensor argument's range; nothing: None, or a number known only at run time.
  std::optional<ValueRange> argument(std::string_view name) const;
};

/// The range of the results; operators without a row: any number, not finite where an operand is not.
ValueRange range_of_results(const RangeCall& call);

/// What becomes of an element that is not finite. Of operand `index`.
struct Passing {
  bool nan = false;       // NaN stays NaN, or spreads
  bool infinity = false;  // an infinity stays one, or becomes NaN
};
Passing passing_of(const Node& node, size_t index);

}  // namespace wick::compiler
