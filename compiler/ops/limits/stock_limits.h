// Where stock ExecuTorch has a kernel of an operator's name but cannot run this call of it, or computes something else.
#pragma once
#include <string_view>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// "" if stock's kernel takes the node and computes the same, else why not. `node` is as it reaches the planner.
std::string_view stock_limit(const Node& node);

}  // namespace wick::compiler
