// Sums, differences, products, quotients, minima and maxima of two tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/infinities.h"
#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Binary;
using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_binary {
namespace {

constexpr int kLeftShift = 20;  // quantized_add shifts its operands left by so many bits
constexpr size_t kMaxRankOfBroadcast = 4;

// --- operands ---

struct Operand {
  Value* value;
  Affine q;
};

// [1, C, 1, 1] beside [N, C, H, W]
bool is_channel_row(const Value& row, const Value& image) {
  const auto is_one = [&](size_t d) { return row.sizes()[d].is(1); };
  return row.rank() == 4 && image.rank() == 4 && is_one(0) && is_one(2) && is_one(3) &&
         row.sizes()[1] == image.sizes()[1];
}

bool same_sizes(const Node& node) {
  return node.tensor("self")->sizes() == node.result()->sizes() &&
         node.tensor("other")->sizes() == node.result()->sizes();
}

// Whether stock's add and mul take the sizes as they are; `swap`: only with exchanged operands.
bool stock_broadcasts(const Node& node, bool* swap) {
  const Value *a = node.tensor("self"), *b = node.tensor("other");
  *swap = false;
  if (same_sizes(node)) return true;
  *swap = !(a->sizes() == node.result()->sizes());
  const Value *image = *swap ? b : a, *row = *swap ? a : b;
  return image->sizes() == node.result()->sizes() && is_channel_row(*row, *image);
}

// How operands are broadcast: by stock's operators, by Wick's, or by an expand before the operator.
enum class Form : uint8_t { stock, wick, expanded };
Form form_of(const Node& node, const Configuration& configuration, bool* swap) {
  if (stock_broadcasts(node, swap)) return Form::stock;
  *swap = false;
  const bool few = node.result()->rank() <= kMaxRankOfBroadcast;
  return few && !configuration.stock_only ? Form::wick : Form::expanded;
}

Operand operand(Builder& b, const Node& node, const char* name, Form form) {
  Value* value = node.tensor(name);
  const Affine q = affine(*value);
  if (form == Form::expanded) value = b.expand(value, node.result()->sizes());
  return {value, q};
}

// --- factors ---

double alpha_of(const Node& node) {
  const double sign = node.is(Binary::sub) ? -1 : 1;
  return node.op->parsed->find("alpha") < 0 ? sign : sign * node.real("alpha");
}

// A multiplier and shift for a factor of either sign; the multiplier has the sign.
std::optional<Requantization> signed_requantization(double factor) {
  auto found = requantization_of_sums(std::abs(factor));
  if (found && factor < 0) found->multiplier = -found->multiplier;
  return found;
}

struct Sum {
  Requantization a, b, result;
};

// Whether every sum on the result's scale is 0 or saturates, so that the factor 1 gives the same elements. If the ratio
// of the operands' scales is a power of two, both are converted exactly: a sum is then 0, or at least the smaller
// scale.
bool saturates(double scale_a, double scale_b, double scale) {
  constexpr double kRange = 255;  // steps
  const double least = std::min(std::abs(scale_a), std::abs(scale_b)),
               most = std::max(std::abs(scale_a), std::abs(scale_b));
  int exponent = 0;
  const bool exact = std::frexp(most / least, &exponent) == 0.5;
  return exact && least / scale >= kRange && std::ldexp(least / (2 * most), kLeftShift) >= kRange;
}

// Operands, times 2^20, are converted to twice the larger scale before they are added.
std::optional<Sum> read_sum(const Affine& a, const Affine& b, double alpha, const Affine& result) {
  const double scale_b = b.scale * alpha, twice = 2 * std::max(a.scale, std::abs(scale_b));
  const auto first = signed_requantization(a.scale / twice), second = signed_requantization(scale_b / twice);
  auto last = requantization_of_sums(twice / (result.scale * std::ldexp(1.0, kLeftShift)));
  const bool fits = last && keeps_32_bits(int64_t{510} << kLeftShift, *last);
  if (!fits && saturates(a.scale, scale_b, result.scale)) last = requantization(1);
  if (!first || !second || !last || !keeps_32_bits(int64_t{510} << kLeftShift, *last)) return {};
  return Sum{*first, *second, *last};
}

void append(Args& args, const Requantization& requantization) {
  args.push_back(int64_t{requantization.multiplier});
  args.push_back(int64_t{requantization.shift});
}

// --- rules ---

constexpr char kTooFar[] = "the scale of its result is too far from those of its operands";

Verdict supports_add(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  const double alpha = alpha_of(node);
  if (alpha == 0 || !std::isfinite(alpha))
    return refused({"its second operand counts nothing", "use an 'alpha' that is finite and not 0"});
  const bool fits =
      read_sum(affine(*node.tensor("self")), affine(*node.tensor("other")), alpha, affine(*node.result())).has_value();
  return fits ? Verdict::yes() : refused({kTooFar, kNearerScale});
}

std::vector<Value*> rewrite_add(Builder& b, Node& node, const Configuration& configuration) {
  bool swap = false;
  const Form form = form_of(node, configuration, &swap);
  Operand first = operand(b, node, "self", form), second = operand(b, node, "other", form);
  const Affine q = affine(*node.result());
  const Sum sum = *read_sum(first.q, second.q, alpha_of(node), q);
  std::pair<Operand, Requantization> operands[] = {{first, sum.a}, {second, sum.b}};
  if (swap) std::swap(operands[0], operands[1]);
  Args args;
  for (const auto& [each, scale] : operands) {
    args.push_back(each.value);
    args.push_back(int64_t{each.q.zero});
    append(args, scale);
  }
  args.push_back(int64_t{q.zero});
  append(args, sum.result);
  for (const int32_t bound : {q.min, q.max}) args.push_back(int64_t{bound});
  return {b.call(form == Form::wick ? "wick_cortex_m.add" : "cortex_m.quantized_add", std::move(args))};
}

double product_factor(const Node& node) {
  return affine(*node.tensor("self")).scale * affine(*node.tensor("other")).scale / affine(*node.result()).scale;
}

Verdict supports_mul(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  const auto found = requantization_of_sums(product_factor(node));
  return found && keeps_32_bits(255 * 255, *found) ? Verdict::yes() : refused({kTooFar, kNearerScale});
}

std::vector<Value*> rewrite_mul(Builder& b, Node& node, const Configuration& configuration) {
  bool swap = false;
  const Form form = form_of(node, configuration, &swap);
  Operand operands[] = {operand(b, node, "self", form), operand(b, node, "other", form)};
  if (swap) std::swap(operands[0], operands[1]);
  Args args;
  for (const Operand& each : operands) {
    args.push_back(each.value);
    args.push_back(int64_t{each.q.zero});
  }
  args.push_back(int64_t{affine(*node.result()).zero});
  append(args, *requantization_of_sums(product_factor(node)));
  return {b.call(form == Form::wick ? "wick_cortex_m.mul" : "cortex_m.quantized_mul", std::move(args))};
}

double quotient_factor(const Node& node) {
  return affine(*node.tensor("self")).scale / (affine(*node.tensor("other")).scale * affine(*node.result()).scale);
}

Verdict supports_div(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  if (quotient_factor(node) > 3e38) return refused({kTooFar, kNearerScale});
  return divisors_of(*node.tensor("other")).has_zero ? Verdict::yes("0 divided by 0 is 0") : Verdict::yes();
}

std::vector<Value*> rewrite_div(Builder& b, Node& node, const Configuration&) {
  const Form form = same_sizes(node) ? Form::stock : Form::expanded;
  Args args;
  for (const Operand& each : {operand(b, node, "self", form), operand(b, node, "other", form)}) {
    args.push_back(each.value);
    args.push_back(int64_t{each.q.zero});
  }
  args.push_back(int64_t{affine(*node.result()).zero});
  args.push_back(quotient_factor(node));
  return {with_infinities(b, node, b.call("cortex_m.quantized_div", std::move(args)))};
}

Verdict supports_extremum(const Node& node, const Configuration&) { return verdict_of(refuse_int8(node)); }

// Converts the operands to the result's scale first. The kernels take rank 4 at most; tensors of higher rank become
// rows.
std::vector<Value*> rewrite_extremum(Builder& b, Node& node, const Configuration&) {
  const Affine q = affine(*node.result());
  const compiler::Sizes& sizes = node.result()->sizes();
  const bool few = sizes.size() <= kMaxRankOfBroadcast;
  Args args;
  for (const Operand& each : {operand(b, node, "self", few ? Form::stock : Form::expanded),
                              operand(b, node, "other", few ? Form::stock : Form::expanded)}) {
    Value* value = same_numbers(each.q, q) ? each.value : requantized(b, each.value, each.q, q);
    args.push_back(few ? value : b.reshape(value, {numel(sizes)}));
  }
  const bool is_least = node.is("aten.minimum.default");
  return {b.reshape(b.call(is_least ? "cortex_m.minimum" : "cortex_m.maximum", std::move(args)), sizes)};
}

constexpr OpRule kRules[] = {
    {"aten.add.Tensor", supports_add, rewrite_add, true, false, OpenSizes::batch},
    {"aten.sub.Tensor", supports_add, rewrite_add, true, false, OpenSizes::batch},
    {"aten.mul.Tensor", supports_mul, rewrite_mul, false, false, OpenSizes::batch},
    {"aten.div.Tensor", supports_div, rewrite_div, false, false, OpenSizes::batch},
    {"aten.minimum.default", supports_extremum, rewrite_extremum, false, false, OpenSizes::batch},
    {"aten.maximum.default", supports_extremum, rewrite_extremum, false, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_binary

const RuleFamily kBinaryRules = {rules_binary::kRules, std::size(rules_binary::kRules)};

}  // namespace wick::cortex_m
