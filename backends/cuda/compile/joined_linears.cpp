#include "backends/cuda/compile/joined_linears.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/ir/op_def.h"

namespace wick::cuda {
namespace {

using compiler::ConstantData;
using compiler::Graph;
using compiler::Node;
using compiler::Value;

/// Rows of several constants, one after the other.
class RowsOfParts : public compiler::ComputedRows {
 public:
  RowsOfParts(std::vector<ConstantData> parts, size_t row_bytes)
      : ComputedRows(count(parts, row_bytes), row_bytes, depth(parts)), parts_(std::move(parts)) {}

  void compute(size_t first, size_t count, uint8_t* out) const override {
    for (const ConstantData& part : parts_) {
      const size_t rows = part.size_bytes() / row_bytes();
      if (first < rows && count > 0) {
        const size_t taken = std::min(count, rows - first);
        part.read(first * row_bytes(), taken * row_bytes(), out);
        out += taken * row_bytes();
        count -= taken;
        first = rows;
      }
      first -= rows;
    }
  }

 private:
  static size_t count(const std::vector<ConstantData>& parts, size_t row_bytes) {
    size_t bytes = 0;
    for (const ConstantData& part : parts) bytes += part.size_bytes();
    return bytes / row_bytes;
  }
  static size_t depth(const std::vector<ConstantData>& parts) {
    size_t deepest = 0;
    for (const ConstantData& part : parts) deepest = std::max(deepest, part.depth());
    return deepest + 1;
  }
  const std::vector<ConstantData> parts_;
};

bool is_plain_constant(const Value* value, size_t rank, DType dtype) {
  return value->is_constant() && value->rank() == rank && value->dtype() == dtype &&
         value->tensor().dim_order.empty() && !value->is_quantized();
}

/// The only node that computes with a value, possibly after nodes that only move its elements; null if there are
/// several.
const Node* only_computing_reader(const Value* value) {
  while (value->num_uses() == 1 && value->users().size() == 1) {
    const Node* reader = value->users()[0];
    const bool moves = reader->op->has(compiler::kView | compiler::kMoves) && reader->results().size() == 1;
    if (!moves) return reader;
    value = reader->result();
  }
  return nullptr;
}

/// Whether the reader of a value would become part of the kernel that computes it.
bool takes_in_reader(const Value* value) {
  const Node* reader = only_computing_reader(value);
  return reader && reader->op->has(compiler::kPointwise);
}

bool is_output(const Graph& graph, const Value* value) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](const compiler::GraphOutput& output) { return output.value == value; });
}

class LinearFinder {
 public:
  void find(const Graph& graph) {
    join_in(graph);
    for (const auto& node : graph.nodes()) {
      for (const auto& inner : node->graphs) {
        bind(*node, *inner);
        find(*inner);
      }
    }
  }
  std::map<const Node*, std::shared_ptr<const JoinedLinears>> out;

 private:
  // Notes which inputs of a graph inside a node always equal an operand of the node: all but carried values and
  // elements of what is scanned.
  void bind(const Node& node, const Graph& graph) {
    const bool is_cond = node.is("higher_order.cond.default");
    const compiler::Values more = node.tensors(is_cond ? "operands" : "additional_inputs");
    for (size_t i = 0; i < more.size() && more.size() <= graph.inputs.size(); ++i)
      bound_[graph.inputs[graph.inputs.size() - more.size() + i].value] = origin(more[i]);
  }

  const Value* origin(const Value* value) const {
    const auto found = value ? bound_.find(value) : bound_.end();
    return found == bound_.end() ? value : found->second;
  }

  bool is_candidate(const Node& node) const {
    if (!node.is("aten.linear.default")) return false;
    const Value *weight = origin(node.tensor("weight")), *bias = origin(node.optional_tensor("bias"));
    const DType dtype = node.result()->dtype();
    return node.tensor("input")->dtype() == dtype && is_plain_constant(weight, 2, dtype) && !weight->data.empty() &&
           (!bias || is_plain_constant(bias, 1, dtype)) && node.result()->num_uses() > 0;
  }

  void join_in(const Graph& graph) {
    std::vector<std::pair<const Value*, JoinedLinears>> groups;  // in the order of the graph
    for (const auto& node : graph.nodes()) {
      if (!is_candidate(*node) || is_output(graph, node->result()) || takes_in_reader(node->result())) continue;
      const Value* const operand = node->tensor("input");
      auto group =
          std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == operand; });
      if (group == groups.end()) group = groups.insert(groups.end(), {operand, {}});
      group->second.members.push_back(node.get());
      group->second.weights.push_back(origin(node->tensor("weight")));
      group->second.biases.push_back(origin(node->optional_tensor("bias")));
      group->second.has_bias = group->second.has_bias || group->second.biases.back();
    }
    for (auto& [operand, group] : groups) {
      const size_t count = group.members.size();
      if (count < 2) continue;
      group.why = fmt::format("{} linear layers read one operand: a launch instead of {}", count, count);
      const auto joined = std::make_shared<const JoinedLinears>(std::move(group));
      for (const Node* member : joined->members) out[member] = joined;
    }
  }

  std::map<const Value*, const Value*> bound_;  // inputs of graphs inside nodes
};

}  // namespace

std::map<const Node*, std::shared_ptr<const JoinedLinears>> find_joined_linears(const Graph& graph) {
  LinearFinder finder;
  finder.find(graph);
  return std::move(finder.out);
}

ConstantData joined_weights(const JoinedLinears& joined) {
  std::vector<ConstantData> parts;
  size_t row_bytes = 0;
  for (const Value* weight : joined.weights) {
    parts.push_back(weight->data);
    row_bytes = weight->data.size_bytes() / static_cast<size_t>(weight->sizes()[0].value());
  }
  return {std::make_shared<const RowsOfParts>(std::move(parts), row_bytes), {}};
}

ConstantData joined_biases(const JoinedLinears& joined) {
  std::vector<ConstantData> parts;
  const size_t element_bytes = dtype_size_bytes(joined.members[0]->result()->dtype());
  for (size_t i = 0; i < joined.members.size(); ++i) {
    if (joined.biases[i]) {
      parts.push_back(joined.biases[i]->data);
      continue;
    }
    const auto outputs = static_cast<size_t>(joined.weights[i]->sizes()[0].value());
    auto zeros = std::make_shared<std::vector<uint8_t>>(outputs * element_bytes);
    for (size_t at = element_bytes - 1; at < zeros->size(); at += element_bytes) (*zeros)[at] = 0x80;  // the sign
    const Span<const uint8_t> bytes(zeros->data(), zeros->size());
    parts.emplace_back(bytes, zeros);
  }
  return {std::make_shared<const RowsOfParts>(std::move(parts), element_bytes), {}};
}

}  // namespace wick::cuda
