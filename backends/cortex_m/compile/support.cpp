// Decides which nodes the backend takes: conditions that hold for every node, and the rules of all families.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/target.h"
#include "compiler/partition/tensor_limits.h"

namespace wick::cortex_m {

using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

Span<const OpRule> rows(const RuleFamily& family) { return {family.rows, family.count}; }

const compiler::RuleTable<OpRule>& rules() {
  static const compiler::RuleTable<OpRule> kRules(
      {rows(kAttentionRules), rows(kBinaryRules), rows(kChannelRules), rows(kComparisonRules), rows(kConversionRules),
       rows(kConvolutionRules), rows(kEdgePaddingRules), rows(kExtremumRules), rows(kGluRules), rows(kLinearRules),
       rows(kLookupRules), rows(kMatmulRules), rows(kMovementRules), rows(kNormalizationRules), rows(kPaddingRules),
       rows(kPoolRules), rows(kRecurrentRules), rows(kResizeRules), rows(kSoftmaxRules)});
  return kRules;
}

const compiler::RuleTable<OpRule>& int16_rules() {
  static const compiler::RuleTable<OpRule> kRules(
      {rows(kAttentionRules), rows(kChannelRules), rows(kComparisonRules), rows(kConversionRules),
       rows(kEdgePaddingRules), rows(kExtremumRules), rows(kInt16BinaryRules), rows(kInt16ConvolutionRules),
       rows(kInt16GluRules), rows(kInt16LinearRules), rows(kInt16LookupRules), rows(kInt16MatmulRules),
       rows(kMovementRules), rows(kNormalizationRules), rows(kPoolRules), rows(kRecurrentRules), rows(kResizeRules)});
  return kRules;
}

bool is_quantized(const Node& node) {
  const auto quantized = [](const Value* value) { return value->is_quantized(); };
  const std::vector<Value*> operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), quantized) ||
         std::any_of(node.results().begin(), node.results().end(), quantized);
}

// Whether an operand is not quantized, such as a number beside a tensor.
bool reads_floats(const Node& node) {
  const std::vector<Value*> operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), [](const Value* value) { return !value->is_quantized(); });
}

// Whether only sizes that a rule leaves open are dynamic.
bool keeps_open(const compiler::Sizes& sizes, OpenSizes open) {
  if (open == OpenSizes::none || sizes.empty()) return false;
  const auto is_known = [](const compiler::Sym& size) { return size.is_const(); };
  return open == OpenSizes::rows ? is_known(sizes.back()) : std::all_of(sizes.begin() + 1, sizes.end(), is_known);
}

Refusal refuse_all_sizes(const Node& node, OpenSizes open) {
  Refusal computed = {"it reads a number computed at run time", "make the number a constant of the model"};
  if (!has_known_scalars(node)) return computed;
  std::vector<Value*> values = node.operands();
  const auto is_read = [](const Value* result) { return result->num_uses() > 0; };
  std::copy_if(node.results().begin(), node.results().end(), std::back_inserter(values), is_read);
  for (const Value* value : values) {
    if (!value->type.is_tensor()) return computed;
    const compiler::Unknown unknown =
        keeps_open(value->sizes(), open) ? compiler::Unknown::any : compiler::Unknown::none;
    std::string reason = compiler::refuse_sizes(*value, {{}, kMaxRank, unknown});
    if (!reason.empty())
      return {std::move(reason),
              "export with the sizes that the device uses: fixed ones, at most 16 dimensions, none of them 0"};
  }
  return {};
}

// Whether it quantizes or dequantizes, which stock can do for int16, too.
bool converts_numbers(const Node& node) {
  return node.is("wick.convert.default") && node.operands()[0]->is_quantized() != node.result()->is_quantized();
}

// Clamps the value to the result's range, unless the rule's operators do.
Value* bounded(compiler::Builder& builder, Value* value, const Value& result, const OpRule& rule) {
  if (rule.clamps || !result.is_quantized() || result.dtype() != DType::i8) return value;
  const Affine q = affine(result);
  return clamped(builder, value, {q.scale, q.zero, -128, 127}, q);
}

}  // namespace

bool computes_on_int16(const Node& node) {
  const auto is_int16 = [](const Value* value) {
    return value->type.is_tensor() && value->is_quantized() && value->dtype() == DType::i16;
  };
  const std::vector<Value*> operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), is_int16) ||
         std::any_of(node.results().begin(), node.results().end(), is_int16);
}

Refusal refuse_int16(const Node& node) {
  Refusal floats = refuse_floats(node);
  if (!floats.empty()) return floats;
  for (const Value* operand : node.operands()) {
    Refusal reason = refuse_int16(*operand, "an operand");
    if (!reason.empty()) return reason;
  }
  for (const Value* result : node.results()) {
    Refusal reason = refuse_int16(*result, "the result");
    if (!reason.empty()) return reason;
  }
  return {};
}

const std::vector<const OpRule*>& all_rules() { return rules().rows(); }
const OpRule* find_rule(const Node& node) {
  const bool wide = computes_on_int16(node);
  if (!wide && is_tabulated(node)) return &kTableRule;
  const OpRule* rule = (wide ? int16_rules() : rules()).find(node);
  if (wide && is_tabulated(node) && (!rule || reads_floats(node))) return &kInt16TableRule;
  return rule || !only_moves(node) ? rule : &kMovementRule;
}

// A data-movement operator that decomposes becomes others of its kind, so it is not kept.
Verdict keep(const Node& node, const compiler::TargetContext&) {
  const bool is_guarded = node.is("aten._safe_softmax.default");  // additive_masks handles its guard
  const OpRule* rule = is_guarded ? nullptr : find_rule(node);
  return rule && rule != &kMovementRule ? Verdict::yes() : Verdict::no("");
}

Verdict supports(const Node& node, const compiler::TargetContext& context) {
  const OpRule* rule = find_rule(node);
  const bool on_elements = rule && node.op->has(compiler::kElements);
  if (!on_elements && !is_quantized(node))
    return refused({"it computes on numbers that are not quantized",
                    "annotate its operands and its result in the quantizer, or move it in front of the first quantize "
                    "node or behind the last dequantize node"});
  if (!rule)
    return refused({"the backend has no integer form of this operator",
                    "write it with operators that have one (docs/cortex_m.md lists them), or move it in front of the "
                    "first quantize node or behind the last dequantize node"});
  if (configuration(context.options).stock_only && computes_on_int16(node) && !converts_numbers(node))
    return refused({"stock has no operators on int16", "quantize to int8, or compile with another profile than stock"});
  const bool any_batch = rule->open == OpenSizes::batch && !configuration(context.options).stock_only;
  const Refusal reason =
      refuse_all_sizes(node, rule->open == OpenSizes::rows || any_batch ? rule->open : OpenSizes::none);
  return reason.empty() ? rule->supports(node, configuration(context.options)) : refused(reason);
}

std::vector<Value*> rewrite(compiler::Builder& builder, Node& node, const compiler::TargetContext& context) {
  const OpRule& rule = *find_rule(node);
  std::vector<Value*> values = rule.rewrite(builder, node, configuration(context.options));
  for (size_t i = 0; i < values.size(); ++i) values[i] = bounded(builder, values[i], *node.result(i), rule);
  return values;
}

// The multiply-accumulates of a matmul or a convolution; taps in the padding count.
uint64_t macs(const Node& node) {
  const auto count = [](const Value* value) { return compiler::layout::elements(value->sizes()); };
  if (const compiler::Gemm& gemm = node.op->facts.gemm) {
    const auto& inner = node.arg(gemm.left).as<Value*>()->sizes();
    return inner.empty() ? 0 : count(node.result()) * static_cast<uint64_t>(inner.back().value());
  }
  if (!node.is("aten.convolution.default")) return 0;
  const Value *x = node.tensor("input"), *weight = node.tensor("weight");
  const uint64_t of_each = count(weight) / static_cast<uint64_t>(weight->sizes()[0].value());
  return of_each * count(node.boolean("transposed") ? x : node.result());
}

}  // namespace wick::cortex_m
