// How large the numbers of values are, in size. C++20.
#pragma once
#include <limits>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cortex_m {

inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Of sizes; unknown if one of them is not a number.
double larger(double a, double b);
double largest_of(const std::vector<double>& numbers);
/// The largest number that a value can hold: elements (refuse_elements) or a constant. 0 of null.
double reach(const compiler::Value* value);
double count_of(const compiler::Value& value);

/// The only operand that is not a number; all others are. Null: there is none.
const compiler::Value* variable(const compiler::Node& node);

/// What a value of elements divides by, in size.
struct Divisors {
  double least = kUnknown;  // but 0
  bool has_zero = false;
};
Divisors divisors_of(const compiler::Value& value);

}  // namespace wick::cortex_m
