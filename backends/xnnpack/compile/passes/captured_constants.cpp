#include "backends/xnnpack/compile/passes/passes.h"

namespace wick::xnnpack {

using compiler::Changed;
using compiler::Graph;
using compiler::Result;
using compiler::Value;

namespace {

bool bind(Graph& body, Span<Value* const> operands) {
  if (body.inputs.size() < operands.size()) return false;
  bool changed = false;
  const size_t first = body.inputs.size() - operands.size();
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value* operand = operands[i];
    Value* input = body.inputs[first + i].value;
    if (!operand || !operand->is_constant() || !input || input->num_uses() == 0 || input->type != operand->type)
      continue;
    body.replace(input, body.add_constant(operand->tensor(), operand->data, operand->name, operand->fqn));
    changed = true;
  }
  return changed;
}

// From the outermost body inwards: an inner body may capture what an outer one has captured.
bool bind_all(Graph& graph) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (const auto& body : node->graphs) {
      if (bind(*body, captured_operands(*node))) changed = true;
      if (bind_all(*body)) changed = true;
    }
  }
  return changed;
}

}  // namespace

// Makes constants that a branch or the body of a loop captures constants of its own, so that its layers have weights.
//   before: while_loop([x], [w]) graph(x', w') { return linear(x', w') }
//   after:  while_loop([x], [w]) graph(x', w') { return linear(x', w) }
// Ensures: no graph of control flow reads an input that is the same constant in each run. The inputs stay.
// Keeps: all values.
Result<Changed> captured_constants(Graph& graph) { return Changed(bind_all(graph)); }

}  // namespace wick::xnnpack
