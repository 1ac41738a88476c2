#include "compiler/import/graph/mask_bounds.h"

#include "compiler/import/graph/graph_reader.h"
#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

const pt2::TensorMeta* meta_of(const pt2::Graph& graph, const pt2::Argument& arg) {
  const auto* tensor = std::get_if<pt2::TensorArg>(&arg);
  const auto it = tensor ? graph.tensor_values.find(tensor->name) : graph.tensor_values.end();
  return it == graph.tensor_values.end() ? nullptr : &it->second;
}

const pt2::TensorMeta* operand(const pt2::Graph& graph, const pt2::Node& node, std::string_view name) {
  for (const pt2::NamedArgument& input : node.inputs) {
    if (input.name == name) return meta_of(graph, input.arg);
  }
  return nullptr;
}

Sizes sizes_of(const pt2::TensorMeta& meta) {
  Sizes sizes;
  for (const pt2::SymInt& size : meta.sizes) sizes.push_back(GraphReader::to_sym(size));
  return sizes;
}

// The number of elements after broadcasting; nullopt if the sizes do not broadcast, an error that the node itself
// reports.
std::optional<Sym> elements(const Sizes& a, const Sizes& b) {
  try {
    return numel(broadcast(a, b));
  } catch (const Failure&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Sym> widen_mask_bounds(const pt2::Graph& graph, SymRanges& ranges) {
  std::vector<Sym> untrue;
  for (const pt2::Node& node : graph.nodes) {
    const OpDef* def = find_op(op_name(node.target));
    if (!def || !def->has(kDataDependent) || def->parsed->find("mask") < 0 || node.outputs.size() != 1) continue;
    const pt2::TensorMeta *self = operand(graph, node, "self"), *mask = operand(graph, node, "mask");
    const pt2::TensorMeta* selected = meta_of(graph, node.outputs[0]);
    if (!self || !mask || !selected || selected->sizes.size() != 1) continue;
    const Sym count = GraphReader::to_sym(selected->sizes[0]);
    const auto range = ranges.find(count.text());
    if (count.symbol_name().empty() || range == ranges.end() || range->second.max == kUnbounded) continue;
    const std::optional<Sym> broadcast_elements = elements(sizes_of(*self), sizes_of(*mask));
    const int64_t most = broadcast_elements ? range_of(*broadcast_elements, ranges).max : 0;
    if (most <= range->second.max) continue;
    untrue.push_back(make_sym(SymOp::le, {count, Sym(range->second.max)}));
    range->second.max = most;
  }
  return untrue;
}

}  // namespace wick::compiler
