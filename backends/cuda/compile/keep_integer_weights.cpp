#include "backends/cuda/compile/keep_integer_weights.h"

#include "compiler/ir/quantization.h"
#include "compiler/passes/rewrite.h"

namespace wick::cuda {
namespace {

using compiler::Builder;
using compiler::Node;
using compiler::Value;

// Constant folding may fold smaller ones.
constexpr size_t kFewestElements = 1024;

bool is_weight(const Value* value) {
  return value && value->is_constant() && (value->dtype() == DType::i8 || value->dtype() == DType::u8) &&
         value->tensor().dim_order.empty() && value->data.size_bytes() >= kFewestElements;
}

// The operand of a conversion to a floating dtype; null if it is no such conversion.
const Value* converted(const Value* value) {
  const Node* node = value ? value->producer : nullptr;
  const bool casts = node && compiler::is_one_of(*node, {"aten._to_copy.default", "aten.to.dtype"});
  const DType dtype = casts ? value->dtype() : DType::f64;
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 ? node->tensor_or_null(0) : nullptr;
}

// The matrix whose transpose `value` is; null if there is none.
Value* transposed(const Value* value) {
  const Node* node = value ? value->producer : nullptr;
  if (!node || !node->op->has(compiler::kPermutes) || value->rank() != 2) return nullptr;
  if (node->is(compiler::Movement::permute) && node->static_ints("dims")[0] % 2 == 0) return nullptr;
  return node->tensor_or_null(0);
}

Value* dequantized(Builder& b, Value* weight, DType dtype) {
  int64_t low = 0, high = 0;
  compiler::integer_range(weight->dtype(), &low, &high);
  Value* one = b.full({1}, 1.0, DType::f32);
  return b.call("torchao.dequantize_affine",
                {weight, weight->sizes(), one, compiler::None{}, weight->dtype(), low, high, dtype});
}

Value* as_linear(Builder& b, Node& node) {
  if (!node.is("aten.mm.default")) return nullptr;
  Value* weight = transposed(converted(node.tensor("mat2")));
  if (!is_weight(weight)) return nullptr;
  return b.call("aten.linear",
                {node.tensor("self"), dequantized(b, weight, node.tensor("mat2")->dtype()), compiler::None{}});
}

Value* as_dequantized(Builder& b, Node& node) {
  if (node.results().size() != 1 || !is_weight(converted(node.result()))) return nullptr;
  return dequantized(b, node.tensor_or_null(0), node.result()->dtype());
}

constexpr compiler::Rule kRules[] = {as_linear, as_dequantized};

}  // namespace

compiler::Result<compiler::Changed> keep_integer_weights(compiler::Graph& graph) {
  return compiler::for_each_graph(
      graph, [](compiler::Graph& g) { return compiler::rewrite_nodes(g, Span<const compiler::Rule>(kRules)); });
}

}  // namespace wick::cuda
