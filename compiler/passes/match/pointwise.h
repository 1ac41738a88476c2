// Helpers for pointwise operators and softmax.
#pragma once
#include <optional>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The sizes that the tensor operands of a pointwise node broadcast to, with operand `except` replaced by `value`
/// (null: nothing replaced); nothing if they do not broadcast.
std::optional<Sizes> broadcast_sizes(const Node& node, size_t except = 0, const Value* value = nullptr);

/// A sum or difference of two tensors; the factor of the second, argument 2, is known at compile time.
bool is_add_or_sub(const Node& node);
/// a + b, without factor.
bool is_plain_add(const Node& node);
/// `chosen` where the condition holds, `other` elsewhere: tensors or numbers.
struct Choice {
  Value* condition = nullptr;
  const Arg *chosen = nullptr, *other = nullptr;
};
/// A where or a masked_fill by a number.
std::optional<Choice> choice_of(const Node& node);
/// A softmax, also one that gives 0 for rows of minus infinity.
bool is_softmax(const Node& node);

}  // namespace wick::compiler
