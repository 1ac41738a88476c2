#include "backends/cuda/compile/sizes/size_requirements.h"

#include <algorithm>

#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/sizes/formula_of.h"
#include "compiler/ir/infer.h"

namespace wick::cuda {

using compiler::make_sym;
using compiler::SymOp;
using compiler::SymScope;

namespace {

constexpr char kDoNotBroadcast[] = "the sizes of its operands do not broadcast";

enum class Holds : uint8_t { always, sometimes, never };

// low <= high
Holds are_in_order(const Sym& low, const Sym& high) {
  const compiler::SymRange distance = SymScope::range(high - low);
  return distance.min >= 0 ? Holds::always : distance.max < 0 ? Holds::never : Holds::sometimes;
}

Holds holds(const SizeRequirement& requirement) {
  const Holds low = requirement.low ? are_in_order(*requirement.low, requirement.found) : Holds::always;
  const Holds high = requirement.high ? are_in_order(requirement.found, *requirement.high) : Holds::always;
  return std::max(low, high);
}

bool is_symbolic(const Value* value) {
  const Sizes& sizes = value->sizes();
  return std::any_of(sizes.begin(), sizes.end(), [](const Sym& size) { return !size.is_const(); });
}

// A size that an exporter states may not hold for all accepted sizes of the inputs.
void add_stated(const Node& node, SizeRequirements& out) {
  if (!node.op->infer || node.results().empty()) return;
  const std::vector<compiler::Type> inferred = inferred_types(*node.result()->producer);
  for (size_t i = 0; i < inferred.size(); ++i) {
    const Sizes &computed = inferred[i].tensor.sizes, &stated = node.result(i)->sizes();
    for (size_t dim = 0; dim < std::min(computed.size(), stated.size()); ++dim)
      out.push_back(equal(computed[dim], stated[dim], "a size of the result is not the one that the model states"));
  }
}

// For pointwise operators: each dimension of the result equals that of an operand, and the other operands have the same
// size or 1 there.
void add_pointwise(const Node& node, SizeRequirements& out) {
  const Sizes& result = node.result()->sizes();
  std::vector<Sizes> all;  // each from its last dimension on
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor()) continue;
    if (operand->rank() > result.size()) out.push_back(equal(1, 0, kDoNotBroadcast));
    all.emplace_back(std::vector<Sym>(operand->sizes().rbegin(), operand->sizes().rend()));
  }
  for (size_t i = 0; i < result.size(); ++i) {
    const Sym& wide = result[result.size() - 1 - i];
    Sizes own;
    for (const Sizes& sizes : all) {
      if (i < sizes.size() && !sizes[i].is(1)) own.push_back(sizes[i]);
    }
    if (own.empty()) own.push_back(1);
    const bool is_one_of_them = std::any_of(own.begin(), own.end(), [&](const Sym& size) { return same(size, wide); });
    for (const Sym& size : own)
      out.push_back(is_one_of_them ? broadcasts(size, wide) : equal(size, wide, kDoNotBroadcast));
  }
}

SizeRequirements all_of(const Node& node) {
  SizeRequirements out;
  const OpRule& rule = *find_rule(node);
  if (rule.needs) rule.needs(node, out);
  const std::vector<Value*> operands = node.operands();
  const auto& results = node.results();
  const bool has_symbols = std::any_of(operands.begin(), operands.end(), is_symbolic) ||
                           std::any_of(results.begin(), results.end(), is_symbolic);
  if (!has_symbols || !node.graphs.empty()) return out;
  if (rule.text || node.op->has(compiler::kPointwise)) {
    add_pointwise(node, out);
  } else {
    add_stated(node, out);
  }
  return out;
}

bool may_be_checked(const SizeRequirement& requirement) {
  for (const auto& number : {std::optional(requirement.found), requirement.low, requirement.high}) {
    if (number && (SymScope::is_from_data(*number) || !is_computable(*number))) return false;
  }
  return true;
}

}  // namespace

// A tensor has at least 0 elements, even if the model's expression for its size is negative.
SizeRequirement equal(const Sym& found, const Sym& wanted, const char* otherwise) {
  const Sym size = sym_max(wanted, 0);
  return {sym_max(found, 0), size, size, otherwise};
}
SizeRequirement at_least(const Sym& found, const Sym& low, const char* otherwise) {
  return {found, low, std::nullopt, otherwise};
}
SizeRequirement at_most(const Sym& found, const Sym& high, const char* otherwise) {
  return {found, std::nullopt, high, otherwise};
}

SizeRequirement broadcasts(const Sym& own, const Sym& wide) {
  if (own.is(1) || same(own, wide)) return equal(0, 0, "");
  return equal(own, make_sym(SymOp::where, {make_sym(SymOp::eq, {own, 1}), 1, wide}), kDoNotBroadcast);
}

void add_broadcasts(const Sizes& own, const Sizes& wide, SizeRequirements& out) {
  if (own.size() > wide.size()) return out.push_back(equal(1, 0, kDoNotBroadcast));
  for (size_t i = 0; i < own.size(); ++i) out.push_back(broadcasts(own[i], wide[wide.size() - own.size() + i]));
}

SizeRequirements left_to_check(const Node& node) {
  SizeRequirements out = all_of(node);
  out.erase(std::remove_if(out.begin(), out.end(), [](const auto& each) { return holds(each) == Holds::always; }),
            out.end());
  return out;
}

std::string refuse_sizes(const Node& node) {
  for (const SizeRequirement& each : left_to_check(node)) {
    if (holds(each) == Holds::never) return each.otherwise;
    if (!may_be_checked(each)) return kOnlyAtRunTime;
  }
  return "";
}

}  // namespace wick::cuda
