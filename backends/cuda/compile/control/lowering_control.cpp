// Lowers conditions and loops: the kernels of their graphs, and the places of results and carried values.
#include <algorithm>
#include <utility>

#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/compile/ops/arithmetic.h"

namespace wick::cuda {

using compiler::Graph;
using compiler::Values;

void Lowering::mark(ControlMark::Kind kind, uint32_t condition) {
  ControlMark made;
  made.kind = kind;
  made.at = out_.kernels.size();
  made.condition = condition;
  made.node = node_;
  out_.marks.push_back(std::move(made));
}

uint32_t Lowering::new_buffer(DType dtype, Sym elements) {
  KernelBuffer buffer;
  buffer.dtype = dtype;
  buffer.elements = std::move(elements);
  out_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(out_.buffers.size() - 1);
}

// Lowers the nodes of a graph. Its outputs stay functions, unfinished or stored. If `carried` is not empty, the first
// inputs are in these buffers and become the first outputs, so writes to them are in place.
void Lowering::lower_graph(const Graph& graph, const std::vector<uint32_t>& carried) {
  const Node* const outer = node_;
  const Graph* const outer_graph = std::exchange(lowered_, &graph);
  for (const compiler::GraphOutput& output : graph.outputs) ++inner_outputs_[output.value];
  std::vector<compiler::StateUpdate> updates;
  for (size_t i = 0; i < carried.size(); ++i) updates.push_back({graph.inputs[i].value, graph.outputs[i].value});
  StateWrites writes = find_state_writes(graph, updates, !options_.materializes_views);
  writes_.over.merge(writes.over);
  writes_.through_view.merge(writes.through_view);
  writes_.reshaped.merge(writes.reshaped);
  writes_.states.merge(writes.states);
  for (const Node* node : writes.order) lower_node(*node);
  for (const compiler::GraphOutput& output : graph.outputs) {
    if (output.value->is_constant() && !tensors_.count(output.value)) add_constant(output.value);
  }
  node_ = outer;
  lowered_ = outer_graph;
}

// An input of a graph inside a node is the operand that the node passes. That is in memory or constant.
void Lowering::bind(const Value* inner, const Value* outer) {
  const Tensor& known = tensor(outer);
  Tensor& made = tensors_[inner];
  made.stage = known.stage;
  made.element = known.element;
  made.buffer = known.buffer;
  made.offset = known.offset;
  made.strides = known.strides;
  made.calls = known.calls;
  made.loads = known.loads;
  made.narrow = known.narrow;
}

void Lowering::store_for_graphs(const std::vector<Value*>& operands) {
  for (const Value* operand : operands) {
    if (!operand->is_constant()) store_because(operand, of_node("passes it to its graphs"));
  }
}

// `first`: the offset in the buffer at which the value begins; null: 0.
void Lowering::write_to(uint32_t buffer, const Value* value, ExpressionPtr first) {
  Tensor& found = tensor(value);
  const auto offset_of = [&](const Indices& at) {
    const ExpressionPtr offset = join(at, value->sizes());
    return first ? pool().add(first, offset) : offset;
  };
  if (found.stage == Stage::unfinished) {
    Unfinished open = std::move(*found.unfinished);
    auto& stores = open.per_column ? open.kernel.column_stores : open.kernel.row_stores;
    stores.push_back({buffer, value->dtype(), offset_of(open.at), open.element, nullptr});
    set_stored(value, buffer);
    open.kernel.why = of_node("keeps it");
    emit(std::move(open.kernel));
    return;
  }
  Draft map = loops_over(value->sizes(), {});
  map.kernel.row_stores.push_back({buffer, value->dtype(), offset_of(map.rows), element(value, map.rows), nullptr});
  if (found.stage == Stage::function && value->producer) {
    map.kernel.nodes.push_back(value->producer);
    add_inlined(*value->producer, map.kernel);
  } else {
    map.kernel.nodes.push_back(node_);
  }
  map.kernel.why = of_node("keeps it");
  emit(std::move(map.kernel));
}

void Lowering::write_number(uint32_t buffer, ExpressionPtr number) {
  Draft map = loops_over({}, {});
  map.kernel.row_stores.push_back({buffer, out_.buffers[buffer].dtype, pool().index(0), number, nullptr});
  map.kernel.nodes.push_back(node_);
  map.kernel.why = of_node("counts its rounds");
  emit(std::move(map.kernel));
}

// A buffer whose first byte is the condition.
uint32_t Lowering::condition_of(const Value* value) {
  const Tensor& found = tensor(value);
  if (found.stage == Stage::stored && found.offset.is(0)) return found.buffer;
  const uint32_t buffer = new_buffer(DType::boolean, 1);
  write_to(buffer, value);
  return buffer;
}

void Lowering::lower_cond(const Node& node) {
  const Values operands = node.tensors("operands");
  store_for_graphs(operands);
  const uint32_t condition = condition_of(node.tensor("pred"));
  std::vector<uint32_t> buffers;
  for (const Value* result : node.results()) buffers.push_back(place(result));
  mark(ControlMark::Kind::choose, condition);
  for (const auto& graph : node.graphs) {
    if (graph != node.graphs[0]) mark(ControlMark::Kind::otherwise);
    for (size_t i = 0; i < operands.size(); ++i) bind(graph->inputs[i].value, operands[i]);
    lower_graph(*graph);
    for (size_t i = 0; i < buffers.size(); ++i) write_to(buffers[i], graph->outputs[i].value);
  }
  mark(ControlMark::Kind::end);
}

// Stores the initial values of carried values. The place of a carried value is the mutable buffer that it is written
// over, or a new buffer. Other operands of the graphs must be in memory already: a kernel that writes an initial value
// directly to its place stores it nowhere else.
std::vector<uint32_t> Lowering::begin_carried(const Node& node, const std::vector<Value*>& initial) {
  std::vector<uint32_t> buffers;
  for (size_t i = 0; i < initial.size(); ++i) {
    if (is_in_place(node.result(i))) {
      keep_what_is_read(initial[i], indices_of(initial[i]->sizes()), nullptr);
      buffers.push_back(place_over(node.result(i)));
      continue;
    }
    buffers.push_back(place(node.result(i)));
    write_to(buffers[i], initial[i]);
  }
  return buffers;
}

void Lowering::bind_carried(const Graph& graph, const std::vector<uint32_t>& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    set_stored(graph.inputs[i].value, buffers[i]);
    states_[buffers[i]] = graph.inputs[i].value;
  }
}

bool Lowering::reads_buffer(const Value* value, uint32_t buffer) {
  const Tensor& found = tensor(value);
  if (found.stage == Stage::stored) return found.buffer == buffer;
  std::vector<ExpressionPtr> roots;
  if (found.stage == Stage::unfinished) {
    roots = expressions_of(found.unfinished->kernel);
    roots.push_back(found.unfinished->element);
  } else {
    roots.push_back(element(value, indices_of(value->sizes())));
  }
  bool reads = false;
  for_each(std::move(roots),
           [&](ExpressionPtr e) { reads = reads || (e->kind == ExpressionKind::load && e->buffer == buffer); });
  return reads;
}

// Whether the next value of a carried one is a function whose elements read no element of the old value but their own,
// and no other carried value that is yet to be computed reads the old one.
bool Lowering::may_write_in_place(const Graph& body, const std::vector<uint32_t>& buffers, size_t index) {
  const Value* value = body.outputs[index].value;
  if (tensor(value).stage != Stage::function) return false;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Value* other = body.outputs[i].value;
    if (i != index && (other == value || reads_buffer(other, buffers[index]))) return false;
  }
  const Indices at = indices_of(value->sizes());
  const ExpressionPtr own = join(at, value->sizes());
  bool fits = true;
  for_each({element(value, at)}, [&](ExpressionPtr e) {
    const bool reads = e->kind == ExpressionKind::load && e->buffer == buffers[index];
    fits = fits && (!reads || e->args[0] == own);
  });
  return fits;
}

// Ends a round: the first outputs of the body become the carried values. Except for those that may be written in place,
// all are computed before the first old value is overwritten.
void Lowering::carry(const Graph& body, const std::vector<uint32_t>& buffers) {
  std::vector<size_t> in_place, moved;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Value* value = body.outputs[i].value;
    if (value == body.inputs[i].value || writes_.states.count(body.inputs[i].value)) continue;
    (may_write_in_place(body, buffers, i) ? in_place : moved).push_back(i);
  }
  std::vector<uint32_t> from(buffers.size());
  for (const size_t i : moved) {
    const Value* value = body.outputs[i].value;
    const Tensor& found = tensor(value);
    const bool is_carried = std::find(buffers.begin(), buffers.end(), found.buffer) != buffers.end();
    if (found.stage == Stage::stored && !is_carried) continue;
    from[i] = new_buffer(value->dtype(), numel(value->sizes()));
    write_to(from[i], value);
  }
  for (const size_t i : in_place) write_to(buffers[i], body.outputs[i].value);
  for (const size_t i : moved) {
    const Value* value = body.outputs[i].value;
    if (from[i] != 0) set_stored(value, from[i]);
    write_to(buffers[i], value);
  }
}

void Lowering::lower_while(const Node& node) {
  const Values more = node.tensors("additional_inputs");
  store_for_graphs(more);
  const std::vector<uint32_t> buffers = begin_carried(node, node.tensors("carried_inputs"));
  const auto bind_inputs = [&](const Graph& graph) {
    bind_carried(graph, buffers);
    for (size_t i = 0; i < more.size(); ++i) bind(graph.inputs[buffers.size() + i].value, more[i]);
  };
  mark(ControlMark::Kind::loop);
  bind_inputs(*node.graphs[0]);
  lower_graph(*node.graphs[0]);
  mark(ControlMark::Kind::body, condition_of(node.graphs[0]->outputs[0].value));
  bind_inputs(*node.graphs[1]);
  lower_graph(*node.graphs[1], buffers);
  carry(*node.graphs[1], buffers);
  mark(ControlMark::Kind::end);
}

// A round for each element along dimension 0 of what is scanned. The number of the round is in memory.
void Lowering::lower_scan(const Node& node, size_t num_carried) {
  const Graph& body = *node.graphs[0];
  const Values xs = node.tensors("xs"), more = node.tensors("additional_inputs");
  store_for_graphs(xs);
  store_for_graphs(more);
  const std::vector<uint32_t> buffers = begin_carried(node, num_carried > 0 ? node.tensors("init") : Values());
  const uint32_t round = new_buffer(DType::i64, 1);
  std::vector<uint32_t> stacked;
  for (size_t i = num_carried; i < node.results().size(); ++i) stacked.push_back(place(node.result(i)));
  write_number(round, pool().constant(0, 0, ScalarType::i64));
  mark(ControlMark::Kind::repeat);
  out_.marks.back().rounds = xs[0]->sizes()[0];
  out_.marks.back().kept = stacked;
  bind_carried(body, buffers);
  const ExpressionPtr number = pool().load(round, DType::i64, pool().index(0));
  const ExpressionPtr index = pool().cast(number, ScalarType::index);
  for (size_t i = 0; i < xs.size(); ++i) {
    const Value* x = xs[i];
    tensors_[body.inputs[num_carried + i].value].element = [this, x, index](const Indices& at) {
      Indices whole = {index};
      whole.insert(whole.end(), at.begin(), at.end());
      return element(x, whole);
    };
  }
  for (size_t i = 0; i < more.size(); ++i) bind(body.inputs[num_carried + xs.size() + i].value, more[i]);
  lower_graph(body, buffers);
  for (size_t i = 0; i < stacked.size(); ++i) {
    const Value* value = body.outputs[num_carried + i].value;
    write_to(stacked[i], value, pool().multiply(index, pool().index(numel(value->sizes()))));
  }
  carry(body, buffers);
  write_number(round, add(pool(), number, pool().constant(0, 1, ScalarType::i64)));
  mark(ControlMark::Kind::end);
}

}  // namespace wick::cuda
