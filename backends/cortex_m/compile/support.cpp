// What the backend takes: conditions for every node, and the rows of all families.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cortex_m/compile/ops/op_rule.h"
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
  static const compiler::RuleTable<OpRule> kRules({rows(kConversionRules), rows(kLinearRules)});
  return kRules;
}

bool is_quantized(const Node& node) {
  const auto quantized = [](const Value* value) { return value->is_quantized(); };
  const std::vector<Value*> operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), quantized) ||
         std::any_of(node.results().begin(), node.results().end(), quantized);
}

std::string refuse_all_sizes(const Node& node) {
  std::vector<Value*> values = node.operands();
  values.insert(values.end(), node.results().begin(), node.results().end());
  for (const Value* value : values) {
    if (!value->type.is_tensor()) return "it reads a number computed at run time";
    std::string reason = compiler::refuse_sizes(*value, {{}, kMaxRank, compiler::Unknown::none});
    if (!reason.empty()) return reason;
  }
  return "";
}

// A kernel that does not clamp writes all of int8.
std::string refuse_range(const Node& node, const OpRule& rule) {
  for (const Value* result : node.results()) {
    if (rule.clamps || !result->is_quantized() || result->dtype() != DType::i8) continue;
    const compiler::Quantization& q = *result->tensor().quantization;
    if (q.quant_min > -128 || q.quant_max < 127) {
      return fmt::format("elements of its result lie in {}..{}, but the kernel gives all of int8", q.quant_min,
                         q.quant_max);
    }
  }
  return "";
}

}  // namespace

const std::vector<const OpRule*>& all_rules() { return rules().rows(); }
const OpRule* find_rule(const Node& node) { return rules().find(node); }

bool keep(const Node& node, const compiler::TargetOptions&) { return find_rule(node) != nullptr; }

Verdict supports(const Node& node, const compiler::TargetOptions& options) {
  const OpRule* rule = find_rule(node);
  if (!is_quantized(node)) return Verdict::no("it computes on numbers that are not quantized");
  if (!rule) return Verdict::no("the backend has no integer form of this operator");
  for (const auto& reason : {refuse_all_sizes(node), refuse_range(node, *rule)}) {
    if (!reason.empty()) return Verdict::no(reason);
  }
  return rule->supports(node, configuration(options));
}

std::vector<Value*> rewrite(compiler::Builder& builder, Node& node, const compiler::TargetOptions& options) {
  return find_rule(node)->rewrite(builder, node, configuration(options));
}

}  // namespace wick::cortex_m
