// What depends on one int16 element only: a table with straight lines between its elements. Its size is the least with
// which each of the 65536 elements is within one step of what eager computes, and the lines within a quarter of a step
// of the function; or the largest one, if that is within one step. Where none is, as for reciprocals and roots near 0,
// a table whose elements lie the closer the smaller the input is, by the same measure.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/tables.h"
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

// How far lines are from the function, in steps where it is not saturated; infinite if an element is more than one step
// off. `value`: of the table at the element that is `at` above the least, with kFraction bits behind the point.
template <typename ValueAt>
double table_error(const ValueAt& value_at, const std::vector<double>& numbers, const Affine& q) {
  const int32_t half = 1 << (kFraction - 1);
  double worst = 0;
  for (int32_t at = 0; at < static_cast<int32_t>(kCount); ++at) {
    const int32_t value = value_at(at);
    const double number = numbers[static_cast<size_t>(at)];
    const int32_t element = std::clamp((value + half) >> kFraction, q.min, q.max);
    if (std::abs(element - quantize(number, q)) > 1) return std::numeric_limits<double>::infinity();
    if (element > q.min && element < q.max)
      worst = std::max(worst, std::abs(std::ldexp(value, -kFraction) - steps_of(number, q)));
  }
  return worst;
}

// --- tables whose elements lie the closer the smaller the input is ---

constexpr int kLeastGrades = 4, kMostGrades = 9;  // 2^n elements between powers of 2
constexpr int32_t kZeroAt = kCount / 2;

// Half of a table: of x >= 0, or of -x. Empty: a difference between two is too large for the kernel.
std::vector<int32_t> graded_half(const std::vector<double>& numbers, const Affine& q, int bits, bool negative) {
  const auto number_of = [&](int32_t x) {
    const auto size = static_cast<size_t>(x);
    if (negative) return numbers[kCount / 2 - size];
    if (x < kZeroAt) return numbers[kCount / 2 + size];
    return 2 * numbers[kCount - 1] - numbers[kCount - 2];
  };
  std::vector<int32_t> half;
  const auto add = [&](int32_t x, int e) {
    const double steps = steps_of(number_of(x), q);
    half.push_back(std::isnan(steps) ? 0 : static_cast<int32_t>(round_half_even(std::ldexp(steps, kFraction))));
    return half.size() < 2 || std::abs(int64_t{half.back()} - half[half.size() - 2]) < int64_t{1} << (31 - e);
  };
  bool fits = true;
  for (int32_t x = 0; x < 2 << bits; ++x) fits = add(x, 0) && fits;
  for (int e = 1; e < 16 - bits; ++e) {
    for (int32_t cell = 1 << bits; cell < 2 << bits && cell << e <= kZeroAt; ++cell) fits = add(cell << e, e) && fits;
  }
  half.resize((static_cast<size_t>(16 - bits) << bits) + 2, half.back());
  return fits ? half : std::vector<int32_t>();
}

int32_t graded_value(const int32_t* half, int bits, int32_t x) {
  int e = 0;
  while (x >> e >= 2 << bits) ++e;
  const int32_t j = (e << bits) + (x >> e), rest = x & ((1 << e) - 1);
  return rest == 0 ? half[j] : half[j] + (((half[j + 1] - half[j]) * rest) >> e);
}

// The table of graded_lookup_int16. Functions may be infinite, and not a number, which is the zero point.
std::vector<int32_t> graded_table(const std::vector<double>& numbers, const Affine& q) {
  const int32_t of_negative = quantize(numbers[0], q);
  const bool constant = std::all_of(numbers.begin(), numbers.begin() + kZeroAt,
                                    [&](double number) { return quantize(number, q) == of_negative; });
  for (int bits = kLeastGrades; bits <= kMostGrades; ++bits) {
    const std::vector<int32_t> positive = graded_half(numbers, q, bits, false);
    const std::vector<int32_t> negative =
        constant ? std::vector<int32_t>{of_negative * (1 << kFraction)} : graded_half(numbers, q, bits, true);
    if (positive.empty() || negative.empty()) continue;
    const auto value_at = [&](int32_t at) {
      if (at >= kZeroAt) return graded_value(positive.data(), bits, at - kZeroAt);
      return constant ? negative[0] : graded_value(negative.data(), bits, kZeroAt - at);
    };
    const double error = table_error(value_at, numbers, q);
    if (error > kGoodError && (bits < kMostGrades || !std::isfinite(error))) continue;
    std::vector<int32_t> table = positive;
    table.insert(table.end(), negative.begin(), negative.end());
    return table;
  }
  return {};
}

struct Table {
  const char* op;
  std::vector<int32_t> elements;  // empty: none is fine enough
};
Table lookup_of(const std::vector<double>& numbers, const Affine& q) {
  std::vector<int32_t> elements = int16_table(numbers, q);
  if (!elements.empty()) return {"wick_cortex_m.lookup_int16", std::move(elements)};
  return {"wick_cortex_m.graded_lookup_int16", graded_table(numbers, q)};
}

Verdict supports_table(const Node& node, const Configuration&) {
  const Value* x = variable(node);
  for (const std::string& reason : {refuse_int16(*x, "its input"), refuse_int16(*node.result(), "its result")}) {
    if (!reason.empty()) return Verdict::no(reason);
  }
  if (!(x->sizes() == node.result()->sizes())) return Verdict::no("its result has other sizes than its input");
  const std::vector<double> numbers = results(node);
  if (numbers.size() != kCount) return Verdict::no("it is not element-wise");
  return lookup_of(numbers, affine(*node.result())).elements.empty()
             ? Verdict::no(
                   "no table of up to 4097 elements with lines between them, or 7172 graded ones, is within one step "
                   "of it")
             : Verdict::yes();
}

std::vector<Value*> rewrite_table(Builder& b, Node& node, const Configuration&) {
  return {lookup_int16(b, variable(node), results(node), affine(*node.result()))};
}

// What merge_tables made stays as it is.
Verdict supports_lookup(const Node& node, const Configuration&) {
  return Verdict::yes("one table for all of " + names_of_nodes(node));
}
std::vector<Value*> rewrite_lookup(Builder& b, Node& node, const Configuration&) {
  return {b.call(node.op->name(), node.args())};
}

constexpr OpRule kLookupRows[] = {
    {"wick_cortex_m.graded_lookup_int16.default", supports_lookup, rewrite_lookup, true},
    {"wick_cortex_m.lookup_int16.default", supports_lookup, rewrite_lookup, true},
};

}  // namespace

std::vector<int32_t> int16_table(const std::vector<double>& numbers, const Affine& q) {
  const bool finite = std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
  if (!finite) return {};
  for (int bits = kMostBits; bits >= kLeastBits; --bits) {
    std::vector<int32_t> table = nodes_of(numbers, q, bits);
    if (table.empty()) continue;
    const auto value_at = [&](int32_t at) {
      const auto j = static_cast<size_t>(at >> bits);
      return table[j] + (((table[j + 1] - table[j]) * (at & ((1 << bits) - 1))) >> bits);
    };
    const double error = table_error(value_at, numbers, q);
    if (error <= kGoodError || (bits == kLeastBits && std::isfinite(error))) return table;
  }
  return {};
}

Value* lookup_int16(Builder& b, Value* x, const std::vector<double>& numbers, const Affine& q) {
  if (numbers.size() != kCount) return nullptr;
  Table table = lookup_of(numbers, q);
  if (table.elements.empty()) return nullptr;
  const auto count = static_cast<int64_t>(table.elements.size());
  Value* lut = constant(b, {count}, std::move(table.elements), "lut");
  return b.call(table.op, {x, lut, int64_t{q.min}, int64_t{q.max}});
}

const RuleFamily kInt16LookupRules = {kLookupRows, std::size(kLookupRows)};
const OpRule kInt16TableRule = {"", supports_table, rewrite_table, true};

}  // namespace wick::cortex_m
