// Decides which nodes the backend takes: conditions for every node, and the rows of all families.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/plan/plan_builder.h"
#include "backends/cuda/compile/target.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

using compiler::Node;
using compiler::SymScope;
using compiler::Value;
using compiler::Verdict;

namespace {

const compiler::RuleTable<OpRule>& rules() {
  static const compiler::RuleTable<OpRule> kRules(
      {kAttentionRules, kControlRules,    kCreationRules,  kDeformedRules,      kDistanceRules,  kFactorRules,
       kIndexingRules,  kMatmulRules,     kMovementRules,  kNormalizationRules, kPointwiseRules, kQuantizedRules,
       kRandomRules,    kRecurrenceRules, kReductionRules, kRegionRules,        kResizeRules,    kSamplingRules,
       kScanRules,      kSortingRules,    kSpectrumRules,  kWindowRules,        kWriteRules});
  return kRules;
}

bool has_kernels(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64: return true;
    default: return false;
  }
}

// Kernels that are chosen by sizes or divide by them, and random draws, which the host counts, need elements. Other
// kernels do nothing for empty tensors.
bool needs_elements(const Node& node) {
  static const compiler::RuleTable<OpRule> kRules({kAttentionRules, kControlRules, kDeformedRules, kDistanceRules,
                                                   kQuantizedRules, kRandomRules, kRecurrenceRules, kRegionRules,
                                                   kResizeRules, kSamplingRules, kWindowRules});
  return kRules.find(node) != nullptr;
}

// Whether the size divides by a number that may be 0, which formulas of a plan must not do.
bool may_divide_by_zero(const compiler::Sym& size) {
  if (size.is_const()) return false;
  const compiler::SymNode& node = *size.node();
  if (node.op == compiler::SymOp::floor_div || node.op == compiler::SymOp::mod) {
    const compiler::SymRange divisor = SymScope::range(node.args[1]);
    if (divisor.min <= 0 && divisor.max >= 0) return true;
  }
  return std::any_of(node.args.begin(), node.args.end(), may_divide_by_zero);
}

// Why the backend cannot take an operand or result; "": it can. `node`: null for a mutable buffer.
std::string refuse_tensor(const Node* node, const Value& value) {
  if (!value.type.is_tensor()) {
    if (value.type.kind == compiler::TypeKind::integer && !value.type.expr.is_const() &&
        SymScope::is_from_data(value.type.expr))
      return "a number among its operands is computed from data";
    return value.type.kind == compiler::TypeKind::integer ? "" : "an operand is a number that the program computes";
  }
  if (value.is_quantized()) return "quantized tensors have no kernels";
  if (!has_kernels(value.dtype())) return fmt::format("{} has no kernels", dtype_name(value.dtype()));
  if (value.rank() > kMaxRank) return fmt::format("rank {}, at most {}", value.rank(), kMaxRank);
  if (!value.is_constant() && !value.tensor().dim_order.empty()) return "a tensor is not contiguous";
  for (const compiler::Sym& size : value.sizes()) {
    const compiler::SymRange range = SymScope::range(size);
    if (range.max == compiler::kUnbounded) return "a size has no upper bound";
    if (range.max == 0 && (!node || needs_elements(*node))) return "a tensor is empty";
    if (SymScope::is_from_data(size)) return "a size depends on the values of tensors";
    if (may_divide_by_zero(size)) return "a size is divided by a number that may be 0";
  }
  return "";
}

// The symbols that a node's kernels need.
void collect_needed(const Node& node, std::set<std::string, std::less<>>& needed) {
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor() || operand->is_constant()) continue;
    for (const compiler::Sym& size : operand->sizes()) collect_symbols(size, needed);
  }
  for (const Value* result : node.results()) {
    for (const compiler::Sym& size : result->sizes()) collect_symbols(size, needed);
  }
  for (const compiler::Arg& arg : node.args()) {
    if (arg.is<compiler::Sym>()) collect_symbols(arg.as<compiler::Sym>(), needed);
    if (!arg.is<compiler::Ints>()) continue;
    for (const compiler::Sym& size : arg.as<compiler::Ints>()) collect_symbols(size, needed);
  }
  for (const auto& graph : node.graphs) {
    for (const auto& inner : graph->nodes()) collect_needed(*inner, needed);
  }
}

using Symbols = std::set<std::string, std::less<>>;

// The symbols whose values follow from a size of the tensor.
void collect_known(const Value& value, Symbols& known) {
  for (const compiler::Sym& size : value.sizes()) {
    if (const auto linear = linear_size(size)) known.insert(linear->symbol);
  }
}

Symbols known_to(const std::vector<const Node*>& nodes) {
  std::set<const Value*> inside;
  Symbols known;
  for (const Node* node : nodes) inside.insert(node->results().begin(), node->results().end());
  for (const Node* node : nodes) {
    for (const Value* operand : node->operands()) {
      if (operand->type.is_tensor() && !operand->is_constant() && !inside.count(operand))
        collect_known(*operand, known);
    }
  }
  return known;
}

// The inputs of the graph from whose sizes symbols follow that the partition needs and its own inputs do not tell. Adds
// these symbols to `known`.
std::vector<Value*> inputs_for_sizes(const std::vector<const Node*>& nodes, const compiler::Graph* graph,
                                     Symbols& known) {
  std::vector<Value*> inputs;
  Symbols needed;
  if (!graph) return inputs;
  for (const Node* node : nodes) collect_needed(*node, needed);
  for (const compiler::GraphInput& input : graph->inputs) {
    if (!input.value || !input.value->type.is_tensor() || !refuse_tensor(nullptr, *input.value).empty()) continue;
    Symbols told, stated;
    collect_known(*input.value, told);
    for (const compiler::Sym& size : input.value->sizes()) collect_symbols(size, stated);
    const bool tells = std::any_of(told.begin(), told.end(),
                                   [&](const std::string& each) { return needed.count(each) && !known.count(each); });
    // A delegate checks all sizes of its inputs, so all of their symbols must be known.
    const bool checkable = std::all_of(stated.begin(), stated.end(),
                                       [&](const std::string& each) { return told.count(each) || known.count(each); });
    if (!tells || !checkable) continue;
    known.merge(told);
    inputs.push_back(input.value);
  }
  return inputs;
}

// A view that is only read as a number of the program: that would have to wait for the delegate.
bool is_only_read_as_number(const Node& node) {
  if (!node.op->has(compiler::kView)) return false;
  const auto& users = node.result()->users();
  return !users.empty() && node.result()->num_uses() == users.size() &&
         std::all_of(users.begin(), users.end(),
                     [](const Node* user) { return user->is("aten._local_scalar_dense.default"); });
}

// Whether a node only shows elements of a host tensor, in another order or fewer of them. A view of a mutable buffer is
// another case: a delegate for it lets the buffer stay on the device for others.
bool is_view_of_host_tensor(const Node& node) {
  const Value* x = node.op->has(compiler::kView) ? node.tensor_or_null(0) : nullptr;
  return x && x->kind != compiler::ValueKind::state;
}

}  // namespace

Verdict knows_sizes(const std::vector<const Node*>& nodes, const compiler::TargetContext& context) {
  Symbols known = known_to(nodes);
  inputs_for_sizes(nodes, context.graph, known);
  Verdict verdict = Verdict::yes();
  for (const Node* node : nodes) {
    Symbols needed;
    collect_needed(*node, needed);
    const auto missing =
        std::find_if(needed.begin(), needed.end(), [&](const auto& each) { return !known.count(each); });
    if (missing == needed.end()) continue;
    if (verdict.taken) verdict = Verdict::no("the size " + *missing + " is none of its inputs");
    verdict.because_of.push_back(node);
  }
  return verdict;
}

Verdict profitable(const std::vector<const Node*>& nodes, const compiler::TargetContext& context) {
  if (std::all_of(nodes.begin(), nodes.end(), [](const Node* node) { return is_view_of_host_tensor(*node); }))
    return Verdict::no("the partition holds only views: bringing their elements to the device would save nothing");
  return knows_sizes(nodes, context);
}

std::vector<Value*> reads_sizes_of(const std::vector<const Node*>& nodes, const compiler::TargetContext& context) {
  Symbols known = known_to(nodes);
  return inputs_for_sizes(nodes, context.graph, known);
}

bool same(const Sym& a, const Sym& b) { return (a - b).is(0); }
bool no_larger(const Sym& a, const Sym& b) { return SymScope::range(b - a).min >= 0; }
Verdict agreed(bool condition) { return condition ? Verdict::yes() : Verdict::no(kOnlyAtRunTime); }

Verdict gives_floats(const Node& node, const compiler::TargetContext&) {
  return is_floating(node.result()->dtype()) ? Verdict::yes() : Verdict::no("results that are integers have no kernel");
}

Verdict holds(const Value& state, const compiler::TargetContext&) {
  if (std::string reason = refuse_tensor(nullptr, state); !reason.empty()) return Verdict::no(std::move(reason));
  return is_static(state.sizes()) ? Verdict::yes() : Verdict::no("its size is known only at run time");
}

const OpRule* find_rule(const Node& node) { return rules().find(node); }

Verdict supports(const Node& node, const compiler::TargetContext& context) {
  const OpRule* rule = find_rule(node);
  if (!rule) return Verdict::no(fmt::format("{} has no kernel", node.op->name()));
  for (const Value* operand : node.operands()) {
    if (std::string reason = refuse_tensor(&node, *operand); !reason.empty()) return Verdict::no(std::move(reason));
  }
  for (const Value* result : node.results()) {
    if (result->num_uses() == 0) continue;
    if (std::string reason = refuse_tensor(&node, *result); !reason.empty()) return Verdict::no(std::move(reason));
  }
  if (is_only_read_as_number(node)) return Verdict::no("it is only read as a number of the program");
  if (std::string reason = refuse_sizes(node); !reason.empty()) return Verdict::no(std::move(reason));
  return rule->supports ? rule->supports(node, context) : Verdict::yes();
}

}  // namespace wick::cuda
