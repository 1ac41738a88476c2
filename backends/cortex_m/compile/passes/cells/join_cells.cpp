#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backends/cortex_m/compile/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Value;
using compiler::Values;

namespace {

bool is_lstm(const Node& cell) { return cell.is("aten.lstm_cell.default"); }

// The layer's operator for a cell: "aten.NAME.input" for "aten.NAME_cell"; "": the node is no cell.
std::string layer_of_cell(const Node& node) {
  constexpr std::string_view kEnd = "_cell.default";
  const std::string_view name = node.op->name();
  if (!name.ends_with(kEnd) || node.results().empty()) return "";
  std::string layer(name.substr(0, name.size() - kEnd.size()));
  layer += ".input";
  return compiler::find_op(layer) ? layer : "";
}
bool is_cell(const Node& node) { return !layer_of_cell(node).empty(); }

Values states_of(const Node& cell) { return is_lstm(cell) ? cell.tensors("hx") : Values{cell.tensor("hx")}; }

// Weights and biases; missing biases are null.
Values parameters_of(const Node& cell) {
  return {cell.tensor("w_ih"), cell.tensor("w_hh"), cell.optional_tensor("b_ih"), cell.optional_tensor("b_hh")};
}

// Whether a layer can replace the cell: it has a batch, and both biases or none.
bool has_form(const Node& cell) {
  const Values parameters = parameters_of(cell);
  return cell.tensor("input")->rank() == 2 && is_static(cell.tensor("input")->sizes()) &&
         (parameters[2] == nullptr) == (parameters[3] == nullptr);
}

// Each use of a parameter may be a constant of its own.
bool same_constant(const Value* a, const Value* b) {
  if (a == b) return true;
  if (!a || !b || !a->is_constant() || !b->is_constant() || !(a->type == b->type)) return false;
  const auto x = a->data.bytes(), y = b->data.bytes();
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
}

bool same_parameters(const Node& a, const Node& b) {
  const Values x = parameters_of(a), y = parameters_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), same_constant);
}

using Positions = std::unordered_map<const Node*, size_t>;

// The cell that continues `cell`: it alone reads both states as floats, with the same parameters. Null: none does, or
// another node reads c. chain_from checks the other readers of h.
Node* next_of(const Node& cell, const std::unordered_set<const Node*>& taken) {
  Node* found = nullptr;
  for (Node* user : cell.result(0)->users()) {
    if (user->op != cell.op || taken.count(user) || !has_form(*user)) continue;
    const Values states = states_of(*user);
    const bool continues = std::equal(states.begin(), states.end(), cell.results().begin());
    if (continues && found && found != user) return nullptr;
    if (continues) found = user;
  }
  if (!found || !same_parameters(cell, *found)) return nullptr;
  for (const Value* result : cell.results()) {
    if (result->is_quantized()) return nullptr;
  }
  return cell.results().size() == 1 || cell.result(1)->num_uses() == 1 ? found : nullptr;
}

bool is_view(const Node& node) { return node.is("aten.view.default"); }

// The cells that follow one another. The chain ends at the first cell whose h is read by a node before the chain's last
// cell.
std::vector<Node*> chain_from(Node* first, const Positions& positions, std::unordered_set<const Node*>& taken) {
  std::vector<Node*> chain = {first};
  taken.insert(first);
  while (Node* next = next_of(*chain.back(), taken)) {
    chain.push_back(next);
    taken.insert(next);
  }
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const auto comes_early = [&](const Node* user) {
      return user != chain[i + 1] && positions.at(user) < positions.at(chain.back());
    };
    const auto reads_early = [&](const Node* user) {
      if (!is_view(*user)) return comes_early(user);
      const std::vector<Node*>& readers = user->result()->users();
      return std::any_of(readers.begin(), readers.end(), comes_early);
    };
    const std::vector<Node*>& users = chain[i]->result(0)->users();
    if (std::none_of(users.begin(), users.end(), reads_early)) continue;
    for (size_t behind = i + 1; behind < chain.size(); ++behind) taken.erase(chain[behind]);
    chain.resize(i + 1);
  }
  return chain;
}

// The tensor whose steps along `dim` the cells read, in order or from the end; or null.
Value* whole_input(const std::vector<Node*>& chain, int64_t* dim, bool* from_end) {
  Value* whole = nullptr;
  const auto last = static_cast<int64_t>(chain.size()) - 1;
  for (size_t i = 0; i < chain.size(); ++i) {
    const Node* select = chain[i]->tensor("input")->producer;
    if (!select || !select->is("aten.select.int") || !select->arg("index").is<compiler::Sym>()) return nullptr;
    Value* x = select->tensor("self");
    const int64_t at = compiler::wrap_dim(select->static_integer("dim"), x->rank());
    const auto step = static_cast<int64_t>(i);
    if (i == 0) *from_end = !select->integer("index").is(0);
    const bool in_order = select->integer("index").is(*from_end ? last - step : step);
    if (!in_order || x->rank() != 3 || at > 1 || (whole && (whole != x || at != *dim))) return nullptr;
    whole = x;
    *dim = at;
  }
  const bool is_whole = whole && whole->sizes()[static_cast<size_t>(*dim)].is(static_cast<int64_t>(chain.size()));
  return is_whole ? whole : nullptr;
}

// [1, B, H] from a state [B, H]. A constant in floats stays a constant; fold_elements handles elements.
Value* stacked(Builder& b, Value* state) {
  compiler::TensorType type = state->tensor();
  if (!state->is_constant() || state->is_quantized() || !std::is_sorted(type.dim_order.begin(), type.dim_order.end()))
    return b.unsqueeze(state, 0);
  type.sizes.insert(type.sizes.begin(), 1);
  type.dim_order.clear();
  return b.constant(std::move(type), state->data, state->name);
}

void give_elements(Value& to, const Value& from) {
  to.type.tensor.dtype = from.dtype();
  to.type.tensor.quantization = from.tensor().quantization;
}

// Requires: `to` is the result of a view without other readers.
void replace_by(Graph& graph, Value* from, Value* to) {
  give_elements(*to, *from);
  graph.replace(from, to);
}

// The concatenation of all steps' h, which it reads through views, in order or from the end.
struct Outputs {
  Node* cat = nullptr;
  bool from_end = false;
};

Outputs joined_outputs(const std::vector<Node*>& chain) {
  const std::vector<Node*>& views = chain[0]->result(0)->users();
  for (const Node* view : views) {
    if (!is_view(*view) || view->result()->rank() != 3 || !view->result()->sizes()[0].is(1)) continue;
    for (Node* cat : view->result()->users()) {
      if (!cat->is("aten.cat.default") || compiler::wrap_dim(cat->static_integer("dim"), 3) != 0) continue;
      const Values parts = cat->tensors("tensors");
      if (parts.size() != chain.size() || chain.size() < 2) continue;
      const auto reads = [&](bool from_end) {
        for (size_t i = 0; i < chain.size(); ++i) {
          const Value* part = parts[from_end ? chain.size() - 1 - i : i];
          const bool shows_h = part->producer && is_view(*part->producer) && part->sizes() == view->result()->sizes() &&
                               part->producer->tensor("self") == chain[i]->result(0);
          if (!shows_h) return false;
        }
        return true;
      };
      if (reads(false)) return {cat, false};
      if (reads(true)) return {cat, true};
    }
  }
  return {};
}

// Readers of the concatenation read the layer's output instead.
void replace_outputs(Graph& graph, Builder& b, Node& layer, const Outputs& outputs, int64_t dim) {
  Value* from = outputs.cat->result();
  const size_t made = b.made().size();
  Value* y = layer.result(0);
  if (dim == 1) y = b.permute(y, {1, 0, 2});
  if (outputs.from_end) y = b.call("aten.flip", {y, compiler::Ints{0}});
  give_elements(*layer.result(0), *from);
  for (size_t i = made; i < b.made().size(); ++i) give_elements(*b.made()[i]->result(), *from);
  graph.replace(from, y);
  const Values parts = outputs.cat->tensors("tensors");
  graph.erase(outputs.cat);  // and the views, if nothing else reads them
  for (const Value* part : parts) {
    if (part->num_uses() == 0) graph.erase(part->producer);
  }
}

// Readers of this cell's h, perhaps through views, read step `index` of the layer's output instead.
void replace_step(Graph& graph, Builder& b, const Node& layer, Value* h, int64_t dim, int64_t index) {
  Value* step = nullptr;
  const auto select = [&] { return step ? step : step = b.select(layer.result(0), dim, index); };
  for (Node* user : std::vector<Node*>(h->users())) {
    if (!is_view(*user)) continue;
    if (user->result()->num_uses() > 0) replace_by(graph, user->result(), b.reshape(select(), user->result()->sizes()));
    graph.erase(user);
  }
  if (h->num_uses() > 1) replace_by(graph, h, select());
}

void join(Graph& graph, const std::vector<Node*>& chain) {
  Node& last = *chain.back();
  Builder b(graph, &last, nullptr);  // views have no origin in the model
  int64_t dim = 0;
  bool from_end = false;
  Value* x = whole_input(chain, &dim, &from_end);
  if (x && from_end) x = b.call("aten.flip", {x, compiler::Ints{dim}});
  if (x && from_end) give_elements(*x, *x->producer->tensor("self"));
  if (!x) {
    Values steps;
    for (const Node* cell : chain) steps.push_back(b.unsqueeze(cell->tensor("input"), 0));
    x = steps.size() == 1 ? steps[0] : b.call("aten.cat", {steps, int64_t{0}});
    dim = 0;
  }
  Values states, parameters;
  for (Value* state : states_of(*chain[0])) states.push_back(stacked(b, state));
  for (Value* parameter : parameters_of(last)) {
    if (parameter) parameters.push_back(parameter);
  }
  const bool lstm = is_lstm(last);
  const compiler::Arg first = lstm ? compiler::Arg(states) : compiler::Arg(states[0]);
  const Outputs outputs = joined_outputs(chain);
  Node* layer = b.node(layer_of_cell(last),
                       {x, first, parameters, parameters.size() == 4, int64_t{1}, 0.0, false, false, dim == 1});
  layer->origin = last.origin;
  for (size_t i = 0; i + 1 < chain.size(); ++i) compiler::add_origins(*layer, *chain[i]);
  if (outputs.cat) replace_outputs(graph, b, *layer, outputs, dim);
  for (size_t i = 0; i + 1 < chain.size(); ++i)
    replace_step(graph, b, *layer, chain[i]->result(0), dim, static_cast<int64_t>(i));
  for (size_t i = 0; i < last.results().size(); ++i) {
    if (last.result(i)->num_uses() > 0) replace_by(graph, last.result(i), b.squeeze(layer->result(i + 1), 0));
  }
  compiler::erase_unread(graph, {chain.rbegin(), chain.rend()});
}

}  // namespace

// Cells that follow one another become one layer of lstm, gru or a plain recurrence.
//   before: h1, c1 = lstm_cell(select(x, 0, 0), [h, c], w, ..); h2, c2 = lstm_cell(select(x, 0, 1), [h1, c1], w, ..)
//   after:  y, h2, c2 = lstm(x, [h, c], [w, ..])
// A single cell becomes a layer of one step, and so does a cell whose state the model quantizes. Views connect the
// layer with its operands and readers; spread_quantization quantizes them. Requires: quantization is in types. Keeps:
// every number. Cells with one bias only stay, and so do cells on one sequence without a batch.
Result<Changed> join_cells(Graph& graph) {
  return compiler::for_each_graph(graph, [](Graph& g) {
    const std::vector<Node*> nodes = g.node_list();
    Positions positions;
    for (const Node* node : nodes) positions.emplace(node, positions.size());
    std::unordered_set<const Node*> taken;
    std::vector<std::vector<Node*>> chains;
    for (Node* node : nodes) {
      if (is_cell(*node) && has_form(*node) && !taken.count(node)) chains.push_back(chain_from(node, positions, taken));
    }
    for (const std::vector<Node*>& chain : chains) join(g, chain);
    return Changed(!chains.empty());
  });
}

}  // namespace wick::cortex_m
