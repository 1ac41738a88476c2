#include "backends/cuda/compile/state/state_writes.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {

using compiler::Graph;
using compiler::StateUpdate;

namespace {

bool writes_region(const Value* value) {
  const Node* node = value->producer;
  if (!node || value->result_index != 0) return false;
  const OpRule* rule = find_rule(*node);
  return rule && rule->writes_region && node->tensor("self")->type == value->type;
}

// The operand of a value that is the same elements in the same order with other sizes; null for other values.
const Value* reshaped_from(const Value* value) {
  const Node* node = value->producer;
  if (!node || !node->is(compiler::Movement::view)) return nullptr;
  return node->tensor("self");
}

// The initial value of a loop's carried value, if the loop may write over it: nothing else of the loop reads it.
const Value* carried_from(const Value* value) {
  const Node* node = value->producer;
  if (!node || (!node->is("higher_order.while_loop.default") && !node->is("higher_order.scan.default"))) return nullptr;
  const compiler::Values initial = node->tensors(node->is("higher_order.scan.default") ? "init" : "carried_inputs");
  if (value->result_index >= initial.size()) return nullptr;
  const Value* from = initial[value->result_index];
  const std::vector<Value*> operands = node->operands();
  return from->type == value->type && std::count(operands.begin(), operands.end(), from) == 1 ? from : nullptr;
}

// Whether `view` is the view of the operand that `write` replaces.
bool is_replaced_view(const Node& write, const Value* view) {
  const Node* node = view->producer;
  const bool slices = write.is("aten.slice_scatter.default") && node && node->is("aten.slice.Tensor");
  const bool selects = write.is("aten.select_scatter.default") && node && node->is("aten.select.int");
  if (!slices && !selects) return false;
  if (node->tensor("self") != write.tensor("self") || node->args().size() + 1 != write.args().size()) return false;
  for (size_t i = 1; i < node->args().size(); ++i) {
    if (!(node->arg(i) == write.arg(i + 1))) return false;
  }
  return true;
}

class WriteFinder {
 public:
  WriteFinder(const Graph& graph, bool through_views, StateWrites& out)
      : graph_(graph), through_views_(through_views), out_(out) {}

  void run(const std::vector<StateUpdate>& updates) {
    for (const StateUpdate& update : updates) {
      StateWrites found;
      if (update.value == update.target || !follow(update.value, update.target, true, found)) continue;
      out_.over.insert(found.over.begin(), found.over.end());
      out_.through_view.insert(found.through_view.begin(), found.through_view.end());
      out_.reshaped.insert(found.reshaped.begin(), found.reshaped.end());
      out_.states.insert(update.target);
    }
    sort();
  }

 private:
  // Whether `value` is a version of `first`. Adds the writes between the two to `found`. `whole`: `first` has memory of
  // its own, it is no view.
  bool follow(const Value* value, const Value* first, bool whole, StateWrites& found) {
    for (const Value* before = nullptr; value != first; value = before) {
      if (out_.over.count(value) || found.over.count(value)) return false;
      if (const Value* initial = whole ? carried_from(value) : nullptr) {
        before = found.over[value] = initial;
        continue;
      }
      if (before = whole && through_views_ ? reshaped_from(value) : nullptr; before) {
        found.reshaped.insert(value);
        continue;
      }
      if (!writes_region(value)) return false;
      const Node& node = *value->producer;
      before = found.over[value] = node.tensor("self");
      if (!through_views_ || node.op->parsed->find("src") < 0) continue;
      const Value* source = node.tensor("src");
      const Value* view = source;
      while (writes_region(view)) view = view->producer->tensor("self");
      StateWrites inner = found;
      if (view == source || !is_replaced_view(node, view) || !follow(source, view, false, inner)) continue;
      found = std::move(inner);
      found.through_view.insert(value);
      views_[value] = source;
    }
    return true;
  }

  using Readers = std::set<const Node*>;
  // Adds the nodes that read the value or a view of it.
  static void collect_readers(const Value* value, Readers& readers) {
    for (const Node* user : value->users()) {
      if (readers.insert(user).second && user->op->has(compiler::kView)) collect_readers(user->result(), readers);
    }
  }
  static void collect_later(const Node* node, Readers& later) {
    std::vector<const Node*> open = {node};
    while (!open.empty()) {
      const std::vector<Value*> results = open.back()->results();
      open.pop_back();
      for (const Value* result : results) {
        for (const Node* user : result->users()) {
          if (later.insert(user).second) open.push_back(user);
        }
      }
    }
  }

  // Readers of `over` must come before `write`, except for those that depend on it.
  void add_edges(const Node* write, const Value* over) {
    while (out_.reshaped.count(over)) over = reshaped_from(over);
    Readers readers, later = {write};
    collect_readers(over, readers);
    collect_later(write, later);
    for (const Node* reader : readers) {
      if (!later.count(reader)) before_[write].insert(reader);
    }
  }

  void sort() {
    std::map<const Node*, size_t> position;
    for (const auto& node : graph_.nodes()) {
      position.emplace(node.get(), out_.order.size());
      out_.order.push_back(node.get());
    }
    if (out_.over.empty()) return;
    for (const auto& [result, over] : out_.over) {
      if (!out_.through_view.count(result)) {
        add_edges(result->producer, over);
        continue;
      }
      for (const Value* inner = views_.at(result); out_.over.count(inner); inner = out_.over.at(inner))
        add_edges(inner->producer, over);
    }
    const std::vector<const Node*> sorted = by_dependences(position);
    if (sorted.size() == out_.order.size()) out_.order = sorted;
  }

  // A topological order that takes the earliest node that is ready. Has fewer than all nodes if there is a cycle.
  std::vector<const Node*> by_dependences(const std::map<const Node*, size_t>& position) const {
    const size_t count = out_.order.size();
    std::vector<std::set<size_t>> after(count);
    std::vector<size_t> waiting(count, 0);
    const auto add = [&](size_t from, size_t to) { waiting[to] += after[from].insert(to).second; };
    size_t last_random = count;
    for (size_t i = 0; i < count; ++i) {
      const Node* node = out_.order[i];
      for (const Value* operand : node->operands()) {
        if (operand->producer) add(position.at(operand->producer), i);
      }
      const auto extra = before_.find(node);
      if (extra != before_.end()) {
        for (const Node* reader : extra->second) add(position.at(reader), i);
      }
      if (!node->op->has(compiler::kRandom)) continue;
      if (last_random != count) add(last_random, i);
      last_random = i;
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < count; ++i) {
      if (waiting[i] == 0) ready.push(i);
    }
    std::vector<const Node*> out;
    while (!ready.empty()) {
      const size_t i = ready.top();
      ready.pop();
      out.push_back(out_.order[i]);
      for (const size_t next : after[i]) {
        if (--waiting[next] == 0) ready.push(next);
      }
    }
    return out;
  }

  const Graph& graph_;
  bool through_views_;
  StateWrites& out_;
  std::map<const Value*, const Value*> views_;  // by the result of a write through a view: the write's source
  std::map<const Node*, Readers> before_;       // only for lookups: its order depends on addresses
};

}  // namespace

StateWrites find_state_writes(const Graph& graph, const std::vector<StateUpdate>& updates, bool through_views) {
  StateWrites out;
  WriteFinder(graph, through_views, out).run(updates);
  return out;
}

}  // namespace wick::cuda
