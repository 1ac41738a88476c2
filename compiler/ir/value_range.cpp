#include "compiler/ir/value_range.h"

#include <algorithm>
#include <cmath>

namespace wick::compiler {

std::optional<ValueRange> RangeCall::argument(std::string_view name) const {
  const Arg& arg = node.arg(name);
  if (arg.is<double>()) {
    const double x = arg.as<double>();
    ValueRange range;
    if (std::isfinite(x)) return ValueRange::between(x, x);
    range.nan = std::isnan(x);
    range.above = x > 0;
    range.below = x < 0;
    return range;
  }
  if (arg.is<bool>()) return ValueRange::between(arg.as<bool>() ? 1 : 0, arg.as<bool>() ? 1 : 0);
  if (arg.is<Sym>() && arg.as<Sym>().is_const()) {
    const auto x = static_cast<double>(arg.as<Sym>().value());
    return ValueRange::between(x, x);
  }
  if (!arg.is<Value*>() || !arg.as<Value*>()->type.is_tensor()) return std::nullopt;
  const auto operands = node.operands();
  const auto at = std::find(operands.begin(), operands.end(), arg.as<Value*>());
  return tensors.at(static_cast<size_t>(at - operands.begin()));
}

ValueRange hull_of(const std::vector<ValueRange>& ranges) {
  if (ranges.empty()) return {};
  ValueRange out = ranges[0];
  for (const ValueRange& x : ranges) {
    out.min = std::min(out.min, x.min);
    out.max = std::max(out.max, x.max);
    out.above |= x.above;
    out.below |= x.below;
    out.nan |= x.nan;
  }
  return out;
}

namespace {

// Whether a number among the arguments is an infinity or NaN.
bool has_special_number(const Node& node) {
  const Args& args = node.args();
  return std::any_of(args.begin(), args.end(),
                     [](const Arg& arg) { return arg.is<double>() && !std::isfinite(arg.as<double>()); });
}

}  // namespace

ValueRange range_of_results(const RangeCall& call) {
  if (call.node.op->facts.range) return call.node.op->facts.range(call);
  const ValueRange all = hull_of(call.tensors);
  ValueRange out;
  if (has_special_number(call.node)) {
    out.above = out.below = out.nan = true;
    return out;
  }
  out.above = out.below = all.is_infinite();
  out.nan = !all.is_finite();
  return out;
}

Passing passing_of(const Node& node, size_t index) {
  if (node.op->facts.passing) return node.op->facts.passing(node, index);
  return {node.op->has(kPassesNan), node.op->has(kPassesInfinity)};
}

}  // namespace wick::compiler
