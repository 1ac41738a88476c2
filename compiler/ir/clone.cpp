#include "compiler/ir/clone.h"

#include <fmt/format.h>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

Value* copy_of(const Value* value, const ValueMap& values) {
  const auto found = values.find(value);
  if (found == values.end()) fail(Code::internal, fmt::format("%{} has no copy", value->name));
  return found->second;
}

class Copier {
 public:
  /// `sources` null: a plain copy, whose values have an empty `stands_for`.
  Copier(Graph& to, ValueMap& values, OriginMap* sources) : to_(to), values_(values), sources_(sources) {}

  void copy_graph(const Graph& from) {
    to_.reserve_names_of(from);
    for (const auto& value : from.values()) copy_entry(*value);
    to_.inputs = from.inputs;
    for (GraphInput& input : to_.inputs) {
      if (input.value) input.value = find(input.value);
    }
    for (const auto& node : from.nodes()) copy(*node);
    for (GraphOutput output : from.outputs) {
      if (output.value) output.value = find(output.value);
      to_.add_output(std::move(output));
    }
    for (const StateUpdate& update : from.updates) to_.add_update(find(update.target), find(update.value));
    to_.ranges = from.ranges;
    to_.delegates = from.delegates;
  }

  Node* copy(const Node& node) {
    Args args;
    for (const Arg& arg : node.args()) args.push_back(copy_arg(arg, values_));
    Node* made = to_.add_node(*node.op, std::move(args), 0);
    made->origin = node.origin;
    made->more_origins = node.more_origins;
    if (sources_) {
      if (!made->origin) made->origin = std::make_shared<Origin>();
      sources_->emplace(made->origin, const_cast<Node*>(&node));
    }
    for (const auto& inner : node.graphs) {
      made->graphs.push_back(std::make_unique<Graph>());
      ValueMap inside;
      Copier(*made->graphs.back(), inside, sources_).copy_graph(*inner);
    }
    for (Value* result : node.results()) add(*result, to_.add_result(made, result->type, result->name));
    return made;
  }

 private:
  void add(const Value& from, Value* to) {
    values_[&from] = to;
    if (!sources_) return;
    to->name = from.name;
    to->stands_for = {const_cast<Value*>(&from)};
  }

  // Copies a value that no node makes: a used constant, a state or an input. The caller goes in creation order, because
  // constants and states keep that order in the program.
  void copy_entry(const Value& value) {
    Value* made = nullptr;
    if (value.kind == ValueKind::constant && value.num_uses() > 0)
      made = to_.add_constant(value.tensor(), value.data, "", value.fqn);
    else if (value.kind == ValueKind::state || value.kind == ValueKind::held)
      made = to_.add_state(value.tensor(), value.data, "", value.fqn);
    else if (value.kind == ValueKind::input)
      made = to_.add_input(value.type, "");
    if (value.kind == ValueKind::held) made->kind = ValueKind::held;
    if (made) add(value, made);
  }

  Value* find(const Value* value) const { return copy_of(value, values_); }

  Graph& to_;
  ValueMap& values_;
  OriginMap* sources_;
};

}  // namespace

std::unique_ptr<Graph> clone(Graph& graph, OriginMap& sources) {
  auto copy = std::make_unique<Graph>();
  ValueMap values;
  Copier(*copy, values, &sources).copy_graph(graph);
  return copy;
}

Arg copy_arg(const Arg& arg, const ValueMap& values) {
  if (arg.is<Value*>()) return copy_of(arg.as<Value*>(), values);
  if (!arg.is<Values>()) return arg;
  Values copies;
  for (const Value* value : arg.as<Values>()) copies.push_back(value ? copy_of(value, values) : nullptr);
  return copies;
}

Node* copy_node(const Node& node, Graph& graph, ValueMap& values) { return Copier(graph, values, nullptr).copy(node); }

}  // namespace wick::compiler
