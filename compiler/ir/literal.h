// Numbers among the arguments of a node. C++20.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The number as a double if it is a literal: an int, a float or a bool that is known when the model is compiled.
std::optional<double> literal(const Arg& arg);

}  // namespace wick::compiler
