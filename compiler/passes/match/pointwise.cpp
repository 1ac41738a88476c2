#include "compiler/passes/match/pointwise.h"

#include "compiler/ir/builder.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

std::optional<Sizes> broadcast_sizes(const Node& node, size_t except, const Value* value) {
  Sizes sizes;
  try {
    for (size_t i = 0; i < node.args().size(); ++i) {
      if (!node.arg(i).is<Value*>()) continue;
      const Value* operand = value && i == except ? value : node.arg(i).as<Value*>();
      if (operand->type.is_tensor()) sizes = broadcast(sizes, operand->sizes());
    }
  } catch (const Failure&) {
    return std::nullopt;
  }
  return sizes;
}

bool is_add_or_sub(const Node& node) {
  if (!node.is(Binary::add) && !node.is(Binary::sub)) return false;
  return node.tensor_or_null(0) && node.tensor_or_null(1) && !node.arg(2).is<Value*>();
}

bool is_plain_add(const Node& node) { return node.is(Binary::add) && is_add_or_sub(node) && node.real("alpha") == 1; }
std::optional<Choice> choice_of(const Node& node) {
  if (node.is("aten.where.self")) return Choice{node.tensor_or_null(0), &node.arg(1), &node.arg(2)};
  if (node.is("aten.masked_fill.Scalar")) return Choice{node.tensor_or_null(1), &node.arg(2), &node.arg(size_t{0})};
  return std::nullopt;
}
bool is_softmax(const Node& node) { return node.is("aten._softmax.default") || node.is("aten._safe_softmax.default"); }

}  // namespace wick::compiler
