// Convolutions on int16 activations and int8 weights: images, and rows as images of height 1.
#include <algorithm>

#include "backends/cortex_m/compile/centered_weights.h"
#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/convolution/transposed_phases.h"
#include "backends/cortex_m/compile/ops/int16/int16_convolution.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace int16_rules_convolution {
namespace {

Ints pair(const int64_t values[2]) { return {values[0], values[1]}; }

Refusal read(const Node& node, Convolution* c, Int16Sums* sums) {
  for (const Refusal& reason :
       {refuse_int16(*node.tensor("input"), "its input"), refuse_int16(*node.result(), "its result")}) {
    if (!reason.empty()) return reason;
  }
  Refusal reason = read_filter(node, c);
  if (!reason.empty()) return reason;
  return read_int16_sums(c->filter, static_cast<size_t>(c->shape.outputs), accumulator_steps(node, *c), c->input,
                         c->output, node.optional_tensor("bias"), sums);
}

Verdict supports_convolution(const Node& node, const Configuration&) {
  Convolution c;
  Int16Sums sums;
  return verdict_of(read(node, &c, &sums));
}

Value* transposed(Builder& b, Value* x, const Convolution& c, const Int16Sums& sums, Isa isa) {
  return by_phases(b, x, c, [&](Value* padded, const Convolution& all) {
    const int64_t times = all.shape.outputs / c.shape.outputs;
    Int16Sums of_all = sums;
    if (sums.scales.size() > 1) of_all.scales = repeated(sums.scales, c.groups, times);
    of_all.bias = repeated(sums.bias, c.groups, times);
    return int16_convolution(b, padded, all, of_all, isa);
  });
}

std::vector<Value*> rewrite_convolution(Builder& b, Node& node, const Configuration& configuration) {
  Convolution c;
  Int16Sums sums;
  read(node, &c, &sums);
  Value* x = node.tensor("input");
  if (c.rows) x = b.unsqueeze(x, 2);
  x = repeated_inputs(b, x, 1, c.groups, c.copies);
  Value* y =
      c.transposed ? transposed(b, x, c, sums, configuration.isa) : int16_convolution(b, x, c, sums, configuration.isa);
  return {c.rows ? b.squeeze(y, 2) : y};
}

constexpr OpRule kRules[] = {
    {"aten.convolution.default", supports_convolution, rewrite_convolution, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace int16_rules_convolution

const RuleFamily kInt16ConvolutionRules = {int16_rules_convolution::kRules, std::size(int16_rules_convolution::kRules)};

Value* int16_convolution(Builder& b, Value* x, const Convolution& c, const Int16Sums& sums, Isa isa) {
  const ConvolutionShape& s = c.shape;
  const bool depthwise = c.is_depthwise();
  Value* filter = depthwise ? constant(b, {1, s.kernel[0], s.kernel[1], s.outputs}, depthwise_filter(c), "filter")
                            : constant(b, {s.outputs, s.kernel[0], s.kernel[1], s.group_channels}, c.filter, "filter");
  const Int16Operands operands = operands_of(b, sums, static_cast<size_t>(s.outputs));
  Args args = {x,
               filter,
               operands.bias,
               int16_rules_convolution::pair(s.stride),
               int16_rules_convolution::pair(s.padding),
               int16_rules_convolution::pair(s.dilation)};
  if (depthwise) args.push_back(s.outputs / s.channels);
  args.push_back(operands.multipliers);
  args.push_back(operands.shifts);
  for (const int32_t bound : {c.output.min, c.output.max}) args.push_back(int64_t{bound});
  if (depthwise) return b.call("wick_cortex_m.depthwise_conv2d_int16", std::move(args));
  args.push_back(scratch(b, conv2d_int16_scratch(s), isa));
  return b.call("wick_cortex_m.conv2d_int16", std::move(args));
}

}  // namespace wick::cortex_m
