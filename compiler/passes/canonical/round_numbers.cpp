#include <cmath>

#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// Whether each value of `from` is exact in f16 and in bf16.
bool is_exact(DType from) { return from == DType::boolean || from == DType::u8 || from == DType::i8; }

Value* round_numbers_of(Builder& b, Node& node) {
  if (!reads_half_numbers(node, 0)) return nullptr;
  const DType dtype = computed_in(node);
  if (dtype != DType::f16 && dtype != DType::bf16) return nullptr;
  Args args = node.args();
  bool changed = false;
  for (size_t i = 0; i < args.size(); ++i) {
    Arg& arg = args[i];
    if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor()) {
      const DType from = arg.as<Value*>()->dtype();
      if (from == dtype || is_exact(from) || !reads_half_numbers(node, i)) continue;
      arg = b.cast(arg.as<Value*>(), dtype);
    } else {
      const auto number = literal(arg);
      if (!number || std::isnan(*number) || half_number(*number, dtype) == *number) continue;
      if (!reads_half_numbers(node, i)) continue;
      arg = half_number(*number, dtype);
    }
    changed = true;
  }
  return changed ? b.call(node.op->name(), std::move(args)) : nullptr;
}

}  // namespace

// Rounds the numbers beside 16-bit floats as eager's kernels do: sums, remainders, powers and comparisons read them in
// the dtype of the floats.
//   before: y = add(x: bf16, 1.003)          after: y = add(x: bf16, 1.0)
// Tensor operands of other dtypes (tensors without dimensions, or of integers) are converted, also those of products
// and quotients. Numbers in products, quotients and activations, and divisors and second factors of one element, stay:
// eager reads them as f32.
// Requires: composites are decomposed.
// Ensures: the operands that eager's kernel rounds already have values of the dtype that it computes in.
// Keeps: every value, as eager computes it.
Result<Changed> round_numbers(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    constexpr Rule kRules[] = {round_numbers_of};
    return rewrite_nodes(g, Span<const Rule>(kRules));
  });
}

}  // namespace wick::compiler
