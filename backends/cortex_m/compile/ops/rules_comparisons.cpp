// Comparisons of elements by portable kernels. With a number: elements are compared with the first element for which
// the result changes. With another tensor: on one scale elements are compared as they are; on two scales int8 elements
// of one side are compared with what a table gives for those of the other; otherwise integer multiples of elements are
// compared.
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/compare_products.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_comparisons {
namespace {

bool compares_with_number(const Node& node) {
  const auto is_not_number = [](const Value* operand) { return !is_number(*operand); };
  const std::vector<Value*> operands = node.operands();
  return std::count_if(operands.begin(), operands.end(), is_not_number) == 1;
}

// The result of the comparison for every element, least element first.
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

// --- two scales ---

bool on_one_scale(const Value& a, const Value& b) {
  return a.dtype() == b.dtype() && same_numbers(affine(a), affine(b));
}

// The numbers that the int8 elements -128 .. 127 stand for, in the arithmetic of dequantize_per_tensor.
std::vector<float> numbers_of_elements(const Value& x) {
  const Affine q = affine(x);
  std::vector<float> all;
  for (int32_t element = INT8_MIN; element <= INT8_MAX; ++element)
    all.push_back(static_cast<float>(element - q.zero) * static_cast<float>(q.scale));
  return all;
}

// A comparison of elements; each operand's elements are used as they are, or replaced by those of a table.
struct ElementComparison {
  std::string_view op;
  Value *a = nullptr, *b = nullptr;
  std::vector<int8_t> table_of_a, table_of_b;  // empty: as they are
};

// Compares elements of `a` with a bound for each element of `b`: the first element of `a` that is not less, or the last
// one that is. Nullopt: one element of `b` would need a bound above 127, and another one a bound below -128.
std::optional<ElementComparison> compare_with_bound(std::string_view op, Value* a, Value* b) {
  const bool below = op == "aten.lt.Tensor" || op == "aten.le.Tensor";
  const bool equal_is_less = op == "aten.le.Tensor" || op == "aten.gt.Tensor";
  const std::vector<float> of_a = numbers_of_elements(*a);
  std::vector<int> counts;  // how many elements of `a` are less
  for (const float number : numbers_of_elements(*b)) {
    const auto end = equal_is_less ? std::upper_bound(of_a.begin(), of_a.end(), number)
                                   : std::lower_bound(of_a.begin(), of_a.end(), number);
    counts.push_back(static_cast<int>(end - of_a.begin()));
  }
  const bool has_first = counts.back() < static_cast<int>(kInt8Elements);
  if (!has_first && counts.front() == 0) return std::nullopt;
  ElementComparison made{below ? "aten.le.Tensor" : "aten.gt.Tensor", a, b, {}, {}};
  if (has_first) made.op = below ? "aten.lt.Tensor" : "aten.ge.Tensor";
  for (const int count : counts) made.table_of_b.push_back(static_cast<int8_t>(INT8_MIN + count - (has_first ? 0 : 1)));
  return made;
}

// Replaces elements by names: equal numbers have the same name, different numbers different ones. Nullopt: more than
// 256 names are needed.
std::optional<ElementComparison> compare_names(std::string_view op, Value* a, Value* b) {
  constexpr int8_t kAloneInA = INT8_MIN, kAloneInB = INT8_MIN + 1;
  const std::vector<float> of_b = numbers_of_elements(*b);
  ElementComparison made{op, a, b, {}, std::vector<int8_t>(kInt8Elements, kAloneInB)};
  int next = INT8_MIN + 2;
  std::optional<float> before;
  for (const float number : numbers_of_elements(*a)) {
    if (number == before) {  // both infinite, or too small for f32
      made.table_of_a.push_back(made.table_of_a.back());
      continue;
    }
    before = number;
    const auto [first, last] = std::equal_range(of_b.begin(), of_b.end(), number);
    if (first != last && next > INT8_MAX) return std::nullopt;
    made.table_of_a.push_back(first == last ? kAloneInA : static_cast<int8_t>(next));
    for (auto each = first; each != last; ++each)
      made.table_of_b[static_cast<size_t>(each - of_b.begin())] = static_cast<int8_t>(next);
    next += first == last ? 0 : 1;
  }
  return made;
}

// Compares int8 elements on two scales. Nullopt: int8 tables cannot express the comparison.
std::optional<ElementComparison> compare_by_table(const Node& node) {
  Value *a = node.operands()[0], *b = node.operands().back();
  const std::string_view op = node.op->name();
  if (a->dtype() != DType::i8 || b->dtype() != DType::i8) return std::nullopt;
  if (op == "aten.eq.Tensor" || op == "aten.ne.Tensor") return compare_names(op, a, b);
  if (auto made = compare_with_bound(op, a, b)) return made;
  constexpr std::pair<std::string_view, std::string_view> kExchanged[] = {{"aten.lt.Tensor", "aten.gt.Tensor"},
                                                                          {"aten.le.Tensor", "aten.ge.Tensor"},
                                                                          {"aten.gt.Tensor", "aten.lt.Tensor"},
                                                                          {"aten.ge.Tensor", "aten.le.Tensor"}};
  for (const auto& [from, to] : kExchanged) {
    if (op == from) return compare_with_bound(to, b, a);
  }
  return std::nullopt;
}

Value* looked_up(Builder& b, Value* x, const std::vector<int8_t>& table) {
  if (table.empty()) return x;
  return b.call("cortex_m.quantized_activation", {x, constant(b, {int64_t{kInt8Elements}}, table, "lut")});
}

// --- the rule ---

Verdict supports_comparison(const Node& node, const Configuration&) {
  if (node.result()->is_quantized())
    return refused({"its result is quantized",
                    "leave out the quantize node behind a comparison, whose results are true or false"});
  if (compares_with_number(node)) {
    const Value* x = elements_of(node);
    const Refusal reason = refuse_elements(*x, "its operand");
    if (!reason.empty()) return refused(reason);
    const bool holds_elements = x->sizes() == node.result()->sizes() && !truths(node, *x).empty();
    return holds_elements ? Verdict::yes()
                          : refused({"it is not element-wise",
                                     "compute it of elements one by one, or move it in front of the first quantize "
                                     "node or behind the last dequantize node"});
  }
  const Value *a = node.operands()[0], *b = node.operands().back();
  for (const Value* each : {a, b}) {
    const Refusal reason = refuse_elements(*each, "an operand");
    if (!reason.empty()) return refused(reason);
  }
  const double scale = std::max(affine(*a).scale, affine(*b).scale);
  if (scale > std::numeric_limits<float>::max())
    return refused({"the scale of an operand is infinite in f32", "use a scale that f32 holds"});
  const bool holds = on_one_scale(*a, *b) || compare_by_table(node) || multiples_to_compare(node.op->name(), *a, *b);
  return holds ? Verdict::yes() : refused({"the scale of an operand is 0 in f32", "use a scale that f32 holds"});
}

// (x - zero point) * multiple, as int32.
Value* multiple_of(Builder& b, Value* x, int64_t multiple) {
  const int64_t zero = affine(*x).zero;
  x = b.cast(x, DType::i32);
  if (zero != 0) x = b.call("aten.sub.Scalar", {x, zero});
  return multiple == 1 ? x : b.call("aten.mul.Scalar", {x, multiple});
}

Value* compare_on_two_scales(Builder& b, const Node& node) {
  if (const auto made = compare_by_table(node))
    return b.call(made->op, {looked_up(b, made->a, made->table_of_a), looked_up(b, made->b, made->table_of_b)});
  Value *left = node.operands()[0], *right = node.operands().back();
  const Multiples multiples = *multiples_to_compare(node.op->name(), *left, *right);
  return b.call(node.op->name(), {multiple_of(b, left, multiples.of_a), multiple_of(b, right, multiples.of_b)});
}

// The comparison with a number holds from some element on, up to one, or at exactly one (ne: at all but one).
std::vector<Value*> rewrite_comparison(Builder& b, Node& node, const Configuration&) {
  if (!compares_with_number(node)) {
    if (on_one_scale(*node.operands()[0], *node.operands().back())) return {b.call(node.op->name(), node.args())};
    return {compare_on_two_scales(b, node)};
  }
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
    {"aten.eq.Scalar", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.eq.Tensor", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.ge.Scalar", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.ge.Tensor", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.gt.Scalar", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.gt.Tensor", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.le.Scalar", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.le.Tensor", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.lt.Scalar", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.lt.Tensor", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.ne.Scalar", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
    {"aten.ne.Tensor", supports_comparison, rewrite_comparison, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_comparisons

const RuleFamily kComparisonRules = {rules_comparisons::kRules, std::size(rules_comparisons::kRules)};

}  // namespace wick::cortex_m
