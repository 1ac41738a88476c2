// What operators that choose quantization parameters have in common. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// What no scale that the node chooses is below.
double least_scale(const Node& choose);

}  // namespace wick::compiler
