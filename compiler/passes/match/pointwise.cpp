#include "compiler/passes/match/pointwise.h"

#include "compiler/ir/builder.h"
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

}  // namespace wick::compiler
