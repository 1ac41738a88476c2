// LSTM, GRU and plain RNN. Layers and directions are unrolled, and so are time steps, unless their number is known only
// at run time: then they become a scan.
#include "compiler/ir/decompose.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

enum class CellKind { lstm, gru, tanh, relu };

struct Cell {
  Value *w_ih = nullptr, *w_hh = nullptr, *b_ih = nullptr, *b_hh = nullptr, *projection = nullptr;
};
struct State {
  Value* h;
  Value* c = nullptr;  // LSTM only
};

Value* linear(Builder& b, Value* x, Value* weight, Value* bias) {
  return b.call("aten.linear", {x, weight, bias ? Arg(bias) : Arg(None{})});
}

// `count` pieces of the last dimension, each `width` long.
Values gates(Builder& b, Value* x, int64_t count, const Sym& width) {
  require(x->rank() > 0, "the gates of a cell are a scalar");
  const auto dim = static_cast<int64_t>(x->rank()) - 1;
  Values out;
  if (!width.is_const() || !x->sizes().back().is_const()) {
    Sizes split = x->sizes();
    split.back() = count;
    split.push_back(width);
    Value* pieces = b.reshape(x, std::move(split));
    for (int64_t i = 0; i < count; ++i) out.push_back(b.select(pieces, dim, i));
    return out;
  }
  require(x->sizes().back() == width * Sym(count), "a weight of a recurrent layer has a different size than its state");
  for (int64_t i = 0; i < count; ++i) out.push_back(b.slice(x, dim, width * Sym(i), width * Sym(i + 1)));
  return out;
}

// One step; `projected` is x @ w_ih^T + b_ih.
State step(Compose& c, CellKind kind, const Cell& cell, Value* projected, const State& before) {
  Builder& b = c.b;
  Value* recurrent = linear(b, before.h, cell.w_hh, cell.b_hh);
  if (kind == CellKind::tanh) return {c.tanh(c.add(projected, recurrent))};
  if (kind == CellKind::relu) return {c.unary("aten.relu", c.add(projected, recurrent))};
  if (kind == CellKind::gru) {  // r, z, n
    const Sym width = before.h->sizes().back();
    const Values x = gates(b, projected, 3, width), h = gates(b, recurrent, 3, width);
    Value* reset = c.sigmoid(c.add(x[0], h[0]));
    Value* update = c.sigmoid(c.add(x[1], h[1]));
    Value* fresh = c.tanh(c.add(x[2], c.mul(h[2], reset)));
    return {c.add(c.mul(c.sub(before.h, fresh), update), fresh)};
  }
  const Values g = gates(b, c.add(projected, recurrent), 4, before.c->sizes().back());  // i, f, g, o
  Value* cell_state = c.add(c.mul(c.sigmoid(g[1]), before.c), c.mul(c.sigmoid(g[0]), c.tanh(g[2])));
  Value* hidden = c.mul(c.sigmoid(g[3]), c.tanh(cell_state));
  if (cell.projection) hidden = linear(b, hidden, cell.projection, nullptr);
  return {hidden, cell_state};
}

constexpr int64_t kMaxUnrolled = 4096;

// The body of a scan. Inputs: the state, one step of `projected`, the weights. Outputs: the new state, and h once more.
std::unique_ptr<Graph> step_graph(Builder& b, CellKind kind, const Cell& cell, Value* projected, const State& before) {
  auto graph = std::make_unique<Graph>();
  graph->ranges = b.graph().ranges;
  auto input = [&](Value* like, const char* name) -> Value* {
    if (!like) return nullptr;
    return graph->add_input(Type::of(like->dtype(), like->sizes()), name);
  };
  const State state{input(before.h, "h"), input(before.c, "c")};
  Sizes element(projected->sizes().begin() + 1, projected->sizes().end());
  Value* x = graph->add_input(Type::of(projected->dtype(), std::move(element)), "x");
  const Cell inner{nullptr, input(cell.w_hh, "w_hh"), nullptr, input(cell.b_hh, "b_hh"),
                   input(cell.projection, "projection")};
  Builder builder(*graph, nullptr, b.origin());
  Compose c(builder);
  const State after = step(c, kind, inner, x, state);
  for (Value* value : {after.h, after.c, after.h}) {
    if (!value) continue;
    GraphOutput output;
    output.value = value;
    graph->add_output(std::move(output));
  }
  throw_if_error(decompose(*graph, nullptr));
  return graph;
}

Value* scan_direction(Builder& b, Node& node, CellKind kind, const Cell& cell, Value* projected, State* state) {
  Values init{state->h}, extra{cell.w_hh};
  if (state->c) init.push_back(state->c);
  if (cell.b_hh) extra.push_back(cell.b_hh);
  if (cell.projection) extra.push_back(cell.projection);
  const size_t results = init.size() + 1;
  Node* scan = b.graph().add_node(op("higher_order.scan.default"), {init, Values{projected}, extra}, results, &node);
  scan->origin = b.origin();
  scan->graphs.push_back(step_graph(b, kind, cell, projected, *state));
  scan->op->infer(*scan);
  state->h = scan->result(0);
  if (state->c) state->c = scan->result(1);
  return scan->result(results - 1);
}

// x: [time, batch, features]. Returns the stacked outputs and the last state.
Value* run_direction(Compose& c, Node& node, CellKind kind, const Cell& cell, Value* x, State* state, bool reverse) {
  Builder& b = c.b;
  Value* projected = linear(b, x, cell.w_ih, cell.b_ih);
  const Sym steps = x->sizes()[0];
  require(!steps.is(0), "a recurrent layer over no steps");
  if (!steps.is_const() || steps.value() > kMaxUnrolled) {
    auto in_order = [&](Value* v) { return reverse ? b.call("aten.flip", {v, Ints{0}}) : v; };
    return in_order(scan_direction(b, node, kind, cell, in_order(projected), state));
  }
  Values outputs(static_cast<size_t>(steps.value()));
  for (int64_t i = 0; i < steps.value(); ++i) {
    const int64_t at = reverse ? steps.value() - 1 - i : i;
    *state = step(c, kind, cell, b.select(projected, 0, at), *state);
    outputs[static_cast<size_t>(at)] = state->h;
  }
  return c.stack(outputs, 0);
}

struct Layers {
  Value* output;
  Values h, c;
};

Layers run_layers(Compose& c, Node& node, CellKind kind, Value* h0, Value* c0) {
  Builder& b = c.b;
  Value* x = node.tensor("input");
  const bool unbatched = x->rank() == 2, batch_first = node.boolean("batch_first") && !unbatched;
  require(unbatched || x->rank() == 3, "a recurrent layer needs rank 2 or 3");
  if (unbatched) {
    x = b.unsqueeze(x, 1);
    h0 = b.unsqueeze(h0, 1);
    if (c0) c0 = b.unsqueeze(c0, 1);
  }
  if (batch_first) x = b.transpose(x, 0, 1);
  const int64_t layers = node.static_integer("num_layers"), directions = node.boolean("bidirectional") ? 2 : 1;
  const Values params = node.tensors("params");
  require(layers > 0 && layers < 1024, "the number of layers is out of range");
  const size_t per_cell = params.size() / static_cast<size_t>(layers * directions),
               base = node.boolean("has_biases") ? 4 : 2;
  require(params.size() == per_cell * static_cast<size_t>(layers * directions),
          "a recurrent layer has the wrong number of weights");
  require(per_cell == base || (kind == CellKind::lstm && per_cell == base + 1),
          "a recurrent layer has the wrong number of weights");
  Layers out;
  for (int64_t layer = 0; layer < layers; ++layer) {
    Values sides;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t index = layer * directions + d;
      for (size_t i = 0; i < per_cell; ++i)
        require(params[static_cast<size_t>(index) * per_cell + i] != nullptr, "a weight of a recurrent layer is None");
      auto at = [&](size_t i) { return params[static_cast<size_t>(index) * per_cell + i]; };
      Cell cell{at(0), at(1)};
      if (base == 4) {
        cell.b_ih = at(2);
        cell.b_hh = at(3);
      }
      if (per_cell > base) cell.projection = at(base);
      State state{b.select(h0, 0, index), c0 ? b.select(c0, 0, index) : nullptr};
      sides.push_back(run_direction(c, node, kind, cell, x, &state, d == 1));
      out.h.push_back(state.h);
      if (c0) out.c.push_back(state.c);
    }
    x = c.cat(sides, 2);
    if (layer + 1 < layers) x = b.call("aten.dropout", {x, node.real("dropout"), node.boolean("train")});
  }
  if (batch_first) x = b.transpose(x, 0, 1);
  out.output = unbatched ? b.squeeze(x, 1) : x;
  for (Values* states : {&out.h, &out.c}) {
    for (Value*& state : *states) state = unbatched ? b.squeeze(state, 0) : state;
  }
  return out;
}

// Results: the output, and for each initial state a last state of the same sizes.
void infer_layers(Node& node, const Values& states) {
  const Value* x = node.tensor("input");
  require(x->rank() == 2 || x->rank() == 3, "a recurrent layer needs rank 2 or 3");
  Sizes sizes = x->sizes();
  for (size_t i = 0; i < states.size(); ++i) {
    require(states[i] && states[i]->rank() == x->rank(),
            "a state of a recurrent layer has another rank than its input");
    if (i == 0) sizes.back() = states[i]->sizes().back() * Sym(node.boolean("bidirectional") ? 2 : 1);
    set_result(node, i + 1, x->dtype(), states[i]->sizes());
  }
  set_result(node, 0, x->dtype(), std::move(sizes));
}
void infer_lstm(Node& node) {
  require(node.tensors("hx").size() == 2, "lstm needs two states");
  infer_layers(node, node.tensors("hx"));
}
void infer_gru(Node& node) { infer_layers(node, {node.tensor("hx")}); }

// Results: for each state of a cell, the next one of the same sizes.
void infer_cell(Node& node, const Values& states) {
  for (size_t i = 0; i < states.size(); ++i) {
    require(states[i] && states[i]->rank() == node.tensor("input")->rank(),
            "a state of a recurrent cell has another rank than its input");
    set_result(node, i, node.tensor("input")->dtype(), states[i]->sizes());
  }
}
void infer_lstm_cell(Node& node) {
  require(node.tensors("hx").size() == 2, "lstm_cell needs two states");
  infer_cell(node, node.tensors("hx"));
}
void infer_gru_cell(Node& node) { infer_cell(node, {node.tensor("hx")}); }
// tanh turns integers into floats.
void infer_tanh_cell(Node& node) {
  infer_gru_cell(node);
  if (is_integral(node.tensor("input")->dtype())) set_result(node, 0, DType::f32, node.tensor("hx")->sizes());
}

Results decompose_lstm(Builder& b, Node& node) {
  Compose c(b);
  const Values hx = node.tensors("hx");
  require(hx.size() == 2 && hx[0] && hx[1], "lstm needs two states");
  const Layers out = run_layers(c, node, CellKind::lstm, hx[0], hx[1]);
  return {out.output, c.stack(out.h, 0), c.stack(out.c, 0)};
}
Results simple_layers(Builder& b, Node& node, CellKind kind) {
  Compose c(b);
  const Layers out = run_layers(c, node, kind, node.tensor("hx"), nullptr);
  return {out.output, c.stack(out.h, 0)};
}
Results decompose_gru(Builder& b, Node& node) { return simple_layers(b, node, CellKind::gru); }
Results decompose_rnn_tanh(Builder& b, Node& node) { return simple_layers(b, node, CellKind::tanh); }
Results decompose_rnn_relu(Builder& b, Node& node) { return simple_layers(b, node, CellKind::relu); }

State run_cell(Compose& c, Node& node, CellKind kind, State state) {
  Cell cell{node.tensor("w_ih"), node.tensor("w_hh"), node.optional_tensor("b_ih"), node.optional_tensor("b_hh")};
  return step(c, kind, cell, linear(c.b, node.tensor("input"), cell.w_ih, cell.b_ih), state);
}
Results decompose_lstm_cell(Builder& b, Node& node) {
  Compose c(b);
  const Values hx = node.tensors("hx");
  require(hx.size() == 2 && hx[0] && hx[1], "lstm_cell needs two states");
  const State out = run_cell(c, node, CellKind::lstm, {hx[0], hx[1]});
  return {out.h, out.c};
}
Results simple_cell(Builder& b, Node& node, CellKind kind) {
  Compose c(b);
  return {run_cell(c, node, kind, {node.tensor("hx")}).h};
}
Results decompose_gru_cell(Builder& b, Node& node) { return simple_cell(b, node, CellKind::gru); }
Results decompose_tanh_cell(Builder& b, Node& node) { return simple_cell(b, node, CellKind::tanh); }
Results decompose_relu_cell(Builder& b, Node& node) { return simple_cell(b, node, CellKind::relu); }

}  // namespace

const OpDef kRecurrentRows[] = {
    {"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
     "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
     infer_lstm, decompose_lstm, nullptr, kPure,
     Cases(
         "f32[3, 2, 4], [f32[1, 2, 3], f32[1, 2, 3]], [f32[12, 4], f32[12, 3], f32[12], f32[12]], true, 1, 0.0, false, "
         "false, false")},
    {"aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool "
     "train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     infer_gru, decompose_gru, nullptr, kPure,
     Cases("f32[3, 2, 4], f32[1, 2, 3], [f32[9, 4], f32[9, 3], f32[9], f32[9]], true, 1, 0.0, false, false, false")},
    {"aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
     "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     infer_gru, decompose_rnn_tanh, nullptr, kPure,
     Cases("f32[3, 2, 4], f32[1, 2, 3], [f32[3, 4], f32[3, 3], f32[3], f32[3]], true, 1, 0.0, false, false, false")},
    {"aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
     "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     infer_gru, decompose_rnn_relu, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[1, 2, 3], [f32[3, 4], f32[3, 3]], false, 1, 0.0, false, false, true")},
    {"aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
     "(Tensor, Tensor)",
     infer_lstm_cell, decompose_lstm_cell, nullptr, kPure,
     Cases("f32[2, 3], [f32[2, 5], f32[2, 5]], f32[20, 3]{range=-1..1}, f32[20, 5]{range=-1..1}",
           "f32[2, 3], [f32[2, 5], f32[2, 5]], f32[20, 3]{range=-1..1}, f32[20, 5]{range=-1..1}, f32[20]{range=-1..1}, "
           "f32[20]{range=-1..1}")},
    {"aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
     "Tensor",
     infer_gru_cell, decompose_gru_cell, nullptr, kPure,
     Cases("f32[2, 3], f32[2, 5], f32[15, 3]{range=-1..1}, f32[15, 5]{range=-1..1}, f32[15]{range=-1..1}, "
           "f32[15]{range=-1..1}")},
    {"aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
     "Tensor",
     infer_tanh_cell, decompose_tanh_cell, nullptr, kPure, Cases("f32[2, 3], f32[2, 4], f32[4, 3], f32[4, 4]")},
    {"aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
     "Tensor",
     infer_gru_cell, decompose_relu_cell, nullptr, kPure,
     Cases("f32[2, 3], f32[2, 4], f32[4, 3], f32[4, 4], f32[4], f32[4]")},
};
const size_t kRecurrentCount = std::size(kRecurrentRows);

}  // namespace wick::compiler
