// Operators whose result element i depends only on the elements i of their (broadcast) operands.
#pragma once
#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Such an operator, with one result. Its tensor operands are all arguments of tensor type.
bool is_pointwise(const OpDef& op);

/// Two operands that may change places: equal results, but for which NaN comes out of two.
bool is_commutative(const OpDef& op);

/// The sizes that the tensor operands of a pointwise node broadcast to, with operand `except` replaced by `value`
/// (null: nothing replaced); nothing if they do not broadcast.
std::optional<Sizes> broadcast_sizes(const Node& node, size_t except = 0, const Value* value = nullptr);

}  // namespace wick::compiler
