#include <algorithm>

#include "backends/cortex_m/compile/passes/layers/moved_constant.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Value;

namespace {

// A bound with a single number: with such bounds the clamp is a function of one element.
bool is_number(const Value* bound) { return !bound || (numel(bound->sizes()).is(1) && is_constant_numbers(*bound)); }

Value* extrema_of(Builder& b, Node& node) {
  if (!node.is("aten.clamp.Tensor")) return nullptr;
  Value *x = node.tensor("self"), *low = node.optional_tensor("min"), *high = node.optional_tensor("max");
  if (is_number(low) && is_number(high)) return nullptr;
  const auto is_of_result = [&](const Value* value) { return !value || value->dtype() == node.result()->dtype(); };
  if (!is_of_result(x) || !is_of_result(low) || !is_of_result(high)) return nullptr;
  if (low) x = b.call("aten.maximum", {x, low});
  return high ? b.call("aten.minimum", {x, high}) : x;
}

}  // namespace

// Clamps by tensors become maxima and minima, which have integer forms.
//   before: y = clamp(x, low, high)        after: y = minimum(maximum(x, low), high)
// Keeps: every value, including NaN. Clamps by single numbers stay: they are tables.
Result<Changed> tensor_bounds(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    constexpr compiler::Rule kRules[] = {extrema_of};
    return compiler::rewrite_nodes(g, Span<const compiler::Rule>(kRules));
  });
}

}  // namespace wick::cortex_m
