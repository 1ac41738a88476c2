#include <cmath>

#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// In which dtype eager's kernel computes.
DType computed_in(const Node& node) {
  return is_comparison(node.op->facts.binary) ? promote({node.arg(0), node.arg(1)}) : node.result()->dtype();
}

Value* round_numbers_of(Builder& b, Node& node) {
  if (!reads_half_numbers(node)) return nullptr;
  const DType dtype = computed_in(node);
  if (dtype != DType::f16 && dtype != DType::bf16) return nullptr;
  Args args = node.args();
  bool changed = false;
  for (Arg& arg : args) {
    if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor()) {
      if (arg.as<Value*>()->dtype() == dtype) continue;
      arg = b.cast(arg.as<Value*>(), dtype);
    } else {
      const auto number = literal(arg);
      if (!number || std::isnan(*number) || half_number(*number, dtype) == *number) continue;
      arg = half_number(*number, dtype);
    }
    changed = true;
  }
  return changed ? b.call(node.op->name(), std::move(args)) : nullptr;
}

}  // namespace

// Gives sums, remainders, powers and comparisons of 16-bit floats the numbers that eager's kernels read: those of that
// dtype.
//   before: y = add(x: bf16, 1.003)          after: y = add(x: bf16, 1.0)
// Products, quotients and activations keep their numbers, which eager reads as f32. Tensors of other dtypes (without
// dimensions, or of integers) are converted.
// Requires: composites are decomposed.
// Ensures: no number in such a node changes when it is rounded to the dtype that eager computes it in.
// Keeps: every value, as eager computes it.
Result<Changed> round_numbers(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    constexpr Rule kRules[] = {round_numbers_of};
    return rewrite_nodes(g, Span<const Rule>(kRules));
  });
}

}  // namespace wick::compiler
