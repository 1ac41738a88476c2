// Sizes of operators that have kPointwise.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The sizes that the tensor operands of a pointwise node broadcast to, with operand `except` replaced by `value`
/// (null: nothing replaced); nothing if they do not broadcast.
std::optional<Sizes> broadcast_sizes(const Node& node, size_t except = 0, const Value* value = nullptr);

}  // namespace wick::compiler
