// Linear: y = x w^T + b on int8.
//   y[n] = clamp(requantize(sum_k (x[k] + input_offset) (w[n][k] + filter_offset) + bias[n]) + output_offset)
// The accumulator has the scale scale(x) * scale(w); so does the bias. The MVE kernel gets everything that does not
// depend on x as one number for each output, instead of the bias:
//   kernel_sum[n] = bias[n] + input_offset * sum_k (w[n][k] + filter_offset)
// DSP and scalar kernels get the bias alone. Weights that the model quantizes to four bits are packed. Weights with a
// zero point for each output are replaced by weights without zero points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/centered_weights.h"
#include "backends/cortex_m/compile/convolution/convolution.h"
#include "backends/cortex_m/compile/int4.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::Quantization;
using compiler::Value;
using compiler::Verdict;

namespace rules_linear {
namespace {

struct Linear {
  Affine input, output;
  int32_t filter_zero = 0;
  std::vector<Requantization> requantizations;  // one, or one for each output
  std::vector<int32_t> bias;                    // empty: none
  CenteredWeights centered;                     // weights with several zero points; empty: they have one
  std::vector<uint8_t> packed;                  // the weights as four bits; empty: they stay int8
  bool per_channel() const { return requantizations.size() > 1; }
};

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

size_t num_outputs(const Value& weights) { return static_cast<size_t>(weights.sizes()[0].value()); }

std::vector<int8_t> weights_of(const Linear& linear, const Value& constant) {
  const bool centered = !linear.centered.elements.empty();
  return centered ? linear.centered.elements : compiler::layout::elements_of<int8_t>(constant);
}

// An upper bound of every sum, for input elements in their range.
int64_t largest_sum(const Linear& linear, const Value& constant) {
  const std::vector<int8_t> weights = weights_of(linear, constant);
  const size_t outputs = num_outputs(constant), inputs = weights.size() / outputs;
  const int64_t reach =
      std::max(std::abs(linear.input.min - linear.input.zero), std::abs(linear.input.max - linear.input.zero));
  int64_t largest = 0;
  for (size_t n = 0; n < outputs; ++n) {
    int64_t total = 0;
    for (size_t k = 0; k < inputs; ++k) total += std::abs(weights[n * inputs + k] - linear.filter_zero);
    const int64_t bias = linear.bias.empty() ? 0 : linear.bias[n];
    largest = std::max(largest, total * reach + std::abs(bias));
  }
  return largest;
}

std::vector<double> scales_of(const Quantization& weights) {
  std::vector<double> scales = weights.scales.all();
  if (std::all_of(scales.begin(), scales.end(), [&](double scale) { return scale == scales[0]; })) scales.resize(1);
  return scales;
}

// Reads the zero point that all weights share, or replaces the weights by centered ones.
void read_zero_points(const Value& weights, Linear* linear) {
  const std::vector<double> zeros = weights.tensor().quantization->zero_points.all();
  linear->filter_zero = static_cast<int32_t>(zeros[0]);
  if (std::all_of(zeros.begin(), zeros.end(), [&](double zero) { return zero == zeros[0]; })) return;
  linear->filter_zero = 0;
  linear->centered = centered_weights(compiler::layout::elements_of<int8_t>(weights),
                                      static_cast<size_t>(weights.sizes()[1].value()), zeros);
}

// Fills `linear`, or says why the node is not taken.
Refusal read_linear(const Node& node, Linear* linear) {
  const Value *x = node.tensor("input"), *weights = node.tensor("weight"), *bias = node.optional_tensor("bias");
  for (const Refusal& reason :
       {refuse_int8(*x, "its input"), refuse_int8(*node.result(), "its result"), refuse_weights(*weights)}) {
    if (!reason.empty()) return reason;
  }
  linear->input = affine(*x);
  linear->output = affine(*node.result());
  const Quantization& q = *weights->tensor().quantization;
  read_zero_points(*weights, linear);
  std::vector<double> steps = scales_of(q);
  for (double& step : steps) {
    const auto found = requantization_of_sums(linear->input.scale * step / linear->output.scale);
    if (!found) return {"the scale of its result is too far from those of input and weights", kNearerScale};
    linear->requantizations.push_back(*found);
    step *= linear->input.scale;
  }
  return bias ? quantize_bias(*bias, num_outputs(*weights), steps, &linear->bias) : Refusal{};
}

Refusal refuse_large_sums(const Linear& linear, const Value& weights) {
  const int64_t largest = largest_sum(linear, weights);
  const bool all_fit = std::all_of(linear.requantizations.begin(), linear.requantizations.end(),
                                   [&](const Requantization& each) { return keeps_32_bits(largest, each); });
  return all_fit ? Refusal{} : Refusal{"its sums could exceed 32 bits", kSmallerSums};
}

bool is_narrow(const Node& node) { return is_int4(*node.tensor("weight")); }

// Fills `packed` if the weights have four bits and packing saves memory. The packed operator reads scales as tensors,
// which counts against it.
void pack_weights(const Node& node, const Configuration& configuration, Linear* linear) {
  if (configuration.stock_only || !is_narrow(node) || !linear->centered.elements.empty()) return;
  const Value& weights = *node.tensor("weight");
  const auto elements = compiler::layout::elements_of<int8_t>(weights);
  std::vector<uint8_t> packed = pack_int4(elements, static_cast<size_t>(weights.sizes()[1].value()));
  const size_t scales = linear->per_channel() ? 0 : 2 * sizeof(int32_t);
  if (packed.size() + scales < elements.size()) linear->packed = std::move(packed);
}

Verdict supports_linear(const Node& node, const Configuration& configuration) {
  Linear linear;
  Refusal reason = read_linear(node, &linear);
  if (reason.empty()) reason = refuse_large_sums(linear, *node.tensor("weight"));
  if (!reason.empty()) return refused(reason);
  const bool is_fixed = is_static(node.result()->sizes());
  if (!is_fixed && configuration.stock_only)
    return refused({"rows known only at run time: stock's quantized_linear takes those that it was compiled for",
                    "export with a fixed batch, or compile with another profile than stock"});
  if (!is_fixed && !linear.centered.elements.empty())
    return refused({"rows known only at run time, beside weights with several zero points",
                    "quantize the weights with one zero point, or export with a fixed batch"});
  if (configuration.stock_only && linear.per_channel())
    return refused(
        {"stock's quantized_linear takes one scale for all outputs; Wick's own takes one for each", kProfileAuto});
  if (configuration.stock_only && is_narrow(node))
    return Verdict::yes("its weights of four bits are stored in eight: stock has no operator for others");
  pack_weights(node, configuration, &linear);
  if (!linear.packed.empty()) return Verdict::yes("its weights are stored in four bits each");
  return Verdict::yes();
}

// --- rewrite ---

Value* bias_constant(Builder& b, const Linear& linear) {
  const auto count = static_cast<int64_t>(linear.bias.size());
  return linear.bias.empty() ? nullptr : constant(b, {count}, linear.bias, "bias");
}

compiler::Arg optional(Value* value) { return value ? compiler::Arg(value) : compiler::Arg(compiler::None()); }

Value* kernel_sum(Builder& b, const Linear& linear, Value* weights) {
  const int64_t input_offset = -linear.input.zero;
  const auto elements = compiler::layout::elements_of<int8_t>(*weights);
  const size_t outputs = num_outputs(*weights), inputs = elements.size() / outputs;
  std::vector<int32_t> sums;
  for (size_t n = 0; n < outputs; ++n) {
    int64_t sum = 0;
    for (size_t k = 0; k < inputs; ++k) sum += elements[n * inputs + k] - linear.filter_zero;
    const int64_t bias = linear.bias.empty() ? 0 : linear.bias[n];
    sums.push_back(static_cast<int32_t>(bias + input_offset * sum));
  }
  const auto count = static_cast<int64_t>(sums.size());
  return constant(b, {1, count}, std::move(sums), "kernel_sum");
}

// A field of all requantizations; if there is one for all outputs, it is repeated `count_of_scales` times.
Value* channel_constant(Builder& b, const Linear& linear, int32_t Requantization::* field, size_t count_of_scales,
                        const char* name) {
  std::vector<int32_t> list;
  for (const Requantization& each : linear.requantizations) list.push_back(each.*field);
  if (list.size() == 1) list.resize(count_of_scales, list[0]);
  const auto count = static_cast<int64_t>(list.size());
  return constant(b, {count}, std::move(list), name);
}

Value* packed_weights(Builder& b, const Linear& linear, const Value& weights) {
  const int64_t outputs = weights.sizes()[0].value(), row = static_cast<int64_t>(linear.packed.size()) / outputs;
  return constant(b, {outputs, row}, linear.packed, "weights");
}

std::vector<Value*> rewrite_linear(Builder& b, Node& node, const Configuration& configuration) {
  Linear linear;
  read_linear(node, &linear);
  pack_weights(node, configuration, &linear);
  const bool packed = !linear.packed.empty();
  Value *x = node.tensor("input"), *weights = node.tensor("weight");
  if (!linear.centered.elements.empty()) {
    weights = constant(b, {weights->sizes()[0], weights->sizes()[1] * linear.centered.copies}, linear.centered.elements,
                       "weights");
    x = repeated_inputs(b, x, x->rank() - 1, 1, linear.centered.copies);
  }
  Value* unpacked = weights;
  if (packed) weights = packed_weights(b, linear, *weights);
  Value *bias = nullptr, *sum = nullptr;
  // Without sums the kernel for packed weights computes them in each run. That saves their memory, but only if there is
  // no bias, which the sums include.
  if (configuration.isa == Isa::mve && !(packed && configuration.tight && linear.bias.empty()))
    sum = kernel_sum(b, linear, unpacked);
  else
    bias = bias_constant(b, linear);
  const int64_t min = linear.output.min, max = linear.output.max;
  compiler::Args args = {x,
                         weights,
                         optional(bias),
                         optional(sum),
                         int64_t{-linear.input.zero},
                         int64_t{-linear.filter_zero},
                         int64_t{linear.output.zero}};
  if (linear.per_channel() || packed || !is_static(node.result()->sizes())) {
    const size_t scales = packed ? 1 : num_outputs(*weights);
    for (Value* each : {channel_constant(b, linear, &Requantization::multiplier, scales, "multipliers"),
                        channel_constant(b, linear, &Requantization::shift, scales, "shifts")})
      args.push_back(each);
    for (const int64_t bound : {min, max}) args.push_back(bound);
    return {b.call(packed ? "wick_cortex_m.linear_int4" : "wick_cortex_m.linear_per_channel", std::move(args))};
  }
  const Requantization& all = linear.requantizations[0];
  args.push_back(Ints{int64_t{all.multiplier}});
  args.push_back(Ints{int64_t{all.shift}});
  for (const int64_t bound : {max, min}) args.push_back(bound);
  return {b.call("cortex_m.quantized_linear", std::move(args))};
}

constexpr OpRule kRules[] = {
    {"aten.linear.default", supports_linear, rewrite_linear, true, false, OpenSizes::rows},
};

}  // namespace
}  // namespace rules_linear

const RuleFamily kLinearRules = {rules_linear::kRules, std::size(rules_linear::kRules)};

}  // namespace wick::cortex_m
