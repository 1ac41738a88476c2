// Comparisons of elements by portable kernels: with a number the element from which on (or where) they hold, and with
// another tensor on the same scale the elements themselves.
#include <algorithm>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

bool compares_with_number(const Node& node) {
  const auto is_not_number = [](const Value* operand) { return !is_number(*operand); };
  const std::vector<Value*> operands = node.operands();
  return std::count_if(operands.begin(), operands.end(), is_not_number) == 1;
}

// The comparison for all elements, from the least on.
std::vector<double> truths(const Node& node, const Value& x) {
  OnAllElements all(x);
  all.add(node);
  return all.results();
}

Value* elements_of(const Node& node) {
  for (Value* operand : node.operands()) {
    if (!is_number(*operand)) return operand;
  }
  return nullptr;
}

Verdict supports_comparison(const Node& node, const Configuration&) {
  if (node.result()->is_quantized()) return Verdict::no("its result is quantized");
  if (compares_with_number(node)) {
    const Value* x = elements_of(node);
    const std::string reason = refuse_elements(*x, "its operand");
    if (!reason.empty()) return Verdict::no(reason);
    const bool holds_elements = x->sizes() == node.result()->sizes() && !truths(node, *x).empty();
    return holds_elements ? Verdict::yes() : Verdict::no("it is not element-wise");
  }
  const Value *a = node.operands()[0], *b = node.operands().back();
  for (const Value* each : {a, b}) {
    const std::string reason = refuse_elements(*each, "an operand");
    if (!reason.empty()) return Verdict::no(reason);
  }
  const bool same = a->dtype() == b->dtype() && same_numbers(affine(*a), affine(*b));
  return same ? Verdict::yes() : Verdict::no("its operands have different scales");
}

// Whatever is compared, it holds from an element on, up to one, or at one (ne: everywhere else).
std::vector<Value*> rewrite_comparison(Builder& b, Node& node, const Configuration&) {
  if (!compares_with_number(node)) return {b.call(node.op->name(), node.args())};
  Value* x = elements_of(node);
  const std::vector<double> all = truths(node, *x);
  const int64_t least = x->dtype() == DType::i8 ? INT8_MIN : INT16_MIN;
  const bool first = all.front() != 0;
  const auto change = std::find_if(all.begin(), all.end(), [&](double each) { return (each != 0) != first; });
  if (change == all.end()) return {b.full(x->sizes(), first, DType::boolean)};
  const int64_t at = least + (change - all.begin());
  const bool only_there = change + 1 != all.end() && (change[1] != 0) == first;
  const char* op =
      only_there ? (first ? "aten.ne.Scalar" : "aten.eq.Scalar") : (first ? "aten.lt.Scalar" : "aten.ge.Scalar");
  return {b.call(op, {x, at})};
}

constexpr OpRule kRules[] = {
    {"aten.eq.Scalar", supports_comparison, rewrite_comparison, true},
    {"aten.eq.Tensor", supports_comparison, rewrite_comparison, true},
    {"aten.ge.Scalar", supports_comparison, rewrite_comparison, true},
    {"aten.ge.Tensor", supports_comparison, rewrite_comparison, true},
    {"aten.gt.Scalar", supports_comparison, rewrite_comparison, true},
    {"aten.gt.Tensor", supports_comparison, rewrite_comparison, true},
    {"aten.le.Scalar", supports_comparison, rewrite_comparison, true},
    {"aten.le.Tensor", supports_comparison, rewrite_comparison, true},
    {"aten.lt.Scalar", supports_comparison, rewrite_comparison, true},
    {"aten.lt.Tensor", supports_comparison, rewrite_comparison, true},
    {"aten.ne.Scalar", supports_comparison, rewrite_comparison, true},
    {"aten.ne.Tensor", supports_comparison, rewrite_comparison, true},
};

}  // namespace

const RuleFamily kComparisonRules = {kRules, std::size(kRules)};

}  // namespace wick::cortex_m
