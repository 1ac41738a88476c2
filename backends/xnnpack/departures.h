// Where the library's kernels give something else than eager: at NaN, at infinities, near the largest float.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// What the user should know of a node that the backend takes, or null. Not mentioned: the library takes numbers below
/// the least normal one for zero, in every operator.
const char* departure(const compiler::Node& node);

}  // namespace wick::xnnpack
