// Variances and standard deviations over dimensions. C++20.
#pragma once
#include <vector>

#include "compiler/ops/rules.h"

namespace wick::compiler {

/// (x - mean)^2 summed over the dimensions, divided by count - correction.
struct Spread {
  std::vector<int64_t> dims;
  double correction = 1;
  bool keepdim = false;
};

/// The arguments of a node of var, std, var_mean or std_mean, in any overload.
Spread spread_of(const Node& node);
/// `correction` as an argument: an integer if it is one.
Arg correction_arg(double correction);
/// For complex numbers: the sum of the variances of their parts.
Value* variance(Builder& b, Value* x, const Spread& s);
/// The root of the variance. Finite if only the squares of the deviations overflow.
Value* deviation(Builder& b, Value* x, const Spread& s);

}  // namespace wick::compiler
