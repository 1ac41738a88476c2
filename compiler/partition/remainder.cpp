#include "compiler/partition/remainder.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "compiler/partition/dependences.h"

namespace wick::compiler {
namespace {

using NodeSet = std::unordered_set<const Node*>;

bool contains_taken(const Graph& graph, const Taken& taken) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) {
    return taken.nodes.count(node.get()) > 0 ||
           std::any_of(node->graphs.begin(), node->graphs.end(),
                       [&](const auto& inner) { return contains_taken(*inner, taken); });
  });
}

bool runs_once(const Node& node) {
  if (node.op->has(kRandom | kEffect | kDataDependent)) return true;
  return std::any_of(node.results().begin(), node.results().end(),
                     [](const Value* result) { return !result->type.is_tensor(); });
}

bool has_effect(const Node& node) {
  return node.op->has(kEffect) || std::any_of(node.graphs.begin(), node.graphs.end(), [](const auto& graph) {
           return std::any_of(graph->nodes().begin(), graph->nodes().end(),
                              [](const auto& inner) { return has_effect(*inner); });
         });
}

bool reaches(const Node& from, const Value* wanted) {
  NodeSet seen;
  std::vector<const Node*> open{&from};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Value* operand : node->operands()) {
      if (operand == wanted) return true;
      if (operand->producer) open.push_back(operand->producer);
    }
  }
  return false;
}

// Puts the target's part of one copied graph into the original. Graphs inside nodes have PutBack objects of their own.
class PutBack {
 public:
  PutBack(Graph& graph, const Graph& copy, const OriginMap& sources, const Taken& taken)
      : graph_(graph), copy_(copy), sources_(sources), taken_(taken) {}

  bool run() {
    if (!match_entries()) return false;
    look_at_copy();
    for (const auto& node : copy_.nodes()) {
      if (!carry(*node)) return false;
    }
    graph_.delegates = copy_.delegates;
    graph_.ranges.insert(copy_.ranges.begin(), copy_.ranges.end());
    return connect_effects() && connect_results() && leaves_held_alone() && sort();
  }

 private:
  // --- what corresponds ---

  bool match_entries() {
    const std::vector<Value*> states = buffers_of(graph_), copies = buffers_of(copy_);
    if (copy_.inputs.size() != graph_.inputs.size() || copies.size() != states.size() ||
        copy_.outputs.size() != graph_.outputs.size())
      return false;
    for (size_t i = 0; i < states.size(); ++i) {
      values_[copies[i]] = states[i];
      // The target's delegates hold this buffer.
      if (copies[i]->kind == ValueKind::held && states[i]->kind == ValueKind::state) graph_.hold(states[i]);
    }
    if (copy_.updates.size() != graph_.updates.size()) return false;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].value) values_[copy_.inputs[i].value] = graph_.inputs[i].value;
    }
    return true;
  }

  static std::vector<Value*> buffers_of(const Graph& graph) {
    std::vector<Value*> out;
    for (const auto& value : graph.values()) {
      if (value->kind == ValueKind::state || value->kind == ValueKind::held) out.push_back(value.get());
    }
    return out;
  }

  // The node of the graph from which a node with graphs was copied, if both still correspond; else null.
  static Node* twin_of(const Node& node) {
    if (node.results().empty() || node.result()->stands_for.empty()) return nullptr;
    Node* twin = node.result()->stands_for.front()->producer;
    const bool same = twin && twin->op == node.op && twin->graphs.size() == node.graphs.size() &&
                      twin->args().size() == node.args().size() && twin->results().size() == node.results().size();
    return same ? twin : nullptr;
  }

  void look_at_copy() {
    for (const auto& value : graph_.values()) by_name_.emplace(value->name, value.get());
    for (const OriginPtr& origin : taken_.origins) {
      const auto [first, last] = sources_.equal_range(origin);
      for (auto it = first; it != last; ++it) covered_.insert(it->second);
    }
    for (const auto& value : copy_.values()) {
      if (value->kind == ValueKind::result && !value->producer)
        inside_.insert(value->stands_for.begin(), value->stands_for.end());
    }
    size_t at = 0;
    for (const auto& node : copy_.nodes()) {
      for (const Value* result : node->results()) {
        for (const Value* original : result->stands_for) positions_.try_emplace(original->producer, at);
      }
      if (node->results().empty()) {
        const auto [first, last] = sources_.equal_range(node->origin);
        for (auto it = first; it != last; ++it) positions_.try_emplace(it->second, at);
      }
      ++at;
      const Node* twin = holds_taken(*node) ? twin_of(*node) : nullptr;
      if (twin) pending_.insert(twin);
    }
  }

  bool is_copy(const Node& copy, const Node& node) const {
    const auto [first, last] = sources_.equal_range(copy.origin);
    return copy.op == node.op && std::any_of(first, last, [&](const auto& source) { return source.second == &node; });
  }

  bool holds_taken(const Node& node) const {
    return std::any_of(node.graphs.begin(), node.graphs.end(),
                       [&](const auto& inner) { return contains_taken(*inner, taken_); });
  }

  Value* current(Value* value) const {
    for (auto found = replaced_.find(value); found != replaced_.end(); found = replaced_.find(value))
      value = found->second;
    return value;
  }

  // --- which values the graph still computes by itself ---

  // Whether the graph still computes `value` by itself: nothing that leads to it was taken, or it comes from nodes
  // brought from the copy.
  bool is_available(const Value* value) {
    std::vector<const Value*> open{value};
    while (!open.empty()) {
      const Value* at = open.back();
      const Value* next = nullptr;
      const bool decided = available_.count(at) || refused_.count(at) || decide(at, next);
      if (decided)
        open.pop_back();
      else
        open.push_back(next);
    }
    return available_.count(value) > 0;
  }

  // Decides whether `value` is available. False if `next` has to be decided first.
  bool decide(const Value* value, const Value*& next) {
    const Node* node = value->producer;
    if (!node || brought_.count(node)) {
      available_.insert(value);
      return true;
    }
    bool refused = covered_.count(node) || pending_.count(node) || inside_.count(value);
    for (const Value* operand : node->operands()) {
      if (refused) break;
      refused = refused_.count(operand) > 0;
      if (refused || available_.count(operand)) continue;
      next = operand;
      return false;
    }
    (refused ? refused_ : available_).insert(value);
    return true;
  }

  Value* original_of(const Value& value) {
    for (Value* original : value.stands_for) {
      original = current(original);
      if (is_available(original)) return original;
    }
    return nullptr;
  }

  // --- bringing nodes of the copy ---

  // The value of the graph for `value` of the copy. Brings the nodes that compute it if necessary. Null if that is not
  // possible.
  Value* settled(const Value* value) {
    std::vector<const Value*> open{value};
    while (!open.empty()) {
      const Value* at = open.back();
      if (!values_.count(at) && !settle(*at, open)) return nullptr;
      if (values_.count(at)) open.pop_back();
    }
    return current(values_.at(value));
  }

  bool settle(const Value& value, std::vector<const Value*>& open) {
    if (Value* original = original_of(value)) {
      values_[&value] = original;
    } else if (value.is_constant()) {
      values_[&value] = graph_.add_constant(value.tensor(), value.data, value.name, value.fqn);
    } else {
      if (!value.producer || runs_once(*value.producer)) return false;
      const size_t before = open.size();
      for (const Value* operand : value.producer->operands()) {
        if (!values_.count(operand)) open.push_back(operand);
      }
      if (open.size() == before) bring(*value.producer);
    }
    return true;
  }

  // Updates what the operands of a node of the copy are in the graph. Requires: they are settled.
  void refresh_operands(const Node& node) {
    for (const Value* operand : node.operands()) values_[operand] = current(values_.at(operand));
  }

  // Copies a node of the copy into the graph. Requires: its operands are settled.
  void bring(const Node& node) {
    refresh_operands(node);
    const Node* made = copy_node(node, graph_, values_);
    brought_.emplace(made, &node);
    refused_.clear();
    for (const Value* result : node.results()) swap_name(*result, *values_.at(result));
    for (const Value* result : node.results()) adopt(*result, *values_.at(result));
  }

  // Gives `made` the name that `value` has in the copy. The value of the graph with that name gets the name of `made`.
  void swap_name(const Value& value, Value& made) {
    if (value.name == made.name) return;
    const auto owner = by_name_.find(value.name);
    if (owner == by_name_.end()) return;
    std::swap(owner->second->name, made.name);
    owner->second = &made;
  }

  // Redirects the readers of the graph's values that `value` of the copy stands for to `made`, unless that would form a
  // cycle.
  void adopt(const Value& value, Value& made) {
    for (Value* original : value.stands_for) {
      original = current(original);
      const bool fits = original != &made && original->kind == ValueKind::result && original->type == made.type;
      if (!fits || reaches(*made.producer, original)) continue;
      graph_.replace(original, &made);
      replaced_[original] = &made;
    }
  }

  bool carry(const Node& node) {
    const bool inside = holds_taken(node);
    if (!inside && !taken_.nodes.count(&node)) return true;
    for (const Value* operand : node.operands()) {
      if (!settled(operand)) return false;
    }
    Node* twin = inside ? twin_of(node) : nullptr;
    if (!twin) {
      bring(node);
      return true;
    }
    for (size_t i = 0; i < node.graphs.size(); ++i) {
      if (!same_inputs(*twin->graphs[i], *node.graphs[i])) return false;
      if (!PutBack(*twin->graphs[i], *node.graphs[i], sources_, taken_).run()) return false;
    }
    connect(*twin, node);
    pending_.erase(twin);
    refused_.clear();
    for (size_t i = 0; i < node.results().size(); ++i) values_[node.result(i)] = current(twin->result(i));
    return true;
  }

  static bool same_inputs(const Graph& graph, const Graph& copy) {
    if (graph.inputs.size() != copy.inputs.size()) return false;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Value* value = copy.inputs[i].value;
      if (!value || value->num_uses() == 0) continue;
      if (std::count(value->stands_for.begin(), value->stands_for.end(), graph.inputs[i].value) == 0) return false;
    }
    return true;
  }

  // --- nodes with effects, outputs, updates ---

  // If the graph no longer computes an operand of `node`, gives it the operands of `copy`. Requires: these are settled.
  void connect(Node& node, const Node& copy) {
    const auto operands = node.operands();
    if (std::all_of(operands.begin(), operands.end(), [&](const Value* operand) { return is_available(operand); }))
      return;
    refresh_operands(copy);
    for (size_t i = 0; i < node.args().size(); ++i) graph_.set_arg(&node, i, copy_arg(copy.arg(i), values_));
  }

  // A node without results that the copy lacks was proven to do nothing, or was decomposed there.
  bool connect_effects() {
    std::vector<const Node*> copies;
    for (const auto& node : copy_.nodes()) {
      if (node->results().empty()) copies.push_back(node.get());
    }
    std::vector<Node*> effects;
    for (const auto& node : graph_.nodes()) {
      if (node->results().empty()) effects.push_back(node.get());
    }
    for (Node* node : effects) {
      const auto found =
          std::find_if(copies.begin(), copies.end(), [&](const Node* copy) { return is_copy(*copy, *node); });
      if (brought_.count(node)) continue;
      if (found == copies.end() && node->op->decompose) {
        const auto operands = node->operands();
        if (!std::all_of(operands.begin(), operands.end(), [&](const Value* value) { return is_available(value); }))
          return false;
        continue;
      }
      if (found == copies.end()) {
        graph_.erase(node);
        continue;
      }
      for (const Value* operand : (*found)->operands()) {
        if (!settled(operand)) return false;
      }
      connect(*node, **found);
      copies.erase(found);
    }
    return true;
  }

  bool connect_results() {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Value *own = graph_.outputs[i].value, *copied = copy_.outputs[i].value;
      if (!own || (own->kind != ValueKind::held && is_available(own))) continue;
      Value* value = copied ? settled(copied) : nullptr;
      if (!value) return false;
      graph_.set_output(i, value);
    }
    for (size_t i = 0; i < graph_.updates.size(); ++i) {
      if (current(values_.at(copy_.updates[i].target)) != graph_.updates[i].target) return false;
      if (is_available(graph_.updates[i].value)) continue;
      Value* value = settled(copy_.updates[i].value);
      if (!value) return false;
      graph_.set_update(i, value);
    }
    return true;
  }

  // Whether no output, and no node that an output, update or effect depends on, reads a buffer that delegates hold.
  bool leaves_held_alone() const {
    const std::vector<Value*> held = graph_.held_states();
    if (held.empty()) return true;
    NodeSet seen;
    std::vector<const Node*> open;
    const auto visit = [&](const Value* value) {
      if (value && value->producer && seen.insert(value->producer).second) open.push_back(value->producer);
    };
    for (const GraphOutput& output : graph_.outputs) visit(output.value);
    for (const StateUpdate& update : graph_.updates) visit(update.value);
    for (const auto& node : graph_.nodes()) {
      const bool counts = node->results().empty() || has_effect(*node);
      if (counts && seen.insert(node.get()).second) open.push_back(node.get());
    }
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (const Value* operand : node->operands()) {
        if (operand->kind == ValueKind::held) return false;
        visit(operand);
      }
    }
    return std::none_of(graph_.outputs.begin(), graph_.outputs.end(), [](const GraphOutput& output) {
      return output.value && output.value->kind == ValueKind::held;
    });
  }

  // --- order ---

  // The graph's nodes in the order of the copy. A node that the copy lacks stays behind the node that it followed.
  std::vector<Node*> in_order_of_copy() const {
    NodeIndex at;
    for (const auto& node : copy_.nodes()) at.emplace(node.get(), static_cast<uint32_t>(at.size()));
    std::vector<std::pair<size_t, Node*>> keyed;
    size_t last = 0;
    for (const auto& node : graph_.nodes()) {
      const auto brought = brought_.find(node.get());
      const auto position = positions_.find(node.get());
      if (brought != brought_.end())
        last = at.at(brought->second);
      else if (position != positions_.end())
        last = position->second;
      keyed.emplace_back(last, node.get());
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Node*> nodes;
    for (const auto& [key, node] : keyed) nodes.push_back(node);
    return nodes;
  }

  // Sorts the nodes by their dependences. False if these form a cycle.
  bool sort() {
    const std::vector<Node*> nodes = in_order_of_copy();
    NodeIndex index;
    for (Node* node : nodes) index.emplace(node, static_cast<uint32_t>(index.size()));
    const Dependences dependences = dependences_of(graph_, nodes, index);
    std::vector<std::vector<uint32_t>> after(nodes.size());
    std::vector<size_t> waiting(nodes.size());
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      waiting[i] = dependences.before[i].size();
      for (const uint32_t before : dependences.before[i]) after[before].push_back(i);
      if (waiting[i] == 0) ready.push(i);
    }
    size_t count = 0;
    for (; !ready.empty(); ++count) {
      const uint32_t i = ready.top();
      ready.pop();
      graph_.move(nodes[i], nullptr);
      for (const uint32_t next : after[i]) {
        if (--waiting[next] == 0) ready.push(next);
      }
    }
    return count == nodes.size();
  }

  Graph& graph_;
  const Graph& copy_;
  const OriginMap& sources_;
  const Taken& taken_;
  ValueMap values_;                          // by value of the copy: the value of the graph
  NodeSet covered_;                          // nodes of the graph that something taken was made from
  NodeSet pending_;                          // nodes with graphs in which something is taken, not yet put back
  std::unordered_set<const Value*> inside_;  // values that the target computes but does not output
  std::unordered_map<const Node*, const Node*> brought_;  // by node brought into the graph: the node of the copy
  std::unordered_map<const Node*, size_t> positions_;     // by node of the graph: its position in the copy
  std::unordered_map<const Value*, Value*> replaced_;     // by value of the graph: the one that replaced it
  std::unordered_map<std::string, Value*> by_name_;       // values of the graph
  std::unordered_set<const Value*> available_, refused_;  // values of the graph; refused: until something is brought
};

}  // namespace

bool put_back(Graph& graph, const Graph& copy, const OriginMap& sources, const Taken& taken) {
  return PutBack(graph, copy, sources, taken).run();
}

}  // namespace wick::compiler
