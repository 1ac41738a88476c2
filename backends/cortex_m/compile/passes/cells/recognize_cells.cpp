#include <fmt/format.h>

#include <optional>

#include "backends/cortex_m/compile/passes/passes.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Arg;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Value;

namespace {

// --- matching values ---

Node* maker(const Value* value, std::string_view op) {
  return value && value->producer && value->producer->is(op) ? value->producer : nullptr;
}

// The value before all views: it has the same elements in the same order.
Value* reshaped(Value* value) {
  while (Node* view = maker(value, "aten.view.default")) value = view->tensor("self");
  return value;
}

struct Pair {
  Value *a, *b;
};

std::optional<Pair> operands(const Value* value, std::string_view op) {
  const Node* node = maker(value, op);
  if (!node || !node->arg(size_t{0}).is<Value*>() || !node->arg(1).is<Value*>()) return std::nullopt;
  if ((node->is(compiler::Binary::add) || node->is(compiler::Binary::sub)) && node->real("alpha") != 1)
    return std::nullopt;
  return Pair{node->arg(size_t{0}).as<Value*>(), node->arg(1).as<Value*>()};
}

// Calls try_pair(a, b) for the operands of a sum or product in both orders until one fits.
template <typename Try>
bool either_way(const std::optional<Pair>& pair, const Try& try_pair) {
  return pair && (try_pair(pair->a, pair->b) || try_pair(pair->b, pair->a));
}

Value* argument_of(const Value* value, std::string_view op) {
  const Node* node = maker(value, op);
  return node ? node->tensor("self") : nullptr;
}

// The value of which `value` is part `index` of `count` equal parts along the last dimension; null: it is no such part.
Value* part_of(const Value* value, int64_t index, int64_t count) {
  const Node* slice = maker(value, "aten.slice.Tensor");
  if (!slice || !is_static(value->sizes())) return nullptr;
  Value* whole = slice->tensor("self");
  if (!is_static(whole->sizes()) || slice->static_integer("step") != 1) return nullptr;
  const int64_t size = value->sizes().back().value();
  const bool is_last =
      compiler::wrap_dim(slice->static_integer("dim"), whole->rank()) + 1 == static_cast<int64_t>(whole->rank());
  const bool fits =
      is_last && whole->sizes().back().value() == count * size && slice->integer("start").is(index * size);
  return fits ? whole : nullptr;
}

// --- layers ---

struct Layer {
  Value *x = nullptr, *weights = nullptr, *bias = nullptr;  // bias may be null
};

// The layer that computes `value`: weights [N, K] and perhaps a bias [N], applied to rows.
std::optional<Layer> layer_of(const Value* value) {
  Layer layer;
  if (const Node* linear = maker(value, "aten.linear.default")) {
    layer = {linear->tensor("input"), linear->tensor("weight"), linear->optional_tensor("bias")};
  } else {
    const Node* sum = maker(value, "aten.addmm.default");
    const Node* product = sum ? sum : maker(value, "aten.mm.default");
    if (!product) return std::nullopt;
    if (sum && (compiler::literal(sum->arg("beta")) != 1.0 || compiler::literal(sum->arg("alpha")) != 1.0))
      return std::nullopt;
    const Node* permute = maker(product->tensor("mat2"), "aten.permute.default");
    if (!permute || permute->static_ints("dims") != std::vector<int64_t>{1, 0}) return std::nullopt;
    layer = {product->tensor(sum ? "mat1" : "self"), permute->tensor("self"), sum ? sum->tensor("self") : nullptr};
  }
  const bool fits = layer.weights->rank() == 2 && (!layer.bias || layer.bias->rank() == 1) &&
                    is_static(layer.x->sizes()) && value->dtype() == DType::f32;
  return fits ? std::optional(layer) : std::nullopt;
}

// A layer, and the step of its output that a cell reads.
struct StepOf {
  Layer layer;
  int64_t first = -1;  // the step; -1: the output is that of one step
  int64_t rows = -1;   // rows of a step
  bool from_end = false;
};

// Matches `value` = [rows, N], the output of a layer, or one step of its output [steps, rows, N], as unrolled layers
// slice it.
std::optional<StepOf> step_of(Value* value) {
  StepOf step;
  value = reshaped(value);
  std::optional<compiler::Sym> columns;
  const Node* cut = maker(value, "aten.slice.Tensor");
  if (!cut) cut = maker(value, "aten.select.int");
  if (cut) {
    const bool slices = cut->is("aten.slice.Tensor");
    Value* whole = cut->tensor("self");
    const bool one = !slices || (cut->static_integer("step") == 1 && value->sizes()[0].is(1));
    if (whole->rank() != 3 || !one || compiler::wrap_dim(cut->static_integer("dim"), 3) != 0) return std::nullopt;
    const compiler::Sym at = cut->integer(slices ? "start" : "index");
    if (!at.is_const() || at.value() < 0 || !is_static(whole->sizes())) return std::nullopt;
    step.first = at.value();
    step.rows = whole->sizes()[1].value();
    columns = whole->sizes()[2];
    if (const Node* flip = maker(whole, "aten.flip.default");
        flip && flip->static_ints("dims") == std::vector<int64_t>{0}) {
      step.from_end = true;
      whole = flip->tensor("self");
    }
    value = reshaped(whole);
  }
  const auto layer = layer_of(value);
  if (!layer || (columns && layer->weights->sizes()[0] != *columns)) return std::nullopt;
  step.layer = *layer;
  return step;
}

// --- cells ---

struct Cell {
  Node* first = nullptr;  // first node that computes h or c
  Node* last = nullptr;
  Value* h = nullptr;  // state that the cell reads
  Value* c = nullptr;  // null: it has none
  StepOf input;
  Layer state;
};

int64_t cells_of(const Cell& cell) { return cell.last->result()->sizes().back().value(); }

// Finds the layers that compute the state's and the input's part of the gates.
bool take_layers(Cell& cell, Value* state, Value* input) {
  const auto of_state = layer_of(reshaped(state));
  const auto of_input = step_of(input);
  if (!of_state || !of_input) return false;
  cell.state = *of_state;
  cell.input = *of_input;
  return true;
}

// Whether both layers have `gates` rows of weights for each cell and a batch of rows, and both have a bias or neither
// has.
bool fits(const Cell& cell, int64_t gates) {
  const int64_t cells = cells_of(cell), batch = cell.state.x->rank() == 2 ? cell.state.x->sizes()[0].value() : -1;
  const Layer& input = cell.input.layer;
  const bool rows = is_static(input.weights->sizes()) && is_static(cell.state.weights->sizes()) &&
                    input.weights->sizes()[0].is(gates * cells) && cell.state.weights->sizes()[0].is(gates * cells) &&
                    cell.state.weights->sizes()[1].is(cells);
  if (!rows || batch < 1 || (input.bias == nullptr) != (cell.state.bias == nullptr)) return false;
  const auto count = [](const Value* value) {
    int64_t all = 1;
    for (const compiler::Sym& size : value->sizes()) all *= size.value();
    return all;
  };
  const auto is_state = [&](const Value* value) { return is_static(value->sizes()) && count(value) == batch * cells; };
  if (!is_state(cell.h) || (cell.c && !is_state(cell.c)) || !is_state(cell.last->result())) return false;
  return cell.input.first >= 0 ? cell.input.rows == batch : count(input.x) == batch * input.weights->sizes()[1].value();
}

// h = sigmoid(o) * tanh(c), c = sigmoid(f) * c before + sigmoid(i) * tanh(g); gates in the order i, f, g, o.
std::optional<Cell> lstm_cell(Node& node) {
  Cell cell;
  cell.last = &node;
  Value* gates = nullptr;
  const auto is_gate = [&](const Value* value, std::string_view function, int64_t index) {
    const Value* part = argument_of(value, function);
    Value* whole = part ? part_of(part, index, 4) : nullptr;
    if (!whole || (gates && whole != gates)) return false;
    gates = whole;
    return true;
  };
  const auto is_kept = [&](const Value* value) {
    return either_way(operands(value, "aten.mul.Tensor"), [&](const Value* f, Value* c) {
      if (!is_gate(f, "aten.sigmoid.default", 1)) return false;
      cell.c = c;
      return true;
    });
  };
  const auto is_new = [&](const Value* value) {
    return either_way(operands(value, "aten.mul.Tensor"), [&](const Value* i, const Value* g) {
      return is_gate(i, "aten.sigmoid.default", 0) && is_gate(g, "aten.tanh.default", 2);
    });
  };
  const bool is_cell = either_way(operands(node.result(), "aten.mul.Tensor"), [&](const Value* o, const Value* t) {
    gates = nullptr;
    const Value* c = argument_of(t, "aten.tanh.default");
    if (!c || !is_gate(o, "aten.sigmoid.default", 3)) return false;
    cell.first = c->producer;
    return either_way(operands(c, "aten.add.Tensor"),
                      [&](const Value* kept, const Value* added) { return is_kept(kept) && is_new(added); });
  });
  if (!is_cell) return std::nullopt;
  const bool is_whole = either_way(operands(gates, "aten.add.Tensor"), [&](Value* state, Value* input) {
    if (!take_layers(cell, state, input)) return false;
    cell.h = cell.state.x;
    return fits(cell, 4);
  });
  return is_whole ? std::optional(cell) : std::nullopt;
}

// h = (h before - n) * z + n with n = tanh(n of x + r * n of h), r and z = sigmoid(.. of x + .. of h); gates in the
// order r, z, n.
std::optional<Cell> gru_cell(Node& node) {
  Cell cell;
  cell.last = cell.first = &node;
  Value *of_input = nullptr, *of_state = nullptr;
  const auto are_parts = [&](const Value* input, const Value* state, int64_t index) {
    Value *x = part_of(input, index, 3), *h = part_of(state, index, 3);
    if (!x || !h || (of_input && (of_input != x || of_state != h))) return false;
    of_input = x;
    of_state = h;
    return true;
  };
  const auto is_gate = [&](const Value* value, int64_t index) {
    const Value* sum = argument_of(value, "aten.sigmoid.default");
    return either_way(operands(sum, "aten.add.Tensor"),
                      [&](const Value* input, const Value* state) { return are_parts(input, state, index); });
  };
  const auto is_new = [&](const Value* n) {
    const Value* sum = argument_of(n, "aten.tanh.default");
    return either_way(operands(sum, "aten.add.Tensor"), [&](const Value* input, const Value* product) {
      return either_way(operands(product, "aten.mul.Tensor"), [&](const Value* state, const Value* r) {
        of_input = of_state = nullptr;
        return are_parts(input, state, 2) && is_gate(r, 0);
      });
    });
  };
  const bool is_cell = either_way(operands(node.result(), "aten.add.Tensor"), [&](const Value* product, Value* n) {
    return either_way(operands(product, "aten.mul.Tensor"), [&](const Value* difference, const Value* z) {
      const auto from = operands(difference, "aten.sub.Tensor");
      if (!from || from->b != n || !is_new(n) || !is_gate(z, 1)) return false;
      cell.h = from->a;
      return true;
    });
  });
  if (!is_cell) return std::nullopt;
  if (!take_layers(cell, of_state, of_input) || reshaped(cell.state.x) != reshaped(cell.h)) return std::nullopt;
  return fits(cell, 3) ? std::optional(cell) : std::nullopt;
}

// The plain cell that ends with this function, or null.
const char* plain_cell_of(const Node& node) {
  if (node.is("aten.tanh.default")) return "aten.rnn_tanh_cell";
  return node.is("aten.relu.default") ? "aten.rnn_relu_cell" : nullptr;
}

// Whether a value depends on no input, as an initial state does, which quantizers may annotate.
bool is_fixed(const Value* value) {
  constexpr int kMaxNodes = 16;
  for (int i = 0; i < kMaxNodes; ++i) {
    if (value->is_constant()) return true;
    if (!value->producer || value->producer->operands().size() > 1) return false;
    if (value->producer->operands().empty()) return true;
    value = value->producer->operands()[0];
  }
  return false;
}

// h = tanh(layer of x + layer of h), or relu. Any sum of two layers has this form; so h must be the result of a cell
// with the same weights, or an initial state.
std::optional<Cell> plain_cell(Node& node) {
  Cell cell;
  cell.first = cell.last = &node;
  const bool is_cell = either_way(operands(node.tensor("self"), "aten.add.Tensor"), [&](Value* state, Value* input) {
    if (!take_layers(cell, state, input)) return false;
    cell.h = cell.state.x;
    const Node* before = reshaped(cell.h)->producer;
    const bool goes_on = before && before->is(fmt::format("{}.default", plain_cell_of(node))) &&
                         before->tensor("w_hh") == cell.state.weights;
    return (goes_on || is_fixed(cell.h)) && fits(cell, 1);
  });
  return is_cell ? std::optional(cell) : std::nullopt;
}

// --- the operator ---

// The rows [rows, K] that a layer reads in this step.
Value* input_of(Builder& b, const StepOf& step, int64_t batch) {
  const int64_t features = step.layer.weights->sizes()[1].value();
  if (step.first < 0) return b.reshape(step.layer.x, {batch, features});
  Value* steps = step.layer.x;
  const Node* view = maker(steps, "aten.view.default");
  if (view && view->tensor("self")->rank() == 3) steps = view->tensor("self");
  const auto is_stack = [&](const Value* value) {
    return value->rank() == 3 && value->sizes()[1].is(batch) && value->sizes()[2].is(features);
  };
  if (!is_stack(steps)) {
    int64_t count = 1;
    for (const compiler::Sym& size : step.layer.x->sizes()) count *= size.value();
    steps = b.reshape(step.layer.x, {count / (batch * features), batch, features});
  }
  const int64_t at = step.from_end ? steps->sizes()[0].value() - 1 - step.first : step.first;
  return b.select(steps, 0, at);
}

void replace(Graph& graph, Builder& b, Value* before, Value* after) {
  graph.replace(before, b.reshape(after, before->sizes()));
}

bool roll(Graph& graph, const Cell& cell) {
  Builder b(graph, cell.first);
  const int64_t batch = cell.state.x->sizes()[0].value(), cells = cells_of(cell);
  const auto state = [&](Value* value) { return b.reshape(reshaped(value), {batch, cells}); };
  Value *x = input_of(b, cell.input, batch), *h = state(cell.h);
  const auto bias = [](Value* value) { return value ? Arg(value) : Arg(compiler::None{}); };
  const Arg b_ih = bias(cell.input.layer.bias), b_hh = bias(cell.state.bias);
  Value *w_ih = cell.input.layer.weights, *w_hh = cell.state.weights;
  if (!cell.c) {
    const char* plain = plain_cell_of(*cell.last);
    replace(graph, b, cell.last->result(), b.call(plain ? plain : "aten.gru_cell", {x, h, w_ih, w_hh, b_ih, b_hh}));
    return true;
  }
  const std::vector<Value*> made =
      b.call_multi("aten.lstm_cell", {x, compiler::Values{h, state(cell.c)}, w_ih, w_hh, b_ih, b_hh});
  replace(graph, b, cell.first->result(), made[1]);
  replace(graph, b, cell.last->result(), made[0]);
  return true;
}

}  // namespace

// Steps of LSTM, GRU and plain recurrent layers, in the form of run_decompositions(), become cells.
//   before: g = addmm(b_hh, h, permute(w_hh)) + addmm(b_ih, x, permute(w_ih))[t]; i, f, g, o = parts of it;
//           d = sigmoid(f) * c + sigmoid(i) * tanh(g); y = sigmoid(o) * tanh(d)
//   after:  y, d = lstm_cell(x[t], [h, c], w_ih, w_hh, b_ih, b_hh)
// Layers may be linear, addmm or mm, and may read all steps at once, also backwards. join_cells makes layers of the
// cells. Requires: operators as the file has them, with views as views. Keeps: every number.
Result<Changed> recognize_cells(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    const std::vector<Node*> nodes = g.node_list();
    bool changed = false;
    for (Node* node : nodes) {
      if (node->results().size() != 1 || !node->result()->type.is_tensor() || !is_static(node->result()->sizes()) ||
          node->result()->rank() == 0)
        continue;
      std::optional<Cell> cell = node->is("aten.mul.Tensor")   ? lstm_cell(*node)
                                 : node->is("aten.add.Tensor") ? gru_cell(*node)
                                 : plain_cell_of(*node)        ? plain_cell(*node)
                                                               : std::nullopt;
      if (cell) changed = roll(g, *cell) || changed;
    }
    if (changed) compiler::erase_unread(g, {nodes.rbegin(), nodes.rend()});
    return Changed(changed);
  });
}

}  // namespace wick::cortex_m
