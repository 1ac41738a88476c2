// What depends on one int16 element only: a table with straight lines between its elements. Its size is the least with
// which each of the 65536 elements is within one step of what eager computes, and the lines within a quarter of a step
// of the function; or the largest one, if that is within one step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr int kMostBits = 10, kLeastBits = 4;  // of the distance between elements of the table
constexpr size_t kCount = 65536;               // elements of int16
constexpr int kFraction = 6;                   // bits behind the point of a table's elements
constexpr double kMostSteps = 0x1p18;          // of an element of a table
constexpr double kGoodError = 0.25;            // of lines, in steps

// The only operand that is not a number; null if there are others.
Value* variable(const Node& node) {
  Value* found = nullptr;
  for (Value* operand : node.operands()) {
    if (is_number(*operand)) continue;
    if (found && found != operand) return nullptr;
    found = operand;
  }
  return found;
}

std::vector<double> results(const Node& node) {
  OnAllElements all(*variable(node));
  all.add(node);
  return all.results();
}

double steps_of(double number, const Affine& q) { return std::clamp(number / q.scale, -kMostSteps, kMostSteps); }

// Every 2^bits-th element in steps of the result, with kFraction bits behind the point; the last one lies one behind
// int16. Empty: a difference between two is too large for the kernel.
std::vector<int32_t> nodes_of(const std::vector<double>& numbers, const Affine& q, int bits) {
  std::vector<int32_t> nodes;
  const auto add = [&](double number) {
    nodes.push_back(static_cast<int32_t>(round_half_even(std::ldexp(steps_of(number, q), kFraction))));
  };
  for (size_t at = 0; at < kCount; at += size_t{1} << bits) add(numbers[at]);
  add(2 * numbers[kCount - 1] - numbers[kCount - 2]);
  for (size_t j = 0; j + 1 < nodes.size(); ++j) {
    if (std::abs(int64_t{nodes[j + 1]} - nodes[j]) >= int64_t{1} << (31 - bits)) return {};
  }
  return nodes;
}

// How far the lines are from the function, in steps where it is not saturated; infinite if an element is more than one
// step off.
double error_of(const std::vector<int32_t>& table, const std::vector<double>& numbers, const Affine& q, int bits) {
  const int32_t mask = (1 << bits) - 1, half = 1 << (kFraction - 1);
  double worst = 0;
  for (int32_t at = 0; at < static_cast<int32_t>(kCount); ++at) {
    const auto j = static_cast<size_t>(at >> bits);
    const int32_t value = table[j] + (((table[j + 1] - table[j]) * (at & mask)) >> bits);
    const double number = numbers[static_cast<size_t>(at)];
    const int32_t element = std::clamp((value + half) >> kFraction, q.min, q.max);
    if (std::abs(element - quantize(number, q)) > 1) return std::numeric_limits<double>::infinity();
    if (element > q.min && element < q.max)
      worst = std::max(worst, std::abs(std::ldexp(value, -kFraction) - steps_of(number, q)));
  }
  return worst;
}

Verdict supports_table(const Node& node, const Configuration&) {
  const Value* x = variable(node);
  for (const std::string& reason : {refuse_int16(*x, "its input"), refuse_int16(*node.result(), "its result")}) {
    if (!reason.empty()) return Verdict::no(reason);
  }
  if (!(x->sizes() == node.result()->sizes())) return Verdict::no("its result has other sizes than its input");
  const std::vector<double> numbers = results(node);
  if (numbers.size() != kCount) return Verdict::no("it is not element-wise");
  const std::vector<int32_t> table = int16_table(numbers, affine(*node.result()));
  return table.empty() ? Verdict::no("no table of up to 4097 elements with lines between them is within one step of it")
                       : Verdict::yes();
}

std::vector<Value*> rewrite_table(Builder& b, Node& node, const Configuration&) {
  const Affine q = affine(*node.result());
  std::vector<int32_t> table = int16_table(results(node), q);
  const auto count = static_cast<int64_t>(table.size());
  Value* lut = constant(b, {count}, std::move(table), "lut");
  return {b.call("wick_cortex_m.lookup_int16", {variable(node), lut, int64_t{q.min}, int64_t{q.max}})};
}

}  // namespace

std::vector<int32_t> int16_table(const std::vector<double>& numbers, const Affine& q) {
  const bool finite = std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
  if (!finite) return {};
  for (int bits = kMostBits; bits >= kLeastBits; --bits) {
    std::vector<int32_t> table = nodes_of(numbers, q, bits);
    if (table.empty()) continue;
    const double error = error_of(table, numbers, q, bits);
    if (error <= kGoodError || (bits == kLeastBits && std::isfinite(error))) return table;
  }
  return {};
}

const OpRule kInt16TableRule = {"", supports_table, rewrite_table, true};

}  // namespace wick::cortex_m
