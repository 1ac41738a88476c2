#include "backends/xnnpack/compile/ops/curves.h"

#include <algorithm>
#include <string_view>

namespace wick::xnnpack {

using compiler::Node;
using compiler::ValueRange;

namespace {

constexpr size_t kMaxFollowed = 64;
// Operators whose results are ordinary numbers: layers with weights, norms and bounded functions.
constexpr std::string_view kOrdinaryOps[] = {
    "aten.linear.default",        "aten.addmm.default",
    "aten._softmax.default",      "aten.convolution.default",
    "aten.rms_norm.default",      "aten._native_batch_norm_legit_no_training.default",
    "aten.tanh.default",          "aten.native_layer_norm.default",
    "aten.sigmoid.default",       "aten.native_group_norm.default",
    "aten._safe_softmax.default",
};
constexpr std::string_view kKeeping[] = {
    "aten.add.Tensor",  "aten.add.Scalar",      "aten.sub.Tensor",   "aten.mul.Tensor",   "aten.mul.Scalar",
    "aten.mean.dim",    "aten.permute.default", "aten.view.default", "aten.slice.Tensor", "aten.select.int",
    "aten.cat.default", "aten.expand.default",  "aten.relu.default", "aten.silu.default",
};

}  // namespace

uint32_t elu(Lowering& l, uint32_t x, double alpha) {
  PayloadNode node;
  node.type = NodeType::elu;
  node.inputs[0] = x;
  node.value = static_cast<float>(alpha);
  return l.add(std::move(node), Sizes(l.dims(x)));
}

// Any normal number or infinity times 2^126 is at least 1 in magnitude. f32.
uint32_t sign(Lowering& l, uint32_t x) { return clamped(l, times(l, x, 0x1p126), {-1, 1}); }
uint32_t is_positive(Lowering& l, uint32_t x) { return clamped(l, times(l, x, 0x1p126), {0, 1}); }

// A value computed in f16 may have overflowed, even if later nodes compute in f32.
ValueRange operand_numbers(const Lowering& l, const Node& node) {
  const compiler::Value* x = node.operands()[0];
  ValueRange numbers = l.numbers_of(x);
  if ((x->dtype() == DType::f16 && x->producer) || l.overflows_half(x)) numbers.above = numbers.below = true;
  return numbers;
}

// The library's logarithm has an error of 6e-8 near 1, which is large relative to a small z. One Newton step for e^y =
// 1 + z corrects it: y - 1 + (1 + z) e^-y, written without differences of nearly equal numbers.
uint32_t log1p_0_to_1(Lowering& l, uint32_t z) {
  const uint32_t y = l.unary(NodeType::log, plus(l, z, 1));
  const uint32_t decay = elu(l, l.unary(NodeType::negate, y), 1);  // e^-y - 1
  return sum(l, sum(l, y, decay), product(l, z, plus(l, decay, 1)));
}

uint32_t log1p_exp_neg_abs(Lowering& l, uint32_t x) {
  const uint32_t fall = l.unary(NodeType::exp, l.unary(NodeType::negate, l.unary(NodeType::abs, x)));
  return log1p_0_to_1(l, fall);
}

bool has_ordinary_numbers(const compiler::Value* value) {
  const auto among = [](const auto& ops, const Node& node) {
    return std::find(std::begin(ops), std::end(ops), node.op->name()) != std::end(ops);
  };
  std::vector<const compiler::Value*> followed{value};
  for (size_t i = 0; i < followed.size(); ++i) {
    const Node* node = followed[i]->producer;
    if (followed[i]->is_constant() || (node && among(kOrdinaryOps, *node))) continue;
    if (!node || !among(kKeeping, *node)) return false;
    for (const compiler::Value* operand : node->operands()) {
      if (std::find(followed.begin(), followed.end(), operand) == followed.end()) followed.push_back(operand);
      if (followed.size() > kMaxFollowed) return false;
    }
  }
  return true;
}

// Beyond +-128 the sigmoid is 0 or 1, so clamping x does not change it.
uint32_t sigmoid(Lowering& l, const Node& node, uint32_t x) {
  constexpr float kEnd = 128;
  return l.unary(NodeType::sigmoid,
                 has_plain_sigmoid(node, operand_numbers(l, node)) ? x : clamped(l, x, {-kEnd, kEnd}));
}

bool has_plain_sigmoid(const Node& node, const ValueRange& numbers) {
  if (numbers.is_infinite()) return false;
  return (numbers.min >= -1e26 && numbers.max <= 1e26) || has_ordinary_numbers(node.operands()[0]);
}

}  // namespace wick::xnnpack
