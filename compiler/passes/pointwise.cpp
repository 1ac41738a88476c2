#include "compiler/passes/pointwise.h"

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

// Sorted.
constexpr std::string_view kPointwise[] = {
    "aten._to_copy.default",
    "aten.abs.default",
    "aten.acos.default",
    "aten.acosh.default",
    "aten.add.Scalar",
    "aten.add.Tensor",
    "aten.asin.default",
    "aten.asinh.default",
    "aten.atan.default",
    "aten.atan2.default",
    "aten.atanh.default",
    "aten.bitwise_and.Scalar",
    "aten.bitwise_and.Tensor",
    "aten.bitwise_left_shift.Tensor",
    "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_not.default",
    "aten.bitwise_or.Scalar",
    "aten.bitwise_or.Tensor",
    "aten.bitwise_right_shift.Tensor",
    "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.bitwise_xor.Scalar",
    "aten.bitwise_xor.Tensor",
    "aten.ceil.default",
    "aten.clamp.Tensor",
    "aten.clamp.default",
    "aten.cos.default",
    "aten.cosh.default",
    "aten.div.Scalar",
    "aten.div.Scalar_mode",
    "aten.div.Tensor",
    "aten.div.Tensor_mode",
    "aten.elu.default",
    "aten.eq.Scalar",
    "aten.eq.Tensor",
    "aten.erf.default",
    "aten.exp.default",
    "aten.expm1.default",
    "aten.floor.default",
    "aten.floor_divide.default",
    "aten.fmod.Scalar",
    "aten.fmod.Tensor",
    "aten.ge.Scalar",
    "aten.ge.Tensor",
    "aten.gelu.default",
    "aten.gt.Scalar",
    "aten.gt.Tensor",
    "aten.hardsigmoid.default",
    "aten.hardswish.default",
    "aten.hardtanh.default",
    "aten.isinf.default",
    "aten.isnan.default",
    "aten.le.Scalar",
    "aten.le.Tensor",
    "aten.leaky_relu.default",
    "aten.log.default",
    "aten.log10.default",
    "aten.log1p.default",
    "aten.log2.default",
    "aten.logical_and.default",
    "aten.logical_not.default",
    "aten.logical_or.default",
    "aten.logical_xor.default",
    "aten.logit.default",
    "aten.lt.Scalar",
    "aten.lt.Tensor",
    "aten.masked_fill.Scalar",
    "aten.maximum.default",
    "aten.minimum.default",
    "aten.mish.default",
    "aten.mul.Scalar",
    "aten.mul.Tensor",
    "aten.ne.Scalar",
    "aten.ne.Tensor",
    "aten.neg.default",
    "aten.pow.Scalar",
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.reciprocal.default",
    "aten.relu.default",
    "aten.remainder.Scalar",
    "aten.remainder.Tensor",
    "aten.round.default",
    "aten.rsqrt.default",
    "aten.rsub.Scalar",
    "aten.sigmoid.default",
    "aten.sign.default",
    "aten.silu.default",
    "aten.sin.default",
    "aten.sinh.default",
    "aten.softplus.default",
    "aten.sqrt.default",
    "aten.sub.Scalar",
    "aten.sub.Tensor",
    "aten.tan.default",
    "aten.tanh.default",
    "aten.trunc.default",
    "aten.where.self",
};

constexpr std::string_view kCommutative[] = {
    "aten.bitwise_and.Tensor",  "aten.bitwise_or.Tensor",   "aten.bitwise_xor.Tensor",
    "aten.eq.Tensor",           "aten.logical_and.default", "aten.logical_or.default",
    "aten.logical_xor.default", "aten.mul.Tensor",          "aten.ne.Tensor",
};

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::binary_search(std::begin(names), std::end(names), name);
}

}  // namespace

bool is_pointwise(const OpDef& op) { return contains(kPointwise, op.name()); }
bool is_commutative(const OpDef& op) { return contains(kCommutative, op.name()); }

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
