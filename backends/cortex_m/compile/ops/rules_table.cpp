// Functions of one int8 element: a table of 256 elements, or a clamp.
//   table[q + 128] = clamp(round(f((q - zero) * scale) / scale of the result) + zero of the result), halves away from 0
// The portable kernels compute f, as eager does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/pointwise/clamp.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_table {
namespace {

constexpr size_t kMaxRankOfMinimum = 4;

// The only operand that is not a single constant number, however often the node reads it; null if there are others.
Value* variable(const Node& node) {
  Value* found = nullptr;
  for (Value* operand : node.operands()) {
    if (is_number(*operand)) continue;
    if (found && found != operand) return nullptr;
    found = operand;
  }
  return found;
}

std::vector<double> results(const Node& node, const Value& x) {
  OnAllElements all(x);
  all.add(node);
  return all.results();
}

std::vector<int8_t> table_of(const std::vector<double>& results, const Affine& q) {
  std::vector<int8_t> table;
  for (const double number : results) {
    const double steps = std::clamp(std::round(number / q.scale), -0x1p30, 0x1p30);
    const double element = std::isnan(number) ? q.zero : steps + q.zero;
    table.push_back(static_cast<int8_t>(std::clamp<double>(element, q.min, q.max)));
  }
  return table;
}

// Whether the node only clamps, and keeps scale and zero point.
bool only_clamps(const Node& node, const Value& x) {
  return clamp_bounds(node) && same_numbers(affine(x), affine(*node.result())) && x.rank() <= kMaxRankOfMinimum;
}

Verdict supports_table(const Node& node, const Configuration&) {
  const Value* x = variable(node);
  if (!x) return refused({"it reads more than one tensor", "quantize what lies between its operators, too"});
  for (const Refusal& reason : {refuse_int8(*x, "its input"), refuse_int8(*node.result(), "its result")}) {
    if (!reason.empty()) return refused(reason);
  }
  if (!(x->sizes() == node.result()->sizes()))
    return refused({"its result has other sizes than its input", "expand the input in a node of its own"});
  if (results(node, *x).size() != kInt8Elements)
    return refused({"it is not element-wise",
                    "compute it of elements one by one, or move it in front of the first quantize node or behind the "
                    "last dequantize node"});
  return Verdict::yes();
}

std::vector<Value*> rewrite_table(Builder& b, Node& node, const Configuration&) {
  Value* x = variable(node);
  Affine q = affine(*node.result());
  if (only_clamps(node, *x)) {
    const auto bounds = clamp_bounds(node);
    q.min = quantize(bounds->low, q);
    q.max = quantize(bounds->high, q);
    return {clamped(b, x, affine(*x), q)};
  }
  return {b.call("cortex_m.quantized_activation",
                 {x, constant(b, {int64_t{kInt8Elements}}, table_of(results(node, *x), q), "lut")})};
}

// --- several operators in one table ---

Verdict supports_lookup(const Node& node, const Configuration&) {
  return Verdict::yes("one table for all of " + names_of_nodes(node));
}

std::vector<Value*> rewrite_lookup(Builder& b, Node& node, const Configuration&) {
  return {b.call("cortex_m.quantized_activation", {node.arg("self"), node.arg("table")})};
}

constexpr OpRule kRules[] = {
    {"wick.lookup.default", supports_lookup, rewrite_lookup, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_table

const OpRule kTableRule = {"", rules_table::supports_table, rules_table::rewrite_table, true, false, OpenSizes::batch};
const RuleFamily kLookupRules = {rules_table::kRules, std::size(rules_table::kRules)};

std::string names_of_nodes(const Node& node) {
  constexpr size_t kMaxShown = 6;
  std::vector<compiler::OriginPtr> origins = node.more_origins;
  origins.insert(origins.begin(), node.origin);
  std::string names;
  for (size_t i = 0; i < origins.size() && i < kMaxShown; ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", origins[i] ? origins[i]->node : "");
  return origins.size() > kMaxShown ? names + ", .." : names;
}

// Comparisons whose results are not quantized have rules of their own.
bool is_tabulated(const Node& node) {
  const bool gives_truths = compiler::is_comparison(node.op->facts.binary) && !node.result()->is_quantized();
  return node.op->has(compiler::kPointwise) && rules_table::variable(node) != nullptr && !gives_truths &&
         has_known_scalars(node);
}

Value* requantized(Builder& b, Value* x, const Affine& from, const Affine& to) {
  std::vector<int8_t> table;
  for (int32_t element = -128; element <= 127; ++element) {
    const double number = static_cast<double>(element - from.zero) * from.scale;
    table.push_back(static_cast<int8_t>(quantize(number, to)));
  }
  return b.call("cortex_m.quantized_activation", {x, constant(b, {int64_t{kInt8Elements}}, std::move(table), "lut")});
}

Value* clamped(Builder& b, Value* x, const Affine& from, const Affine& to) {
  if (from.min >= to.min && from.max <= to.max) return x;
  if (x->rank() > rules_table::kMaxRankOfMinimum)
    return requantized(b, x, from, {from.scale, from.zero, to.min, to.max});
  if (from.min < to.min)
    x = b.call("cortex_m.maximum", {x, constant(b, {1}, std::vector<int8_t>{static_cast<int8_t>(to.min)}, "low")});
  if (from.max > to.max)
    x = b.call("cortex_m.minimum", {x, constant(b, {1}, std::vector<int8_t>{static_cast<int8_t>(to.max)}, "high")});
  return x;
}

}  // namespace wick::cortex_m
