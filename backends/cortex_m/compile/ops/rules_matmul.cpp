// Matmuls of two computed matrices, and of batches of them. The kernel reads the right operand transposed.
#include <algorithm>

#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_matmul {
namespace {

int64_t reach(const Affine& q) { return std::max(std::abs(q.min - q.zero), std::abs(q.max - q.zero)); }

Verdict supports_product(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  const Affine a = affine(*node.operands()[0]), b = affine(*node.operands()[1]), y = affine(*node.result());
  const auto factor = requantization_of_sums(a.scale * b.scale / y.scale);
  if (!factor) return refused({"the scale of its result is too far from those of its operands", kNearerScale});
  const int64_t inner = node.operands()[0]->sizes().back().value();
  if (!keeps_32_bits(inner * reach(a) * reach(b), *factor))
    return refused({"its sums could exceed 32 bits", kSmallerSums});
  return Verdict::yes();
}

// [B, K, N] -> [B, N, K].
Value* swapped(Builder& b, Value* x) {
  const compiler::Sizes sizes = {x->sizes()[0], x->sizes()[2], x->sizes()[1]};
  if (x->is_constant()) {
    const auto elements = compiler::layout::elements_of<int8_t>(*x);
    return constant(b, sizes, compiler::layout::permute_elements(elements.data(), x->sizes(), {0, 2, 1}), "transposed");
  }
  // A transpose of a transpose is the original matrix.
  const Node* made = x->producer;
  if (made && made->is("aten.permute.default") && made->static_ints("dims") == std::vector<int64_t>{0, 2, 1})
    return made->operands()[0];
  return b.call("cortex_m.transpose", {x, compiler::Ints{0, 2, 1}});
}

std::vector<Value*> rewrite_product(Builder& b, Node& node, const Configuration& configuration) {
  Value *x = node.operands()[0], *w = node.operands()[1];
  const Affine from = affine(*x), with = affine(*w), to = affine(*node.result());
  const bool stacked = x->rank() == 3;
  Value* right = stacked ? swapped(b, w) : swapped(b, b.unsqueeze(w, 0));
  const Requantization factor = *requantization_of_sums(from.scale * with.scale / to.scale);
  Value* y = b.call("cortex_m.quantized_batch_matmul",
                    {stacked ? x : b.unsqueeze(x, 0), int64_t{-from.zero}, right, int64_t{-with.zero}, int64_t{to.zero},
                     int64_t{factor.multiplier}, int64_t{factor.shift},
                     scratch(b, batch_matmul_scratch(right->sizes()[1].value()), configuration.isa)});
  return {stacked ? y : b.squeeze(y, 0)};
}

constexpr OpRule kRules[] = {
    {"aten.bmm.default", supports_product, rewrite_product},
    {"aten.mm.default", supports_product, rewrite_product},
};

}  // namespace
}  // namespace rules_matmul

const RuleFamily kMatmulRules = {rules_matmul::kRules, std::size(rules_matmul::kRules)};

}  // namespace wick::cortex_m
