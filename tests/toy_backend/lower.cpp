#include <fmt/format.h>

#include <unordered_map>

#include "compiler/support/content_hash.h"
#include "tests/toy_backend/payload.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {

using compiler::Delegate;
using compiler::Graph;
using compiler::Result;
using compiler::TargetContext;
using compiler::Value;

namespace {

uint32_t num_elements(const Value& value) { return static_cast<uint32_t>(compiler::numel(value.sizes()).value()); }

}  // namespace

Result<Delegate> lower(const Graph& graph, const TargetContext& context) {
  Delegate delegate;
  delegate.id = kBackendId;
  Payload payload;
  std::unordered_map<const Value*, uint32_t> values;
  const auto add = [&](const Value* value) { values.emplace(value, static_cast<uint32_t>(values.size())); };
  for (const auto& input : graph.inputs) add(input.value);
  payload.num_inputs = static_cast<uint32_t>(graph.inputs.size());
  for (const Value* constant : graph.constants()) {
    add(constant);
    payload.constants.push_back(compiler::content_hash(constant->data.bytes()));
    delegate.constants.push_back({constant_name(payload.constants.back()), constant->data});
  }
  for (const auto& node : graph.nodes()) {
    payload.num_elements = num_elements(*node->result());
    const auto operands = node->operands();
    payload.nodes.push_back(
        {node->is("aten.add.Tensor") ? Kind::add : Kind::mul, values.at(operands[0]), values.at(operands[1])});
    delegate.origins.push_back(node->origin);
    add(node->result());
  }
  for (const auto& output : graph.outputs) payload.outputs.push_back(values.at(output.value));
  delegate.payload = write_payload(payload);
  delegate.num_nodes = payload.nodes.size();
  const std::string_view mode = context.options.setting(kMode);
  delegate.specs.push_back({kMode.name, {mode.begin(), mode.end()}});
  return delegate;
}

}  // namespace wick::toy
