// Linear on int16 activations and int8 weights: y[n] = clamp(requantize(sum_k x[k] w[n][k] + bias[n])).
#include <fmt/format.h>

#include <algorithm>

#include "backends/cortex_m/compile/centered_weights.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/int16/sums.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace int16_rules_linear {
namespace {

Refusal refuse_weights(const Value& weights) {
  const auto& q = weights.tensor().quantization;
  if (!weights.is_constant()) return {"its weights are computed", kConstantWeights};
  if (!q)
    return {fmt::format("its weights are not quantized: {}", to_text(weights.type)),
            "annotate the weights in the quantizer: int8, per tensor or per channel along their outputs"};
  if (weights.rank() != 2 || weights.dtype() != DType::i8 || q->at_run_time || q->real != DType::f32)
    return {fmt::format("its weights are not int8 [N, K]: {}", to_text(weights.type)),
            "quantize the weights to int8, one row for each output"};
  if (!q->is_per_tensor() && q->channel_dim() != size_t{0})
    return {fmt::format("its weights do not have one scale, or one for each output: {}", to_text(weights.type)),
            kScalesOfOutputs};
  return refuse_zero_points(*q);
}

CenteredWeights weights_of(const Value& weights) {
  std::vector<double> zeros = weights.tensor().quantization->zero_points.all();
  zeros.resize(static_cast<size_t>(weights.sizes()[0].value()), zeros[0]);
  return centered_weights(compiler::layout::elements_of<int8_t>(weights),
                          static_cast<size_t>(weights.sizes()[1].value()), zeros);
}

Refusal read_linear(const Node& node, Int16Sums* sums) {
  const Value *x = node.tensor("input"), *weights = node.tensor("weight");
  for (const Refusal& reason :
       {refuse_int16(*x, "its input"), refuse_int16(*node.result(), "its result"), refuse_weights(*weights)}) {
    if (!reason.empty()) return reason;
  }
  std::vector<double> steps = weights->tensor().quantization->scales.all();
  for (double& step : steps) step *= affine(*x).scale;
  return read_int16_sums(weights_of(*weights).elements, static_cast<size_t>(weights->sizes()[0].value()), steps,
                         affine(*x), affine(*node.result()), node.optional_tensor("bias"), sums);
}

Verdict supports_linear(const Node& node, const Configuration&) {
  Int16Sums sums;
  return verdict_of(read_linear(node, &sums));
}

std::vector<Value*> rewrite_linear(Builder& b, Node& node, const Configuration&) {
  Int16Sums sums;
  read_linear(node, &sums);
  Value *x = node.tensor("input"), *weights = node.tensor("weight");
  const Int16Operands operands = operands_of(b, sums, static_cast<size_t>(weights->sizes()[0].value()));
  const std::vector<double> zeros = weights->tensor().quantization->zero_points.all();
  if (std::any_of(zeros.begin(), zeros.end(), [](double zero) { return zero != 0; })) {
    CenteredWeights centered = weights_of(*weights);
    x = repeated_inputs(b, x, x->rank() - 1, 1, centered.copies);
    weights = constant(b, {weights->sizes()[0], weights->sizes()[1] * centered.copies}, std::move(centered.elements),
                       "weights");
  }
  const Affine q = affine(*node.result());
  return {b.call("wick_cortex_m.linear_int16",
                 {x, weights, operands.bias, operands.multipliers, operands.shifts, int64_t{q.min}, int64_t{q.max}})};
}

constexpr OpRule kRules[] = {
    {"aten.linear.default", supports_linear, rewrite_linear, true, false, OpenSizes::rows},
};

}  // namespace
}  // namespace int16_rules_linear

const RuleFamily kInt16LinearRules = {int16_rules_linear::kRules, std::size(int16_rules_linear::kRules)};

}  // namespace wick::cortex_m
