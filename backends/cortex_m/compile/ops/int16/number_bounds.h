// How large the numbers can be that a node computes of quantized ones. C++20.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

struct Bound {
  double largest = 0;        // in size
  bool is_loose = false;     // numbers that a model computes are mostly far smaller
  bool keeps_steps = false;  // numbers of operands are added or chosen, not scaled
  double slack = 1;          // how far they are below it, if terms and weights are spread as random ones
};

/// Bounds a result: the first one, or any of a recurrent layer. Operands are elements (refuse_elements) or constants.
/// Nothing: it is infinite, or the operator is none of those that are known here.
std::optional<Bound> bound_of(const compiler::Node& node, const compiler::Value& result);

/// The largest number that the projection of an lstm makes of its cells, which give 1 at most; 0 if it has none,
/// infinite if its weights are not known.
double largest_projected(const compiler::Node& lstm);

/// How far the sum of a row's elements can be above 1; unknown for others than probabilities of 16 bits.
double excess_of_probabilities(const compiler::Value* value);

}  // namespace wick::cortex_m
