#include <algorithm>

#include "backends/cortex_m/compile/passes/layers/moved_constant.h"
#include "backends/cortex_m/compile/passes/passes.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::TensorType;
using compiler::Value;

namespace {

bool is_int8_constant(const Value& value) { return value.is_constant() && is_int8(value); }

// A view of a constant, computed by the kernels that move elements of any kind.
std::optional<std::vector<int8_t>> moved(const Node& node) {
  const Value& constant = *node.operands()[0];
  const auto result = moved_elements(TensorType{DType::i8, constant.sizes(), {}},
                                     compiler::layout::own(compiler::layout::elements_of<int8_t>(constant)),
                                     [&](Builder& b, Value* x) { return call_on(b, node, x); });
  if (!result) return {};
  const auto bytes = result->data.bytes();
  return std::vector<int8_t>(bytes.begin(), bytes.end());
}

std::optional<std::vector<int8_t>> elements_of_result(const Node& node) {
  if (node.results().size() != 1 || !is_int8(*node.result())) return {};
  const std::vector<Value*> operands = node.operands();
  if (operands.size() != 1 || !operands[0]->is_constant()) return {};
  if (grows_too_much(*operands[0], *node.result())) return {};
  if (node.is("wick.convert.default")) {
    const bool known = is_int8_constant(*operands[0]) || operands[0]->dtype() == DType::f32;
    if (!known) return {};
    std::vector<int8_t> out;
    const Affine q = affine(*node.result());
    for (const double number : numbers(*operands[0])) out.push_back(static_cast<int8_t>(quantize(number, q)));
    return out;
  }
  const bool moves = node.op->has(compiler::kView) && !node.op->has(compiler::kReinterprets);
  const bool same =
      moves && is_int8_constant(*operands[0]) && same_numbers(affine(*operands[0]), affine(*node.result()));
  return same ? moved(node) : std::nullopt;
}

bool fold(Graph& graph, Node& node) {
  auto elements = elements_of_result(node);
  if (!elements) return false;
  Builder b(graph, &node);
  TensorType type = node.result()->tensor();
  type.dim_order.clear();
  Value* folded = b.constant(std::move(type), compiler::layout::own(std::move(*elements)), node.result()->name);
  graph.replace(node.result(), folded);
  graph.erase(&node);
  return true;
}

}  // namespace

// Views of quantized constants, and conversions of these to another scale, become constants.
//   before: const t: i8 q(s, z); v = view(t, [1, 8]); c: i8 q(u, w) = convert(v)
//   after:  const c: i8 q(u, w)
// Requires: quantization is in types. Keeps: every element. A constant that would grow more than fourfold is expanded
// at run time instead.
Result<Changed> fold_elements(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = fold(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
