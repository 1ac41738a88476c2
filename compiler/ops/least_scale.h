// The smallest scale that operators may choose as quantization parameter. C++20.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Lower bound of the scales that the node `choose` computes.
double least_scale(const Node& choose);

}  // namespace wick::compiler
