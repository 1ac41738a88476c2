#include "compiler/ops/pointwise/clamp.h"

#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

std::optional<double> clamp_bound(const Node& node, const char* name, double otherwise) {
  return !name || node.is_none(name) ? otherwise : literal(node.arg(name));
}

}  // namespace

std::optional<ClampBounds> clamp_bounds(const Node& node) {
  const Clamp& clamp = node.op->facts.clamp;
  if (!clamp) return {};
  const auto low = clamp_bound(node, clamp.low_arg, clamp.low), high = clamp_bound(node, clamp.high_arg, clamp.high);
  if (!low || !high || !(*low <= *high)) return {};
  return ClampBounds{*low, *high};
}

}  // namespace wick::compiler
