// What the backend takes: conditions for every node, and the rows of all families.
#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 31;

std::vector<const OpRule*> gather_rules() {
  std::vector<const OpRule*> rules;
  for (const RuleFamily* family :
       {&kLinearRules, &kMovementRules, &kNormalizationRules, &kPointwiseRules, &kWindowRules}) {
    for (size_t i = 0; i < family->count; ++i) rules.push_back(&family->rows[i]);
  }
  std::sort(rules.begin(), rules.end(),
            [](const OpRule* a, const OpRule* b) { return std::string_view(a->op) < b->op; });
  return rules;
}

std::string refuse_tensor(const Value& value, DType wanted) {
  if (!value.type.is_tensor()) return "it reads a number computed at run time";
  if (value.dtype() != DType::f32 && value.dtype() != DType::f16)
    return fmt::format("dtype {}; f32 and f16 are taken", compiler::to_text(value.type));
  if (value.dtype() != wanted) return "operands of different dtypes";
  if (!compiler::is_static(value.sizes()))
    return fmt::format("sizes known only at run time: {}", compiler::to_text(value.type));
  if (value.rank() > kMaxRank) return fmt::format("{} dimensions; at most {} are taken", value.rank(), kMaxRank);
  const auto elements = compiler::numel(value.sizes());
  if (elements.is(0)) return "an empty tensor";
  if (elements.value() >= kMaxElements) return "a tensor of 2^31 elements or more";
  return "";
}

// What holds for every operator.
std::string refuse_any(const Node& node) {
  if (!node.graphs.empty()) return "control flow";
  if (node.results().empty() || !node.result()->type.is_tensor()) return "its result is no tensor";
  const DType dtype = node.result()->dtype();
  std::string reason = refuse_tensor(*node.result(), dtype);
  if (!reason.empty()) return reason;
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() != 0) return "more than its first result is read";
  }
  for (const Value* operand : node.operands()) {
    reason = refuse_tensor(*operand, dtype);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace

const std::vector<const OpRule*>& all_rules() {
  static const std::vector<const OpRule*> rules = gather_rules();
  return rules;
}

const OpRule* find_rule(const Node& node) {
  const auto& rules = all_rules();
  const auto before = [](const OpRule* rule, std::string_view name) { return std::string_view(rule->op) < name; };
  const auto found = std::lower_bound(rules.begin(), rules.end(), node.op->name(), before);
  return found != rules.end() && node.op->name() == (*found)->op ? *found : nullptr;
}

Verdict supports(const Node& node, const compiler::TargetOptions& options) {
  const OpRule* rule = find_rule(node);
  if (!rule) return Verdict::no("XNNPACK has no operator for it");
  const std::string reason = refuse_any(node);
  if (!reason.empty()) return Verdict::no(reason);
  return rule->supports ? rule->supports(node, options) : Verdict::yes();
}

Dims dims_of(const Value& value) {
  Dims dims;
  for (const compiler::Sym& size : value.sizes()) dims.push_back(size.value());
  return dims;
}

std::vector<Value*> tensor_operands(const Node& node) { return node.operands(); }

LayoutRule any_order(const Node&) { return {}; }
LayoutRule plain_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::fixed;
  rule.order = plain_order(node.result()->rank());
  return rule;
}
LayoutRule channels_last(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::fixed;
  rule.order = channels_last_order(node.result()->rank());
  return rule;
}

std::optional<double> number(const Node& node, std::string_view name) {
  const compiler::Arg& arg = node.arg(name);
  if (arg.is<compiler::Sym>()) {
    const auto& sym = arg.as<compiler::Sym>();
    return sym.is_const() ? std::optional<double>(static_cast<double>(sym.value())) : std::nullopt;
  }
  if (arg.is<double>()) return arg.as<double>();
  if (arg.is<bool>()) return arg.as<bool>() ? 1.0 : 0.0;
  return {};
}

Dims result_dims(const Node& node) { return dims_of(*node.result()); }

}  // namespace wick::xnnpack
