// Where the library's kernels deviate from eager: at NaN, at infinities, near the largest float.
#pragma once
#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// Does not mention that the library treats subnormal numbers as zero, in every operator.
struct Departure {
  const char* text;  // what the user should know
  /// For elements that are not finite in eager, or that come from an operand that is not finite:
  bool nan = false;       // another number than NaN
  bool infinity = false;  // another number than an infinity
  /// Elements that are finite in eager differ if an operand has infinities, or if it has NaN.
  bool finite_of_infinity = false, finite_of_nan = false;
};

/// The deviation of a node that the backend takes, or null.
const Departure* departure(const compiler::Node& node);

/// Why a node deviates from eager although the inputs of the graph and its result are finite: the model makes
/// infinities or NaN itself and hides them afterwards. "" if it does not deviate.
std::string refuse_departure(const compiler::Node& node, const Departure& departure,
                             const compiler::ValueRanges& ranges);

}  // namespace wick::xnnpack
