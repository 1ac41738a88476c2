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

}  // namespace wick::xnnpack
