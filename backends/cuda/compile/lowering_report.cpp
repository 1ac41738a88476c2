// Records for reports which nodes a kernel computes, and why its results are stored.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

std::string Lowering::of_node(const char* does) const { return fmt::format("{} {}", node_->op->name(), does); }

std::string Lowering::who_reads(const Value* value) const {
  const auto output = outputs_.find(value);
  const size_t outputs = output == outputs_.end() ? 0 : output->second.size(), nodes = readers(value) - outputs;
  if (inner_outputs_.count(value)) return "a result of a branch or loop body";
  if (nodes == 0) return outputs == 1 ? "an output" : fmt::format("{} outputs", outputs);
  const std::string reads = fmt::format("{} node{} it", nodes, nodes == 1 ? " reads" : "s read");
  return outputs == 0 ? reads : "an output, and " + reads;
}

std::string Lowering::cost_of(const Tensor& measured) {
  return fmt::format("an element takes {} operation{} and {} load{}", measured.calls, measured.calls == 1 ? "" : "s",
                     measured.loads, measured.loads == 1 ? "" : "s");
}

void Lowering::add_inlined(const Node& node, LoopKernel& kernel) const {
  for (const Value* operand : node.operands()) add_inlined(operand, kernel);
}

void Lowering::add_inlined(const Value* operand, LoopKernel& kernel) const {
  std::vector<const Value*> open = {operand};
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    const auto found = tensors_.find(value);
    if (!value->producer || found == tensors_.end() || found->second.stage != Stage::function) continue;
    const auto is_known = [&](const std::vector<const Node*>& nodes) {
      return std::find(nodes.begin(), nodes.end(), value->producer) != nodes.end();
    };
    if (is_known(kernel.inlined) || is_known(kernel.nodes)) continue;
    kernel.inlined.push_back(value->producer);
    for (const Value* read : value->producer->operands()) open.push_back(read);
  }
}

}  // namespace wick::cuda
