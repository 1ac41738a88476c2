// How far 16 bits put the results of recurrent layers off. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// The error of h that rounding the weights or h makes, in three deviations of errors that are spread at random; of
/// relu at most. 0 of layers that the backend does not take for another reason.
double error_of_recurrent(const compiler::Node& node);

}  // namespace wick::cortex_m
