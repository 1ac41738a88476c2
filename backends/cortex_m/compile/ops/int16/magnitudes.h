// Magnitudes of values, divisors and constants. C++20.
#pragma once
#include <limits>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// The larger magnitude; kUnknown if one is NaN.
double larger(double a, double b);
double largest_of(const std::vector<double>& numbers);
/// An upper bound of the magnitude of a value's numbers. Requires: it has elements (refuse_elements) or is constant;
/// else kUnknown. 0 for null.
double reach(const compiler::Value* value);
double count_of(const compiler::Value& value);

/// The first operand that is not a single constant number (is_number); null: all are.
const compiler::Value* variable(const compiler::Node& node);

/// The divisors that a value with elements, or a constant, can hold.
struct Divisors {
  double least = kUnknown;  // the smallest nonzero magnitude
  bool has_zero = false;
};
Divisors divisors_of(const compiler::Value& value);

}  // namespace wick::cortex_m
