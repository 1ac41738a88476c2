#include "backends/cuda/compile/layout/channels_last.h"

#include <vector>

#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

using compiler::Node;
using compiler::Sym;
using compiler::Value;

// Channels are a multiple of what 16 bytes hold in any dtype, and at least the steps of the smallest tile.
constexpr int64_t kMultiple = 8, kFewestChannels = 16;

bool can_be_channels_last(const Value* value) {
  if (!value->type.is_tensor() || value->is_constant() || value->rank() < 3 || value->rank() > 5) return false;
  const Sym& channels = value->sizes()[1];
  return channels.is_const() && channels.value() % kMultiple == 0 && channels.value() >= kFewestChannels;
}

bool spreads(const Node& node) {
  const OpRule* rule = find_rule(node);
  return node.op->has(compiler::kPointwise) || (rule && rule->keeps_dimensions);
}

}  // namespace

bool gains_from_channels_last(const Node& node) {
  if (!node.is("aten.convolution.default")) return false;
  const Value *x = node.tensor("input"), *w = node.tensor("weight");
  return node.integer("groups").is(1) && w->is_constant() && w->dtype() == x->dtype() &&
         w->tensor().dim_order.empty() && can_be_channels_last(x) && is_floating(x->dtype()) &&
         x->dtype() != DType::f64;
}

std::set<const Value*> find_channels_last(const compiler::Graph& graph) {
  std::set<const Value*> found;
  std::vector<const Value*> open;
  const auto add = [&](const Value* value, size_t rank) {
    if (can_be_channels_last(value) && value->rank() == rank && found.insert(value).second) open.push_back(value);
  };
  const auto add_all = [&](const Node& node, size_t rank) {
    for (const Value* operand : node.operands()) add(operand, rank);
    for (const Value* result : node.results()) add(result, rank);
  };
  for (const auto& node : graph.nodes()) {
    if (gains_from_channels_last(*node)) add_all(*node, node->tensor("input")->rank());
  }
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (value->producer && spreads(*value->producer)) add_all(*value->producer, value->rank());
    for (const Node* user : value->users()) {
      if (spreads(*user)) add_all(*user, value->rank());
    }
  }
  return found;
}

std::vector<int64_t> channels_last_order(size_t rank) {
  std::vector<int64_t> order = {0};
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  order.push_back(1);
  return order;
}

}  // namespace wick::cuda
