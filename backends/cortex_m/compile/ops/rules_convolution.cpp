// Convolutions: filters are permuted to [O, kH, kW, I] ahead of time, and each output has its multiplier and shift.
// A transposed convolution that stock's kernel does not compute (groups, dilation, output padding, or a stride and
// padding that together exceed the kernel) becomes a plain one.
#include <algorithm>

#include "backends/cortex_m/compile/centered_weights.h"
#include "backends/cortex_m/compile/convolution_calls.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/transposed_phases.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- transposed convolutions ---

bool has_stock_form(const Convolution& c) {
  const ConvolutionShape& s = c.shape;
  if (c.groups != 1) return false;
  for (size_t axis = 0; axis < 2; ++axis) {
    // CMSIS-NN writes behind its output where stride and padding together exceed the kernel.
    if (c.output_padding[axis] != 0 || s.dilation[axis] != 1 || s.stride[axis] + s.padding[axis] > s.kernel[axis])
      return false;
  }
  return true;
}

Value* transposed(Builder& b, Value* x, const Convolution& c, Isa isa) {
  if (has_stock_form(c)) return transposed_convolution(b, x, c, isa);
  return by_phases(b, x, c, [&](Value* padded, const Convolution& all) { return convolution(b, padded, all, isa); });
}

Verdict supports_convolution(const Node& node, const Configuration&) {
  Convolution c;
  const std::string reason = read_convolution(node, &c);
  return reason.empty() ? Verdict::yes() : Verdict::no(reason);
}

std::vector<Value*> rewrite_convolution(Builder& b, Node& node, const Configuration& configuration) {
  Convolution c;
  read_convolution(node, &c);
  Value* x = node.tensor("input");
  if (c.rows) x = b.unsqueeze(x, 2);
  x = repeated_inputs(b, x, 1, c.groups, c.copies);
  Value* y = c.transposed ? transposed(b, x, c, configuration.isa) : convolution(b, x, c, configuration.isa);
  return {c.rows ? b.squeeze(y, 2) : y};
}

constexpr OpRule kRules[] = {
    {"aten.convolution.default", supports_convolution, rewrite_convolution, true},
};

}  // namespace

const RuleFamily kConvolutionRules = {kRules, std::size(kRules)};

}  // namespace wick::cortex_m
