#include "compiler/analysis/shares.h"

#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/ir/literal.h"

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

// Between 0 and 1.
bool are_parts_of_one(const Value* value) {
  const Node* node = value->producer;
  const bool picked = node && (node->is("aten.topk.default") || node->is("aten.gather.default"));
  if (picked) node = node->result() == value ? node->tensor_or_null(0)->producer : nullptr;
  return node && (node->is("aten._softmax.default") || node->is("aten.sigmoid.default"));
}

// What `value` adds a number above 0 to, or limits from below by one; null: neither.
const Value* raised(const Value& value) {
  const Node* node = value.producer;
  if (!node || !is_floating(value.dtype())) return nullptr;
  const bool adds = node->is("aten.add.Tensor") || node->is("aten.add.Scalar");
  if (!adds && !node->is("aten.clamp.default")) return nullptr;
  const auto least = literal(node->arg(adds ? "other" : "min")), alpha = adds ? literal(node->arg("alpha")) : 1;
  // A smaller number may count as zero.
  const double smallest_normal = value.dtype() == DType::f16 ? 0x1p-14 : std::numeric_limits<float>::min();
  const bool raises = least && alpha && *alpha == 1 && *least >= smallest_normal && (adds || node->is_none("max"));
  return raises ? node->tensor_or_null(0) : nullptr;
}

}  // namespace

bool is_share_of_sum(const Node& node) {
  if (!node.is("aten.div.Tensor")) return false;
  const Value *x = node.tensor_or_null(0), *y = node.tensor_or_null(1);
  const Value* below = y ? raised(*y) : nullptr;
  const Node* sum = below ? below->producer : y ? y->producer : nullptr;
  if (!sum || !sum->is("aten.sum.dim_IntList") || sum->tensor_or_null(0) != x || !sum->boolean("keepdim")) return false;
  const auto dims = sum->static_ints("dim");
  return dims.size() == 1 && wrap_dim(dims[0], x->rank()) + 1 == static_cast<int64_t>(x->rank()) &&
         (below ? are_parts_of_one(x) : are_shares(x));
}

}  // namespace wick::compiler
