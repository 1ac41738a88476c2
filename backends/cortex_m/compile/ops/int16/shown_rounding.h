// Decides whether rounding numbers to int16 shows in the model's results, and names the value whose rounding is to
// blame. C++20.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "backends/cortex_m/compile/refusal.h"
#include "compiler/analysis/rounding_limits.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// Upper bounds of the difference between a value's elements and eager's numbers, in real numbers: by the value's own
/// rounding, and by all roundings that it depends on.
struct Rounding {
  double own = 0, all = 0;
};
/// The rounding of a value that becomes int16; null: it does not.
using RoundingOf = std::function<const Rounding*(const compiler::Value& value)>;

/// The smallest difference that counts in a value: its scale times compiler::steps_that_count(dtype).
double steps_that_count(const compiler::Value& value);

/// The error of what a node computes, before its result is rounded: error_behind, added up over its operands.
double error_of(const compiler::Node& node, const RoundingOf& rounding);

struct ShownRounding {
  const compiler::Node* reader = nullptr;  // it would compute on the numbers whose rounding adds most to the error
  Refusal reason;                          // for `reader`: which numbers, how far they put it off, what the user can do
};

/// Whether rounding the operands shows in a result of `node`: by more than kMostError of the differences that count, or
/// at all if the result has positions or booleans. Nullopt: it does not.
std::optional<ShownRounding> shown_rounding(const compiler::Node& node, const RoundingOf& rounding);

}  // namespace wick::cortex_m
