// Which arguments an operator has. C++20.
#pragma once
#include <string_view>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Whether the node's operator has an argument of this name.
inline bool has_argument(const Node& node, std::string_view name) { return node.op->parsed->find(name) >= 0; }

}  // namespace wick::compiler
