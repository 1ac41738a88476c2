// Where the library's kernels give something else than eager: at NaN, at infinities, near the largest float.
#pragma once
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// Not mentioned: the library takes numbers below the least normal one for zero, in every operator.
struct Departure {
  const char* text;  // what the user should know
  /// Of elements that are not finite in eager, or that an operand which is not makes:
  bool nan = false;       // another number than NaN
  bool infinity = false;  // another number than an infinity
  /// Elements that are finite in eager come out otherwise where an operand has infinities, or where it has NaN.
  bool finite_of_infinity = false, finite_of_nan = false;
};

/// Of a node that the backend takes, or null.
const Departure* departure(const compiler::Node& node);

/// Why a node departs from eager although the inputs of the graph are finite and so is its result: the model makes
/// infinities or NaN itself, and hides them afterwards. "" if it does not.
std::string refuse_departure(const compiler::Node& node, const Departure& departure,
                             const compiler::ValueRanges& ranges);

}  // namespace wick::xnnpack
