#include "backends/xnnpack/compile/deviations.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/compile/ops/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::ValueRange;

namespace {

bool is_nan_made(const Node& node, const compiler::ValueRanges& ranges) {
  return std::any_of(node.results().begin(), node.results().end(),
                     [&](const compiler::Value* result) { return ranges.of(result).nan; });
}

}  // namespace

const Deviation* deviation(const Node& node) {
  const OpRule* rule = find_rule(node);
  if (!rule) return nullptr;
  return rule->deviation_of ? rule->deviation_of(node) : rule->deviation;
}

std::string refuse_deviation(const Node& node, const Deviation& deviation, const compiler::ValueRanges& ranges) {
  const auto reason = [&](const char* found) {
    return fmt::format("{}, and the model makes {} from finite inputs here", deviation.text, found);
  };
  const compiler::Value* result = node.result();
  bool nan = false, infinity = false;
  for (const compiler::Value* operand : node.operands()) {
    const ValueRange range = ranges.of(operand);
    nan |= range.nan;
    infinity |= range.is_infinite();
  }
  if (deviation.finite_of_nan && nan) return reason("NaN");
  if (deviation.finite_of_infinity && infinity) return reason("infinities");
  if (deviation.nan && is_nan_made(node, ranges) && ranges.hides_nan(result)) return reason("NaN");
  if (deviation.infinity && infinity && ranges.hides_infinity(result)) return reason("infinities");
  return "";
}

std::string refuse_small_numbers(const Node& node, const compiler::ValueRanges& ranges) {
  const compiler::SmallNumbers& numbers = ranges.small_numbers();
  const auto& results = node.results();
  const bool lost = numbers.tells(node, ranges) ||
                    std::any_of(results.begin(), results.end(), [&](const auto* x) { return numbers.matter(x); });
  return lost ? "numbers below 2^-126 come out as 0, and the model distinguishes them from 0" : "";
}

std::string refuse_zero_sign(const Node& node, const compiler::ValueRanges& ranges, ZeroSign sign) {
  if (sign == ZeroSign::kept) return "";
  const auto& results = node.results();
  const bool matters = std::any_of(results.begin(), results.end(), [&](const compiler::Value* result) {
    return ranges.zero_signs().matter(result) && ranges.of(result).holds(0);
  });
  if (!matters) return "";
  const auto operands = node.operands();
  const bool decided =
      sign == ZeroSign::lost || std::any_of(operands.begin(), operands.end(), [&](const compiler::Value* operand) {
        return compiler::may_be_negative_zero(operand, ranges);
      });
  return decided ? "a zero may come out with the other sign, and the model distinguishes -0 from 0" : "";
}

}  // namespace wick::xnnpack
