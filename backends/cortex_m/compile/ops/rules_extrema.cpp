// Maxima and minima of dimensions and windows, and sorting, by portable kernels on elements: elements have the same
// order as the numbers that they stand for.
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_extrema {
namespace {

Verdict supports_extremum(const Node& node, const Configuration& configuration) {
  const Value *x = node.tensor("self"), *y = node.result();
  Refusal reason = refuse_elements(*x, "its input");
  if (reason.empty() && y->num_uses() > 0) {
    reason = refuse_elements(*y, "its result");
    if (reason.empty()) reason = refuse_conversion(*x, *y, configuration);
  }
  return verdict_of(reason);
}

std::vector<Value*> rewrite_extremum(Builder& b, Node& node, const Configuration&) {
  std::vector<Value*> results = b.call_multi(node.op->name(), node.args());
  const Value& y = *node.result();
  results[0] = y.num_uses() == 0 ? b.full(y.sizes(), 0.0, y.dtype())
                                 : converted(b, results[0], affine(*node.tensor("self")), affine(y), y.dtype());
  return results;
}

constexpr OpRule kRules[] = {
    {"aten.amax.default", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.amin.default", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.kthvalue.default", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.max.dim", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.min.dim", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.sort.default", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.sort.stable", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
    {"aten.topk.default", supports_extremum, rewrite_extremum, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_extrema

const RuleFamily kExtremumRules = {rules_extrema::kRules, std::size(rules_extrema::kRules)};

}  // namespace wick::cortex_m
