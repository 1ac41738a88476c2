#include "backends/cortex_m/compile/passes/fold_elements.h"

#include <algorithm>

#include "backends/cortex_m/compile/quantized.h"
#include "compiler/analysis/evaluate.h"
#include "compiler/ir/decompose.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/failure.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::TensorType;
using compiler::Value;

namespace {

constexpr int64_t kMaxGrowth = 4;  // of a constant that is expanded

bool is_int8_constant(const Value& value) { return value.is_constant() && is_int8(value); }

int64_t count_of(const Value& value) { return is_static(value.sizes()) ? numel(value.sizes()).value() : -1; }

// A view of a constant, by the kernels that move any elements.
std::optional<std::vector<int8_t>> moved(const Node& node) {
  Graph graph;
  Builder b(graph, nullptr);
  Args args = node.args();
  args[0] = constant(b, node.operands()[0]->sizes(), compiler::layout::elements_of<int8_t>(*node.operands()[0]), "x");
  compiler::GraphOutput output;
  output.value = b.call(node.op->name(), std::move(args));
  graph.add_output(std::move(output));
  const auto has_kernel = [](const Node& inner) { return compiler::can_evaluate(inner); };
  compiler::throw_if_error(compiler::decompose(graph, has_kernel));
  compiler::HostValues values;
  if (!compiler::evaluate_graph(graph, values).ok()) return {};
  const auto& result = std::get<compiler::HostTensor>(values.at(graph.outputs[0].value));
  const auto bytes = result.data.bytes();
  return std::vector<int8_t>(bytes.begin(), bytes.end());
}

std::optional<std::vector<int8_t>> elements_of_result(const Node& node) {
  if (node.results().size() != 1 || !is_int8(*node.result())) return {};
  const std::vector<Value*> operands = node.operands();
  if (operands.size() != 1 || !operands[0]->is_constant()) return {};
  const int64_t before = count_of(*operands[0]), after = count_of(*node.result());
  if (before < 0 || after < 0 || after > kMaxGrowth * before) return {};
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

// Views of quantized constants, and their conversion to another scale, are constants.
//   before: const t: i8 q(s, z); v = view(t, [1, 8]); c: i8 q(u, w) = convert(v)
//   after:  const c: i8 q(u, w)
// Requires: quantization is in types. Keeps: every element. Constants that grow more than fourfold stay expanded at run
// time.
Result<Changed> fold_elements(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    bool changed = false;
    for (Node* node : g.node_list()) changed = fold(g, *node) || changed;
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
