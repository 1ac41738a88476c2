// Errors that 16-bit weights and states cause in recurrent layers. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// The error of h in real numbers that rounding the weights or h to 16 bits causes: three standard deviations of errors
/// that are uniformly distributed. For relu: the error that rounding the states causes. 0 for layers that the backend
/// refuses for another reason.
double error_of_recurrent(const compiler::Node& node);

}  // namespace wick::cortex_m
