#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/regions/box_needs.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Sizes;
using compiler::Value;
using compiler::Values;

namespace {

// At most half of the elements.
bool pays(const Sizes& sizes, const Box& box) {
  double part = 1;
  for (size_t i = 0; i < box.size(); ++i) {
    if (!box[i].whole) part *= static_cast<double>(box[i].length) / static_cast<double>(sizes[i].value());
  }
  return part <= 0.5;
}

class Narrower {
 public:
  explicit Narrower(Graph& graph) : graph_(graph) {}

  Changed run() {
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) demand(**it);
    Changed changed = Changed::no;
    for (Node* node : graph_.node_list()) changed = changed | rebuild(*node);
    erase_unread(graph_, replaced_);
    return changed;
  }

 private:
  // The box of a value that is computed. All its readers have been visited.
  Box region(const Value& value) const {
    const auto it = needed_.find(&value);
    return it == needed_.end() || value.num_uses() != value.users().size() ? Box(value.rank()) : it->second;
  }

  void ask(const Value& value, const Box& box) {
    const auto [it, fresh] = needed_.try_emplace(&value, box);
    if (!fresh) it->second = hull(value.sizes(), it->second, box);
  }

  void ask_all(const Node& node) {
    for (const Value* operand : node.operands()) {
      if (operand->type.is_tensor()) ask(*operand, Box(operand->rank()));
    }
  }

  void demand(Node& node) {
    if (node.results().empty() || !node.result()->type.is_tensor() || !node.graphs.empty() || has_effect(node)) {
      ask_all(node);
      return;
    }
    if (bypassed_.count(&node)) return;
    Box box = region(*node.result());
    const bool moves = moves_data(node);
    const auto dims = moves ? std::vector<bool>(box.size(), true) : narrow_dims(node);
    for (size_t i = 0; i < box.size(); ++i) {
      if (!dims || !(*dims)[i]) box[i] = {};
    }
    if (!is_whole(box) && !pays(node.result()->sizes(), box)) box = Box(box.size());
    auto needs = moves || !is_whole(box) ? needs_of(node, box) : std::nullopt;
    if (!needs && moves && !is_whole(box)) {
      box = Box(box.size());
      needs = needs_of(node, box);
    }
    if (!needs) box = Box(box.size());
    computed_[&node] = box;
    if (!needs) {
      ask_all(node);
      return;
    }
    for (const Need& need : *needs) ask(*need.value, need.box);
    if (const auto chain = row_chain(node)) {
      bypassed_.insert({chain->choose, chain->quantize});
      return;
    }
    for (const Value* operand : node.operands()) {
      const auto is_it = [&](const Need& need) { return need.value == operand; };
      if (operand->type.is_tensor() && std::none_of(needs->begin(), needs->end(), is_it))
        ask_unless_cat(node, *operand);
    }
  }

  // Weights and tables are read whole. An unused part of a concatenation is not read at all.
  void ask_unless_cat(const Node& node, const Value& operand) {
    if (!node.is("aten.cat.default")) ask(operand, Box(operand.rank()));
  }

  // The value as it is computed now.
  struct Computed {
    Value* value = nullptr;
    Box box;
  };
  Computed computed(Value* value) const {
    const auto it = narrowed_.find(value);
    return it == narrowed_.end() ? Computed{value, Box(value->rank())} : it->second;
  }

  // `box` of a value, as slices of its computed box.
  Value* fetch(Builder& b, Value* value, const Box& box) {
    const Computed now = computed(value);
    Box rest(box.size());
    for (size_t i = 0; i < box.size(); ++i) {
      if (box[i] == now.box[i] || box[i].whole) continue;
      rest[i] = {box[i].start - (now.box[i].whole ? 0 : now.box[i].start), box[i].length, false};
    }
    return slice_box(b, now.value, rest);
  }

  Changed rebuild(Node& node) {
    const auto it = computed_.find(&node);
    if (it == computed_.end()) return Changed::no;
    const Box& box = it->second;
    const auto needs = needs_of_any(node, box);
    const bool fed = needs && std::any_of(needs->begin(), needs->end(),
                                          [&](const Need& need) { return narrowed_.count(need.value) != 0; });
    // A slice of a slice of something whole stays what it is.
    if (!needs || (!fed && (is_whole(box) || match_slice(node)))) return Changed::no;
    Builder b(graph_, &node);
    Values operands;
    for (const Need& need : *needs) operands.push_back(fetch(b, need.value, need.box));
    Value* value = compute_box(b, node, box, *needs, operands);
    for (Node* made : b.made()) add_origins(*made, node);
    replaced_.push_back(&node);
    if (is_whole(box))
      graph_.replace(node.result(), value);
    else
      narrowed_[node.result()] = {value, box};
    return Changed::yes;
  }

  static std::optional<std::vector<Need>> needs_of_any(const Node& node, const Box& box) {
    if (!moves_data(node) && is_whole(box)) return std::nullopt;
    return needs_of(node, box);
  }

  Graph& graph_;
  std::unordered_set<const Node*> bypassed_;  // of chains that are made anew
  std::unordered_map<const Value*, Box> needed_;
  std::unordered_map<const Node*, Box> computed_;
  std::unordered_map<const Value*, Computed> narrowed_;
  std::vector<Node*> replaced_;
};

}  // namespace

// Computes only the elements that are read, by moving slices and selects towards the producers.
//   before: y = linear(a, w); z = add(x, y); n = layer_norm(z); r = select(n, 1, 0)
//   after:  z = add(slice(x, 1, 0, 1), linear(slice(a, 1, 0, 1), w)); r = view(layer_norm(z))
// For each value the pass finds the smallest box that holds what all readers read. Some nodes treat the dims of the box
// independently: pointwise operators, linear, matmuls, quantization by rows, norms, softmax, maxima and minima,
// embedding, concatenation, views. They compute only that box, if it is at most half of the elements. Other nodes
// compute everything and are sliced.
// Ensures: no such node computes twice as much as is read, or more.
// Keeps: every value that is read. A kernel may add in a different order for a different number of rows. Never does
// more work.
Result<Changed> narrow_early(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Narrower(g).run(); });
}

}  // namespace wick::xnnpack
