// Operators that only move elements of one operand, and where a dimension goes through them.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// view, permute, expand, slice, select, roll, index_select: operand 0 is the tensor that moves.
bool is_mover(const Node& node);
inline Value* moved(const Node& node) { return node.arg(size_t{0}).as<Value*>(); }

/// The dim of the result that holds dim `dim` of the operand whole and in order, or nothing: it is split, merged, cut
/// or selected from.
std::optional<size_t> dim_after(const Node& mover, size_t dim);
/// The dim of the operand that the result holds whole as its dim `dim`.
std::optional<size_t> dim_before(const Node& mover, size_t dim);

/// The only reader of a value, or null: it is read otherwise or more than once.
Node* only_reader(const Value& value);

/// `value` has other elements than before, and so has all that is moved from it or concatenated with it.
void forget_moved(Value& value);

}  // namespace wick::compiler
