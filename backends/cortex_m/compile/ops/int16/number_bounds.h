// Upper bounds of the magnitudes that a node computes from quantized operands. C++20.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

struct Bound {
  double largest = 0;        // upper bound of the magnitude, in real numbers
  bool is_loose = false;     // numbers are mostly far smaller
  bool keeps_steps = false;  // the node adds or selects numbers of operands, and scales none
  double slack = 1;          // `largest` divided by the largest magnitude to expect if terms and weights are random
};

/// Bounds a result: the first one, or any of a recurrent layer. Requires: operands have elements (refuse_elements) or
/// are constant. Nullopt: no finite bound is known.
std::optional<Bound> bound_of(const compiler::Node& node, const compiler::Value& result);

/// The largest magnitude of the projection of an lstm: the largest sum_k |w[row][k]|, as the cells give at most 1. 0:
/// it has no projection; infinite: its weights are unknown.
double largest_projected(const compiler::Node& lstm);

/// How far the sum of a row's elements can exceed 1 because of rounding; kUnknown if they are not int16 probabilities.
double row_sum_excess(const compiler::Value* value);

}  // namespace wick::cortex_m
