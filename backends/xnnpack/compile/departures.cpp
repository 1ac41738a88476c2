#include "backends/xnnpack/compile/departures.h"

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

const Departure* departure(const Node& node) {
  const OpRule* rule = find_rule(node);
  if (!rule) return nullptr;
  return rule->departure_of ? rule->departure_of(node) : rule->departure;
}

std::string refuse_departure(const Node& node, const Departure& departure, const compiler::ValueRanges& ranges) {
  const auto reason = [&](const char* found) {
    return fmt::format("{}, and the model makes {} from finite inputs here", departure.text, found);
  };
  const compiler::Value* result = node.result();
  bool nan = false, infinity = false;
  for (const compiler::Value* operand : node.operands()) {
    const ValueRange range = ranges.of(operand);
    nan |= range.nan;
    infinity |= range.is_infinite();
  }
  if (departure.finite_of_nan && nan) return reason("NaN");
  if (departure.finite_of_infinity && infinity) return reason("infinities");
  if (departure.nan && is_nan_made(node, ranges) && ranges.hides_nan(result)) return reason("NaN");
  if (departure.infinity && infinity && ranges.hides_infinity(result)) return reason("infinities");
  return "";
}

}  // namespace wick::xnnpack
