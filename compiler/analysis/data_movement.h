// Data-movement operators with one operand, and where they move a dimension.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// view, permute, expand, slice, select, roll, index_select: operand 0 is the moved tensor.
bool moves_data(const Node& node);
inline Value* moved(const Node& node) { return node.arg(size_t{0}).as<Value*>(); }

/// The dim of the result that holds dim `dim` of the operand whole and in order. Empty if it is split, merged, sliced
/// or selected from.
std::optional<size_t> dim_after(const Node& node, size_t dim);
/// The dim of the operand that the result holds whole as its dim `dim`.
std::optional<size_t> dim_before(const Node& node, size_t dim);

/// The only reader of a value. Null if there is more than one, or if the value is read by something other than a node.
Node* only_reader(const Value& value);

/// Notes that the elements of `value` changed, and with them all values that are moved or concatenated from it.
void forget_moved(Value& value);

}  // namespace wick::compiler
