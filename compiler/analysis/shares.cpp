#include "compiler/analysis/shares.h"

#include "compiler/ir/builder.h"

namespace wick::compiler {
namespace {

bool is_along_last(const Node& node) {
  return wrap_dim(node.static_integer("dim"), node.tensor_or_null(0)->rank()) + 1 ==
         static_cast<int64_t>(node.tensor_or_null(0)->rank());
}

// The results of a softmax, or the largest of them: not below 0, and one at least is above.
bool are_shares(const Value* value) {
  const Node* node = value->producer;
  if (node && node->is("aten.topk.default")) {
    const bool largest = node->boolean("largest") && is_along_last(*node) && node->result() == value;
    node = largest ? node->tensor_or_null(0)->producer : nullptr;
  }
  return node && node->is("aten._softmax.default") && is_along_last(*node);
}

}  // namespace

bool is_share_of_sum(const Node& node) {
  if (!node.is("aten.div.Tensor")) return false;
  const Value *x = node.tensor_or_null(0), *y = node.tensor_or_null(1);
  const Node* sum = y ? y->producer : nullptr;
  if (!sum || !sum->is("aten.sum.dim_IntList") || sum->tensor_or_null(0) != x || !sum->boolean("keepdim")) return false;
  const auto dims = sum->static_ints("dim");
  return dims.size() == 1 && wrap_dim(dims[0], x->rank()) + 1 == static_cast<int64_t>(x->rank()) && are_shares(x);
}

}  // namespace wick::compiler
