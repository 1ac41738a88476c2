// Decides which nodes the backend takes: conditions for every node, and the rows of all families.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/xnnpack/compile/deviations.h"
#include "backends/xnnpack/compile/ops/refusals.h"
#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"
#include "compiler/ir/text/text.h"
#include "compiler/ops/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr DType kFloats[] = {DType::f32, DType::f16};

Span<const OpRule> rows(const RuleFamily& family) { return {family.rows, family.count}; }

const compiler::RuleTable<OpRule>& rules() {
  static const compiler::RuleTable<OpRule> kRules({rows(kActivationRules), rows(kConvolutionRules), rows(kCurveRules),
                                                   rows(kLinearRules), rows(kMovementRules), rows(kNormalizationRules),
                                                   rows(kPointwiseRules), rows(kQuantizedRules), rows(kReductionRules),
                                                   rows(kWindowRules)});
  return kRules;
}

bool is_pointwise(const OpRule* rule) {
  const auto among = [&](const RuleFamily& family) { return rule >= family.rows && rule < family.rows + family.count; };
  return among(kPointwiseRules) || among(kActivationRules) || among(kCurveRules);
}

// Different symbols may stand for equal sizes, which the program checks at run time. A payload must be right for all
// sizes.
std::string refuse_unproven(const Node& node, const OpRule* rule) {
  if (!is_pointwise(rule)) return compiler::sizes_follow(node) ? "" : kAgreeOnlyAtRunTime;
  const Sizes result = dims_of(*node.result());
  for (const Value* operand : node.operands()) {
    const Sizes dims = dims_of(*operand);
    if (dims.size() > result.size()) return kAgreeOnlyAtRunTime;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!dims[i].is(1) && !(dims[i] == result[result.size() - dims.size() + i])) return kAgreeOnlyAtRunTime;
    }
  }
  return "";
}

}  // namespace

std::string refuse_shape(const Value& value, Unknown unknown) {
  return compiler::refuse_sizes(value, {kFloats, kMaxRank, unknown});
}

const std::vector<const OpRule*>& all_rules() { return rules().rows(); }

const OpRule* find_rule(const Node& node) { return rules().find(node); }

Verdict supports_numbers(const Node& node, const compiler::TargetContext& context) {
  const OpRule* rule = find_rule(node);
  if (!rule) return Verdict::no(refuse_operator(node, context));
  if (!rule->converts) {
    std::string reason = compiler::refuse_tensors(node, {kFloats, kMaxRank, rule->unknown, true});
    if (reason.empty()) reason = refuse_unproven(node, rule);
    if (!reason.empty()) return Verdict::no(std::move(reason));
  }
  Verdict verdict = rule->supports ? rule->supports(node, context) : Verdict::yes();
  if (!verdict.taken) return verdict;
  const Deviation* known = verdict.reason.empty() ? deviation(node) : nullptr;
  if (known && context.options.strict_nan)
    return Verdict::no(fmt::format("{}, which --strict-nan refuses", known->text));
  if (context.ranges) {
    std::string seen = known ? refuse_deviation(node, *known, *context.ranges) : "";
    if (seen.empty()) seen = refuse_small_numbers(node, *context.ranges);
    if (seen.empty()) seen = refuse_zero_sign(node, *context.ranges, rule->zero_sign);
    if (!seen.empty()) return Verdict::no(std::move(seen));
  }
  // How the payload's weight differs from the program's.
  std::string change = rounding_of_scales(node, context);
  verdict.asked_for = !change.empty();
  if (!verdict.asked_for) change = widening_of_weight(node);
  if (known) change += (change.empty() ? "" : "; ") + std::string(known->text);
  if (!change.empty()) verdict.reason = std::move(change);
  return verdict;
}

Verdict supports(const Node& node, const compiler::TargetContext& context) {
  Verdict verdict = supports_numbers(node, context);
  if (!verdict.taken || find_rule(node)->converts) return verdict;
  std::string reason = refuse_quantized(node, context);
  return reason.empty() ? verdict : Verdict::no(std::move(reason));
}

Sizes dims_of(const Value& value) { return value.sizes(); }

const LayoutRules& layout_rules() {
  static const LayoutRules kRules = {[](const Node& node) { return find_rule(node)->layout(node); }};
  return kRules;
}

LayoutRule softmax_layout(const Node& node) {
  return innermost(static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.result()->rank())));
}

std::optional<double> number(const Node& node, std::string_view name) { return compiler::literal(node.arg(name)); }

Sizes result_dims(const Node& node) { return dims_of(*node.result()); }

}  // namespace wick::xnnpack
