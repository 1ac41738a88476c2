// Sums, differences, products, quotients, minima, maxima and bounds on int16.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/infinities.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ops/pointwise/clamp.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Binary;
using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace int16_rules_binary {
namespace {

constexpr int kAddShift = 15;  // add_int16 shifts its operands left by so many bits
constexpr size_t kMaxRank = 4;
constexpr char kTooFar[] = "the scale of its result is too far from those of its operands";

// The kernels take rank 4 at most: operands of a higher rank become rows.
Value* operand(Builder& b, const Node& node, const char* name) {
  const compiler::Sizes& sizes = node.result()->sizes();
  Value* value = node.tensor(name);
  return sizes.size() <= kMaxRank ? value : b.reshape(b.expand(value, sizes), {numel(sizes)});
}

// A multiplier and shift for a factor of either sign; the multiplier has the sign.
std::optional<Requantization> signed_requantization(double factor) {
  auto found = requantization(std::abs(factor));
  if (found && factor < 0) found->multiplier = -found->multiplier;
  return found;
}

void append(Args& args, const Requantization& requantization) {
  args.push_back(int64_t{requantization.multiplier});
  args.push_back(int64_t{requantization.shift});
}
void append(Args& args, const Affine& range) {
  args.push_back(int64_t{range.min});
  args.push_back(int64_t{range.max});
}

struct Sum {
  Requantization a, b, result;
};

// Operands, times 2^15, are converted to twice the larger scale before they are added.
std::optional<Sum> read_sum(const Node& node) {
  const double sign = node.is(Binary::sub) ? -1 : 1;
  const double alpha = node.op->parsed->find("alpha") < 0 ? sign : sign * node.real("alpha");
  const double scale_a = affine(*node.tensor("self")).scale, scale_b = affine(*node.tensor("other")).scale * alpha;
  const double twice = 2 * std::max(scale_a, std::abs(scale_b));
  const auto first = signed_requantization(scale_a / twice), second = signed_requantization(scale_b / twice),
             last = requantization(twice / std::ldexp(affine(*node.result()).scale, kAddShift));
  if (scale_b == 0 || !first || !second || !last || !keeps_32_bits(int64_t{1} << 30, *last)) return {};
  return Sum{*first, *second, *last};
}

Verdict supports_add(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int16(node);
  if (!reason.empty()) return refused(reason);
  return read_sum(node) ? Verdict::yes() : refused({kTooFar, kNearerScale});
}

std::vector<Value*> rewrite_add(Builder& b, Node& node, const Configuration&) {
  const Sum sum = *read_sum(node);
  Args args = {operand(b, node, "self")};
  append(args, sum.a);
  args.push_back(operand(b, node, "other"));
  append(args, sum.b);
  append(args, sum.result);
  append(args, affine(*node.result()));
  return {b.reshape(b.call("wick_cortex_m.add_int16", std::move(args)), node.result()->sizes())};
}

std::optional<Requantization> product_factor(const Node& node) {
  const auto found = requantization(affine(*node.tensor("self")).scale * affine(*node.tensor("other")).scale /
                                    affine(*node.result()).scale);
  return found && keeps_32_bits(int64_t{1} << 30, *found) ? found : std::nullopt;
}

Verdict supports_mul(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int16(node);
  if (!reason.empty()) return refused(reason);
  return product_factor(node) ? Verdict::yes() : refused({kTooFar, kNearerScale});
}

std::vector<Value*> rewrite_mul(Builder& b, Node& node, const Configuration&) {
  Args args = {operand(b, node, "self"), operand(b, node, "other")};
  append(args, *product_factor(node));
  append(args, affine(*node.result()));
  return {b.reshape(b.call("wick_cortex_m.mul_int16", std::move(args)), node.result()->sizes())};
}

double quotient_factor(const Node& node) {
  return affine(*node.tensor("self")).scale / affine(*node.tensor("other")).scale / affine(*node.result()).scale;
}

// Whether every nonzero dividend, divided by one step of the divisor, saturates.
bool saturates_at_one_step(const Node& node) { return quotient_factor(node) >= INT16_MAX; }

Verdict supports_div(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int16(node);
  if (!reason.empty()) return refused(reason);
  if (quotient_factor(node) > 3e38) return refused({kTooFar, kNearerScale});
  return divisors_of(*node.tensor("other")).has_zero ? Verdict::yes("0 divided by 0 is 0") : Verdict::yes();
}

// The kernel takes operands of equal sizes, and its results are not clamped to a range. It gives 0 where the divisor is
// 0. There one step replaces the divisor, if quotients by one step saturate as infinite ones do.
std::vector<Value*> rewrite_div(Builder& b, Node& node, const Configuration&) {
  const bool one_step_is_enough = saturates_at_one_step(node);
  Args args;
  for (const char* name : {"self", "other"}) {
    Value* operand = node.tensor(name);
    if (name == std::string_view("other") && one_step_is_enough)
      operand =
          b.call("aten.masked_fill.Scalar", {operand, b.call("aten.eq.Scalar", {operand, int64_t{0}}), int64_t{1}});
    const bool whole = operand->sizes() == node.result()->sizes();
    args.push_back(whole ? operand : b.expand(operand, node.result()->sizes()));
    args.push_back(int64_t{0});
  }
  args.push_back(int64_t{0});
  args.push_back(quotient_factor(node));
  const Affine to = affine(*node.result());
  Value* y = b.call("cortex_m.quantized_div", std::move(args));
  if (to.min > INT16_MIN || to.max < INT16_MAX) y = b.call("aten.clamp", {y, int64_t{to.min}, int64_t{to.max}});
  return {one_step_is_enough ? y : with_infinities(b, node, y)};
}

// --- rules whose operands are converted to the result's scale, for portable kernels ---

Verdict supports_on_scale(const Node& node, const Configuration& configuration) {
  Refusal reason = refuse_int16(node);
  for (const Value* operand : node.operands()) {
    if (reason.empty()) reason = refuse_conversion(*operand, *node.result(), configuration);
  }
  return verdict_of(reason);
}

std::vector<Value*> rewrite_extremum(Builder& b, Node& node, const Configuration&) {
  Affine to = affine(*node.result());
  Args args;
  for (const char* name : {"self", "other"}) {
    Value* operand = node.tensor(name);
    args.push_back(converted(b, operand, affine(*operand), to, DType::i16));
  }
  return {b.call(node.op->name(), std::move(args))};
}

Verdict supports_bounds(const Node& node, const Configuration& configuration) {
  return clamp_bounds(node) ? supports_on_scale(node, configuration)
                            : refused({"its bounds are computed",
                                       "use bounds that are constants, or minimum and maximum with quantized tensors"});
}

std::vector<Value*> rewrite_bounds(Builder& b, Node& node, const Configuration&) {
  const auto bounds = clamp_bounds(node);
  Affine to = affine(*node.result());
  const int32_t min = quantize(bounds->low, to), max = quantize(bounds->high, to);
  to.min = min;
  to.max = max;
  return {converted(b, node.tensor("self"), affine(*node.tensor("self")), to, DType::i16)};
}

constexpr OpRule kRules[] = {
    {"aten.add.Tensor", supports_add, rewrite_add, true, false, OpenSizes::batch},
    {"aten.clamp.default", supports_bounds, rewrite_bounds, true, false, OpenSizes::batch},
    {"aten.div.Tensor", supports_div, rewrite_div, true, false, OpenSizes::batch},
    {"aten.hardtanh.default", supports_bounds, rewrite_bounds, true, false, OpenSizes::batch},
    {"aten.maximum.default", supports_on_scale, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.minimum.default", supports_on_scale, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.mul.Tensor", supports_mul, rewrite_mul, true, false, OpenSizes::batch},
    {"aten.relu.default", supports_bounds, rewrite_bounds, true, false, OpenSizes::batch},
    {"aten.relu6.default", supports_bounds, rewrite_bounds, true, false, OpenSizes::batch},
    {"aten.sub.Tensor", supports_add, rewrite_add, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace int16_rules_binary

const RuleFamily kInt16BinaryRules = {int16_rules_binary::kRules, std::size(int16_rules_binary::kRules)};

}  // namespace wick::cortex_m
