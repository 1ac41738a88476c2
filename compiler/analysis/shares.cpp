#include "compiler/analysis/shares.h"

#include <cmath>
#include <limits>

#include "compiler/analysis/data_movement.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/literal.h"

namespace wick::compiler {
namespace {

bool is_along_last(const Node& node) {
  return wrap_dim(node.static_integer("dim"), node.tensor_or_null(0)->rank()) + 1 ==
         static_cast<int64_t>(node.tensor_or_null(0)->rank());
}

// exp(x - amax(x)) along the last dimension: the largest element is 1.
bool are_powers_up_to_one(const Node* node) {
  const Node* difference = node && node->is("aten.exp.default") ? node->tensor_or_null(0)->producer : nullptr;
  if (!difference || !difference->is("aten.sub.Tensor") || literal(difference->arg("alpha")) != 1) return false;
  const Value *x = difference->tensor_or_null(0), *most = difference->tensor_or_null(1);
  const Node* from = x && most ? most->producer : nullptr;
  if (!from || from->results().empty() || from->result() != most || from->tensor_or_null(0) != x) return false;
  if (from->is("aten.max.dim")) return from->boolean("keepdim") && is_along_last(*from);
  if (!from->is("aten.amax.default") || !from->boolean("keepdim")) return false;
  const auto dims = from->static_ints("dim");
  return dims.size() == 1 && wrap_dim(dims[0], x->rank()) + 1 == static_cast<int64_t>(x->rank());
}

// Elements that are not negative, with a positive one in each row along the last dimension: a softmax, the largest
// elements of one (topk), or exp(x - amax(x)).
bool are_shares(const Value* value) {
  const Node* node = value->producer;
  if (are_powers_up_to_one(node)) return true;
  if (node && node->is("aten.topk.default")) {
    const bool largest = node->boolean("largest") && is_along_last(*node) && node->result() == value;
    node = largest ? node->tensor_or_null(0)->producer : nullptr;
  }
  return node && node->is("aten._softmax.default") && is_along_last(*node);
}

// Elements between 0 and 1: a softmax or sigmoid, or elements picked from one.
bool are_probabilities(const Value* value) {
  const Node* node = value->producer;
  const bool picked = node && (node->is("aten.topk.default") || node->is("aten.gather.default"));
  if (picked) node = node->result() == value ? node->tensor_or_null(0)->producer : nullptr;
  return node && (node->is("aten._softmax.default") || node->is("aten.sigmoid.default"));
}

// Returns x if `value` is `x + c` or `clamp(x, min=c)` with a constant c > 0, else null.
const Value* raised(const Value& value) {
  const Node* node = value.producer;
  if (!node || !is_floating(value.dtype())) return nullptr;
  const bool adds = node->is("aten.add.Tensor") || node->is("aten.add.Scalar");
  if (!adds && !node->is("aten.clamp.default")) return nullptr;
  const auto least = literal(node->arg(adds ? "other" : "min")), alpha = adds ? literal(node->arg("alpha")) : 1;
  // A subnormal constant may count as zero.
  const double smallest_normal = value.dtype() == DType::f16 ? 0x1p-14 : std::numeric_limits<float>::min();
  const bool raises = least && alpha && *alpha == 1 && *least >= smallest_normal && (adds || node->is_none("max"));
  return raises ? node->tensor_or_null(0) : nullptr;
}

// Whether the node copies, perhaps to another dtype, or multiplies by a constant that is not tiny.
bool scales(const Node& node) {
  if (node.is("aten.clone.default") || node.is("aten._to_copy.default")) return true;
  const bool multiplies = node.is(Binary::mul);
  if (!multiplies && !node.is(Binary::div)) return false;
  if (node.operands().size() != 1 || !node.tensor_or_null(0)) return false;
  const auto number = literal(node.arg(1));
  return number && (multiplies ? std::abs(*number) >= 0x1p-64 : std::abs(*number) <= 0x1p64);
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
         (below ? are_probabilities(x) : are_shares(x));
}

bool has_ordinary_element(const Value* value, size_t dim) {
  constexpr int kMaxMoves = 16;
  for (int i = 0; i < kMaxMoves; ++i) {
    const Node* node = value->producer;
    if (!node || value->rank() == 0) return false;
    if (node->is("aten._softmax.default"))
      return static_cast<size_t>(wrap_dim(node->static_integer("dim"), value->rank())) == dim;
    if (are_shares(value)) return dim + 1 == value->rank();
    const bool views = node->is(Movement::view) || node->is(Movement::expand) || node->is(Movement::permute);
    if (!views && !scales(*node)) return false;
    if (views) {
      const auto before = dim_before(*node, dim);
      if (!before) return false;
      dim = *before;
    }
    value = node->tensor_or_null(0);
  }
  return false;
}

}  // namespace wick::compiler
