// What the backend takes: conditions for every node, and the rows of all families.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/xnnpack/compile/departures.h"
#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/refusals.h"
#include "compiler/ir/text/text.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 31;

std::vector<const OpRule*> gather_rules() {
  std::vector<const OpRule*> rules;
  for (const RuleFamily* family :
       {&kConvolutionRules, &kCurveRules, &kLinearRules, &kMovementRules, &kNormalizationRules, &kPointwiseRules,
        &kQuantizedRules, &kReductionRules, &kWindowRules}) {
    for (size_t i = 0; i < family->count; ++i) rules.push_back(&family->rows[i]);
  }
  std::sort(rules.begin(), rules.end(),
            [](const OpRule* a, const OpRule* b) { return std::string_view(a->op) < b->op; });
  return rules;
}

// Sizes of inputs are not 0 in an exported program; those read from data may be, and the library refuses empty tensors.
bool may_be_empty(const compiler::Sym& size) {
  return compiler::SymScope::range(size).min <= 0 && compiler::SymScope::is_from_data(size);
}

// Sizes that are known only at run time need a bound, and a rule that can do without them.
std::string refuse_unknown_sizes(const Value& value, Unknown allowed) {
  const Dims dims = dims_of(value);
  const size_t unknown = num_symbolic(dims);
  if (unknown == 0) return "";
  if (allowed == Unknown::none) return fmt::format("sizes known only at run time: {}", compiler::to_text(value.type));
  if (allowed == Unknown::one && unknown > 1)
    return fmt::format("more than one size known only at run time: {}", compiler::to_text(value.type));
  for (const compiler::Sym& size : dims) {
    if (may_be_empty(size))
      return fmt::format("a size read from data, which may be 0: {}", compiler::to_text(value.type));
    if (bound(size) == compiler::kUnbounded)
      return fmt::format("a size without upper bound: {}", compiler::to_text(value.type));
  }
  return "";
}

std::string refuse_tensor(const Value& value, DType wanted, Unknown unknown) {
  if (!value.type.is_tensor()) return "it reads a number computed at run time";
  if (value.dtype() != DType::f32 && value.dtype() != DType::f16)
    return fmt::format("dtype {}; only f32 and f16 are taken", compiler::to_text(value.type));
  if (value.dtype() != wanted) return "operands of different dtypes";
  return refuse_shape(value, unknown);
}

// What holds for every operator.
std::string refuse_any(const Node& node, Unknown unknown) {
  if (!node.graphs.empty()) return "control flow";
  if (node.results().empty() || !node.result()->type.is_tensor()) return "its result is not a tensor";
  const DType dtype = node.result()->dtype();
  std::string reason = refuse_tensor(*node.result(), dtype, unknown);
  if (!reason.empty()) return reason;
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() != 0) return "more than its first result is read";
  }
  for (const Value* operand : node.operands()) {
    reason = refuse_tensor(*operand, dtype, unknown);
    if (!reason.empty()) return reason;
  }
  return "";
}

bool is_pointwise(const OpRule* rule) {
  const auto among = [&](const RuleFamily& family) { return rule >= family.rows && rule < family.rows + family.count; };
  return among(kPointwiseRules) || among(kCurveRules);
}

// Symbols that differ may stand for one number, which the program checks; a payload is made for all numbers.
std::string refuse_unproven(const Node& node, const OpRule* rule) {
  if (!is_pointwise(rule)) return compiler::sizes_follow(node) ? "" : kAgreeOnlyAtRunTime;
  const Dims result = dims_of(*node.result());
  for (const Value* operand : node.operands()) {
    const Dims dims = dims_of(*operand);
    if (dims.size() > result.size()) return kAgreeOnlyAtRunTime;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!dims[i].is(1) && !(dims[i] == result[result.size() - dims.size() + i])) return kAgreeOnlyAtRunTime;
    }
  }
  return "";
}

}  // namespace

std::string refuse_shape(const Value& value, Unknown unknown) {
  if (value.rank() > kMaxRank) return fmt::format("{} dimensions; at most {} are taken", value.rank(), kMaxRank);
  std::string sizes = refuse_unknown_sizes(value, unknown);
  if (!sizes.empty()) return sizes;
  const Dims dims = dims_of(value);
  if (std::any_of(dims.begin(), dims.end(), [](const compiler::Sym& size) { return bound(size) < 1; }))
    return "an empty tensor";
  const int64_t count = elements(dims);
  if (count >= kMaxElements) return "a tensor of 2^31 elements or more";
  return "";
}

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
  if (!rule) return Verdict::no(refuse_operator(node, options));
  const std::string reason = rule->any_dtype ? "" : refuse_any(node, rule->unknown);
  if (!reason.empty()) return Verdict::no(reason);
  const std::string unproven = rule->any_dtype ? "" : refuse_unproven(node, rule);
  if (!unproven.empty()) return Verdict::no(unproven);
  Verdict verdict = rule->supports ? rule->supports(node, options) : Verdict::yes();
  const Departure* known = verdict.taken && verdict.reason.empty() ? departure(node) : nullptr;
  const std::string rounding = verdict.taken ? rounding_of_scales(node, options) : "";
  if (!known) return rounding.empty() ? verdict : Verdict::yes(rounding);
  if (options.strict_nan) return Verdict::no(fmt::format("{}, which --strict-nan refuses", known->text));
  const std::string seen = options.ranges ? refuse_departure(node, *known, *options.ranges) : "";
  if (!seen.empty()) return Verdict::no(seen);
  return Verdict::yes(rounding.empty() ? known->text : fmt::format("{}; {}", rounding, known->text));
}

Dims dims_of(const Value& value) { return value.sizes(); }

std::vector<Value*> tensor_operands(const Node& node) {
  const OpRule* rule = find_rule(node);
  if (!rule || !rule->any_dtype) return node.operands();
  // Parameters of a quantization are no tensors to the library; what chooses them is part of the conversion.
  return rule->lower == lower_nothing ? std::vector<Value*>() : std::vector<Value*>{node.tensor("input")};
}

const LayoutRules& layout_rules() {
  static const LayoutRules kRules = {[](const Node& node) { return find_rule(node)->layout(node); }, tensor_operands};
  return kRules;
}

LayoutRule softmax_layout(const Node& node) {
  return innermost(static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.result()->rank())));
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
