// Convolutions. Filters are permuted to [O, kH, kW, I] ahead of time; each output has its multiplier and shift. A
// transposed convolution becomes a plain one if stock's kernel does not compute it (groups, dilation, output padding,
// or stride + padding > kernel), or if its weights are packed.
#include <algorithm>

#include "backends/cortex_m/compile/centered_weights.h"
#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/convolution/transposed_phases.h"
#include "backends/cortex_m/compile/int4.h"
#include "backends/cortex_m/compile/ops/op_rule.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_convolution {
namespace {

// --- weights of four bits ---

bool keeps_to_four_bits(const Node& node, const Convolution& c) {
  return is_int4(*node.tensor("weight")) &&
         std::all_of(c.filter.begin(), c.filter.end(), [](int8_t each) { return each >= -8 && each <= 7; });
}

// --- transposed convolutions ---

bool has_stock_form(const Convolution& c) {
  const ConvolutionShape& s = c.shape;
  if (c.groups != 1) return false;
  for (size_t axis = 0; axis < 2; ++axis) {
    // CMSIS-NN writes behind its output if stride + padding > kernel.
    if (c.output_padding[axis] != 0 || s.dilation[axis] != 1 || s.stride[axis] + s.padding[axis] > s.kernel[axis])
      return false;
  }
  return true;
}

// Whether weights of four bits are packed: if that saves memory.
bool packs(const Node& node, const Convolution& c, const Configuration& configuration) {
  return !configuration.stock_only && keeps_to_four_bits(node, c) &&
         (c.transposed ? are_phases_smaller_packed(c, has_stock_form(c)) : is_smaller_packed(c));
}

Value* transposed(Builder& b, Value* x, const Convolution& c, const Configuration& configuration, bool packed) {
  if (!packed && has_stock_form(c)) return transposed_convolution(b, x, c, configuration.isa);
  return by_phases(b, x, c, [&](Value* padded, const Convolution& all) {
    return packed ? packed_convolution(b, padded, all, configuration) : convolution(b, padded, all, configuration.isa);
  });
}

// --- padding at one end only: absorb_padding leaves it in a node before the convolution ---

// The node that pads the image's rows and columns with the zero point, and whose only reader is this convolution; or
// null. `x` is an image, or a view of it as rows.
const Node* padding_before(const Value* x, const Convolution& c) {
  const Node* node = x->producer;
  if (c.rows && node && node->is("aten.view.default") && x->num_uses() == 1) {
    x = node->operands()[0];
    node = x->producer;
  }
  if (!node || !node->is("cortex_m.pad.default") || x->num_uses() != 1 || x->rank() != 4) return nullptr;
  const std::vector<int64_t> before = node->static_ints("pre_pad"), after = node->static_ints("post_pad");
  const bool spatial = before[0] == 0 && before[3] == 0 && after[0] == 0 && after[3] == 0;
  return spatial && node->static_integer("pad_value") == c.input.zero ? node : nullptr;
}

// Makes the convolution pad by itself. Returns its new operand; null: there is no such padding.
Value* without_padding(Value* x, Convolution* c) {
  const Node* pad = padding_before(x, *c);
  if (!pad) return nullptr;
  const std::vector<int64_t> before = pad->static_ints("pre_pad"), after = pad->static_ints("post_pad");
  Value* inner = pad->tensor("input");
  ConvolutionShape& s = c->shape;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t span = s.dilation[axis] * (s.kernel[axis] - 1) + 1;
    if (s.padding[axis] + std::max(before[1 + axis], after[1 + axis]) >= span) return nullptr;
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    c->end_padding[axis] = s.padding[axis] + after[1 + axis];
    s.padding[axis] += before[1 + axis];
    s.input[axis] = inner->sizes()[2 + axis].value();
  }
  return inner;
}

Verdict supports_convolution(const Node& node, const Configuration& configuration) {
  Convolution c;
  const Refusal reason = read_convolution(node, &c);
  if (!reason.empty()) return refused(reason);
  return packs(node, c, configuration) ? Verdict::yes("its weights are stored in four bits each") : Verdict::yes();
}

std::vector<Value*> rewrite_convolution(Builder& b, Node& node, const Configuration& configuration) {
  Convolution c;
  read_convolution(node, &c);
  Value* x = node.tensor("input");
  Value* inner = c.transposed || configuration.stock_only ? nullptr : without_padding(x, &c);
  x = inner ? inner : c.rows ? b.unsqueeze(x, 2) : x;
  x = repeated_inputs(b, x, 1, c.groups, c.copies);
  const bool packed = packs(node, c, configuration);
  Value* y = c.transposed ? transposed(b, x, c, configuration, packed)
             : packed     ? packed_convolution(b, x, c, configuration)
                          : convolution(b, x, c, configuration.isa);
  return {c.rows ? b.squeeze(y, 2) : y};
}

constexpr OpRule kRules[] = {
    {"aten.convolution.default", supports_convolution, rewrite_convolution, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_convolution

const RuleFamily kConvolutionRules = {rules_convolution::kRules, std::size(rules_convolution::kRules)};

}  // namespace wick::cortex_m
