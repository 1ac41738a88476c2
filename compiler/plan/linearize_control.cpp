// Control flow as jumps: branches write their results into one place, loops keep carried values in one place.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/text/text.h"
#include "compiler/plan/linearizer.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

int32_t Linearizer::false_value() { return literal(false); }

namespace {

bool reads_captured(const Node& node, size_t index) {
  const size_t count = captured_operands(node).size();
  return std::any_of(node.graphs.begin(), node.graphs.end(), [&](const auto& graph) {
    if (graph->inputs.size() < count) fail(Code::internal, "a sub-graph has fewer inputs than operands");
    const Value* input = graph->inputs[graph->inputs.size() - count + index].value;
    return input && input->num_uses() > 0;
  });
}

}  // namespace

// The value indices of captured operands; kUnread for those that no sub-graph reads: they are not stored.
std::vector<int32_t> Linearizer::captured_indices(const Node& node) {
  std::vector<int32_t> operands;
  for (size_t i = 0; i < captured_operands(node).size(); ++i)
    operands.push_back(reads_captured(node, i) ? tensor_index(captured_operands(node)[i]) : kUnread);
  return operands;
}

// Whether anything uses the value, apart from control flow that captures it without reading it.
bool Linearizer::is_needed(const Value* value) {
  if (value->num_uses() != value->users().size()) return true;
  return std::any_of(value->users().begin(), value->users().end(), [&](const Node* user) {
    if (user->graphs.empty()) return true;
    const auto operands = user->operands();
    auto others = std::count(operands.begin(), operands.end(), value);
    for (size_t i = 0; i < captured_operands(*user).size(); ++i)
      others -= captured_operands(*user)[i] == value && !reads_captured(*user, i) ? 1 : 0;
    return others > 0;
  });
}

// Emits the nodes of `graph` with its inputs bound to values of the caller; returns the indices of its outputs.
std::vector<int32_t> Linearizer::inline_graph(const Graph& graph, const std::vector<int32_t>& operands) {
  size_t next = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.kind != GraphInput::Kind::value) continue;
    if (next >= operands.size()) fail(Code::internal, "a sub-graph has more inputs than operands");
    if (operands[next] != kUnread) bind(input.value, operands[next]);
    ++next;
  }
  nodes(graph);
  std::vector<int32_t> outputs;
  for (const GraphOutput& output : graph.outputs) {
    switch (output.kind) {
      case GraphOutput::Kind::value:
        outputs.push_back(output.value->type.is_tensor() ? tensor_index(output.value) : scalar_index(output.value));
        break;
      case GraphOutput::Kind::boolean:
      case GraphOutput::Kind::integer: outputs.push_back(int_value(output.integer)); break;
      default: fail(Code::unsupported_model, "a branch or loop body returns something that is not a tensor");
    }
  }
  return outputs;
}

void Linearizer::cond(const Node& node) {
  const OriginPtr origin = node.origin;
  const std::vector<int32_t> operands = captured_indices(node);
  const Arg& predicate = node.arg(size_t{0});
  const int32_t condition =
      predicate.is<Value*>() ? tensor_index(predicate.as<Value*>()) : int_value(predicate.as<Sym>());
  std::vector<int32_t> results;
  for (const Value* result : node.results()) results.push_back(allocate(result));
  auto branch = [&](const Graph& graph) {
    expressions_.emplace_back();
    const std::vector<int32_t> outputs = inline_graph(graph, operands);
    origin_ = origin;
    for (size_t i = 0; i < results.size() && i < outputs.size(); ++i)
      copy_into(results[i], outputs[i], "a branch puts its result where both branches do");
    expressions_.pop_back();
  };
  const size_t to_else = emit_jump(condition);
  branch(*node.graphs[0]);
  const size_t to_end = emit_jump(false_value());
  land(to_else);
  branch(*node.graphs[1]);
  land(to_end);
  for (const Value* result : node.results()) define_symbols(result);
}

// Copies new values over carried ones; those that overlap another carried value are saved first.
void Linearizer::carry(const std::vector<int32_t>& carried, const std::vector<int32_t>& values) {
  std::vector<int32_t> sources = values;
  for (size_t i = 0; i < carried.size(); ++i) {
    for (size_t j = 0; j < carried.size(); ++j) {
      if (i == j || tensor_at(values[i]).storage != tensor_at(carried[j]).storage) continue;
      sources[i] = scratch_like(tensor_at(values[i]), "carried value");
      copy_into(sources[i], values[i], "one carried value takes the old value of another");
      break;
    }
  }
  for (size_t i = 0; i < carried.size(); ++i) {
    if (sources[i] != carried[i]) copy_into(carried[i], sources[i], "a loop carries its value to the next round");
  }
}

void Linearizer::while_loop(const Node& node) {
  const OriginPtr origin = node.origin;
  std::vector<int32_t> carried, operands;
  const Values init = node.tensors("carried_inputs");
  for (size_t i = 0; i < init.size(); ++i) {
    carried.push_back(allocate(node.result(i)));
    copy_into(carried.back(), tensor_index(init[i]), "a loop starts from this value");
  }
  operands = carried;
  const std::vector<int32_t> additional = captured_indices(node);
  operands.insert(operands.end(), additional.begin(), additional.end());
  const auto top = static_cast<uint32_t>(plan_.instructions.size());
  expressions_.emplace_back();
  const std::vector<int32_t> condition = inline_graph(*node.graphs[0], operands);
  if (condition.size() != 1) fail(Code::corrupt_file, "the condition of while_loop returns more than one value");
  const size_t to_end = emit_jump(condition[0]);
  expressions_.back().clear();
  const std::vector<int32_t> values = inline_graph(*node.graphs[1], operands);
  if (values.size() != carried.size())
    fail(Code::corrupt_file, "the body of while_loop returns a different number of values than it takes");
  origin_ = origin;
  carry(carried, values);
  expressions_.pop_back();
  const size_t back = emit_jump(false_value());
  plan_.instructions[back].args[1] = static_cast<int32_t>(top);
  land(to_end);
  loops_.push_back({top, static_cast<uint32_t>(back)});
}

// scan and map: one iteration per element along dimension 0 of the scanned tensors.
void Linearizer::scan(const Node& node, bool with_carry) {
  const OriginPtr origin = node.origin;
  const Values init = with_carry ? node.tensors("init") : Values{};
  const Values xs = node.tensors("xs");
  const Graph& body = *node.graphs[0];
  if (xs.empty() || xs[0]->rank() == 0) fail(Code::unsupported_model, "a scan over nothing");
  std::vector<int32_t> carried, stacked, operands;
  for (size_t i = 0; i < init.size(); ++i) {
    carried.push_back(allocate(node.result(i)));
    copy_into(carried.back(), tensor_index(init[i]), "a scan starts from this value");
  }
  operands = carried;
  std::vector<int32_t> elements;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Value* element = body.inputs[init.size() + i].value;
    elements.push_back(allocate(element));
    operands.push_back(elements.back());
  }
  const std::vector<int32_t> additional = captured_indices(node);
  operands.insert(operands.end(), additional.begin(), additional.end());
  for (size_t i = init.size(); i < node.results().size(); ++i) {
    stacked.push_back(allocate(node.result(i)));
    std::get<PlannedTensor>(plan_.values[static_cast<size_t>(stacked.back())]).dynamic = true;
  }
  const int32_t count = int_value(xs[0]->sizes()[0]);
  const int32_t index = add_value(int64_t{0}), more = add_value(false);
  emit_kernel("executorch_prim::sub.Scalar", {index, index, index});
  const auto top = static_cast<uint32_t>(plan_.instructions.size());
  for (int32_t value : stacked) touch(value, top);
  emit_kernel("executorch_prim::lt.Scalar", {index, count, more});
  const size_t to_end = emit_jump(more);
  for (size_t i = 0; i < xs.size(); ++i) {
    emit_kernel("aten::select_copy.int_out", {tensor_index(xs[i]), literal_int(0), index, elements[i], elements[i]});
  }
  expressions_.emplace_back();
  const std::vector<int32_t> values = inline_graph(body, operands);
  if (values.size() != node.results().size())
    fail(Code::corrupt_file, "the body of a scan returns a different number of values than the scan");
  origin_ = origin;
  for (size_t i = 0; i < stacked.size(); ++i) {
    emit_kernel("executorch_prim::et_copy_index.tensor", {stacked[i], values[carried.size() + i], index});
  }
  carry(carried, {values.begin(), values.begin() + static_cast<ptrdiff_t>(carried.size())});
  expressions_.pop_back();
  emit_kernel("executorch_prim::add.Scalar", {index, literal_int(1), index});
  const size_t back = emit_jump(false_value());
  plan_.instructions[back].args[1] = static_cast<int32_t>(top);
  land(to_end);
  loops_.push_back({top, static_cast<uint32_t>(back)});
}

// A value that a loop reads from outside must stay alive through all iterations.
void Linearizer::extend_loops() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Loop& loop : loops_) {
      for (Storage& storage : plan_.storages) {
        if (!storage.used || storage.first >= loop.first || storage.last < loop.first || storage.last >= loop.last)
          continue;
        storage.last = loop.last;
        changed = true;
      }
    }
  }
}

}  // namespace wick::compiler
