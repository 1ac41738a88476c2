#include "compiler/layout/solver.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "compiler/layout/constant_elements.h"

namespace wick::compiler::layout {

using Kind = LayoutRule::Kind;

namespace {

constexpr int kMaxSweeps = 8;

int64_t bytes_of(const Value& value) {
  constexpr int64_t kMany = int64_t{1} << 40;  // sums of those do not overflow
  return std::min(elements(value.sizes()), kMany) * static_cast<int64_t>(dtype_size_bytes(value.dtype()));
}

bool is_innermost(const Sizes& dims, const DimOrder& order, size_t dim) {
  return same_bytes(dims, order, made_last(order, dim));
}

// The dim order in which a reduction reads an operand that lies in `order`.
DimOrder reduce_order(const LayoutRule& rule, const Sizes& dims, const DimOrder& order) {
  if (!can_merge(dims, rule.reduced)) return apart(dims, order, rule.reduced);
  if (adjacent_run(dims, order, rule.reduced)) return order;
  DimOrder plain = plain_order(dims.size());
  if (adjacent_run(dims, plain, rule.reduced)) return plain;
  DimOrder moved;
  for (const uint8_t dim : plain) {
    if (!rule.reduced[dim]) moved.push_back(dim);
  }
  for (const uint8_t dim : plain) {
    if (rule.reduced[dim]) moved.push_back(dim);
  }
  return moved;
}

}  // namespace

const DimOrder& Layouts::of(const Value* value) const { return values_.at(value); }
const DimOrder& Layouts::order(const Node& node) const {
  const auto found = orders_.find(&node);
  return found == orders_.end() ? values_.at(node.result()) : found->second;
}

DimOrder Layouts::wanted(const Node& node, const LayoutRule& rule, const DimOrder& chosen, size_t index,
                         const Value& operand, const DimOrder& own) {
  const Sizes& dims = operand.sizes();
  const DimOrder plain = plain_order(dims.size());
  switch (rule.kind) {
    case Kind::contiguous: return plain;
    case Kind::any: return without_leading(chosen, dims.size());
    case Kind::last: return index == 0 ? chosen : plain;
    case Kind::fixed:
      // An operand that is broadcast may have fewer dimensions than the result.
      if (index == 0) return rule.order.size() == dims.size() ? rule.order : plain;
      return index <= rule.others.size() && !rule.others[index - 1].empty() ? rule.others[index - 1] : plain;
    case Kind::permute:
    case Kind::select: return own;
    case Kind::view: return through_view(dims, own, node.result()->sizes()) ? own : plain;
    case Kind::reduce: return reduce_order(rule, dims, own);
    case Kind::matmul: {
      if (index == 0) return plain;
      const DimOrder swapped = swapped_order(dims.size());
      return same_bytes(dims, own, swapped) && !same_bytes(dims, own, plain) ? swapped : plain;
    }
  }
  return own;
}

bool takes_any_dim_order(const Value& value) {
  return value.is_constant() || (value.producer && value.producer->op->has(kScratch));
}

bool is_free(const LayoutRule& rule) { return rule.kind == Kind::any || rule.kind == Kind::last; }

RuledNode ruled(Node& node, const LayoutRules& rules) {
  RuledNode out = {&node, rules.of(node), {}};
  for (Value* operand : rules.operands ? rules.operands(node) : node.operands()) {
    if (operand->type.is_tensor()) out.operands.push_back(operand);
  }
  const bool has_result = !node.results().empty() && node.result()->type.is_tensor();
  const bool has_source = !out.operands.empty() || out.rule.kind == Kind::any || out.rule.kind == Kind::fixed;
  if (!has_result || !has_source) out.rule.kind = Kind::contiguous;
  return out;
}

LayoutRule contiguous(const Node&) {
  LayoutRule rule;
  rule.kind = Kind::contiguous;
  return rule;
}

LayoutRule any_dim_order(const Node&) { return {}; }

LayoutRule channels_last(const Node& node) {
  LayoutRule rule;
  rule.kind = Kind::fixed;
  rule.order = channels_last_order(node.result()->rank());
  return rule;
}

LayoutRule innermost(size_t dim) {
  LayoutRule rule;
  rule.kind = Kind::last;
  rule.dim = dim;
  return rule;
}

class LayoutSolver {
 public:
  LayoutSolver(const Graph& graph, const LayoutRules& rules) {
    for (const GraphOutput& output : graph.outputs) outputs_.insert(output.value);
    for (const StateUpdate& update : graph.updates) outputs_.insert(update.value);
    for (const auto& node : graph.nodes()) {
      const RuledNode& placed = nodes_.emplace_back(ruled(*node, rules));
      for (const Value* operand : placed.operands) {
        // The operand is an input, a constant or a value of an enclosing graph.
        if (!rules_.count(operand->producer)) layouts_.values_.try_emplace(operand, stored_order(*operand));
      }
      rules_.emplace(node.get(), &placed);
    }
  }

  Layouts solve() {
    forward();
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      bool changed = false;
      if (sweep % 2 == 0) {
        for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) changed |= improve(*it);
      } else {
        for (RuledNode& placed : nodes_) changed |= improve(placed);
      }
      forward();
      if (!changed) break;
    }
    return std::move(layouts_);
  }

 private:
  const DimOrder& order(const Value* value) const { return layouts_.values_.at(value); }

  // Derives the dim orders of results from the choices made so far. A free node without a choice takes that of its
  // largest operand.
  void forward() {
    for (const RuledNode& placed : nodes_) {
      for (const Value* result : placed.node->results()) {
        if (result->type.is_tensor()) layouts_.values_[result] = plain_order(result->rank());
      }
      if (placed.rule.kind == Kind::contiguous) continue;
      if (is_free(placed.rule)) {
        auto [chosen, fresh] = layouts_.orders_.try_emplace(placed.node);
        if (fresh) chosen->second = first_order(placed);
        layouts_.values_[placed.node->result()] = chosen->second;
      } else {
        layouts_.values_[placed.node->result()] =
            derived(placed, placed.operands.empty() ? placed.rule.order : order(placed.operands[0]));
      }
    }
  }

  DimOrder first_order(const RuledNode& placed) const {
    const size_t rank = placed.node->result()->rank();
    const Value* largest = nullptr;
    for (const Value* operand : placed.operands) {
      if (takes_any_dim_order(*operand) || operand->rank() > rank) continue;
      if (!largest || elements(operand->sizes()) > elements(largest->sizes())) largest = operand;
    }
    const DimOrder start = largest ? with_leading_ones(order(largest), rank) : plain_order(rank);
    return adjusted(placed, start);
  }

  static DimOrder adjusted(const RuledNode& placed, const DimOrder& order) {
    if (placed.rule.kind != Kind::last) return order;
    // The dimension must be innermost in the operand and in the result. A dimension of size 1 always is.
    const Value* operand = placed.operands[0];
    const bool innermost = is_innermost(operand->sizes(), order, placed.rule.dim) &&
                           is_innermost(placed.node->result()->sizes(), order, placed.rule.dim);
    return innermost ? order : made_last(order, placed.rule.dim);
  }

  // Dim order of the result of a node whose order was not chosen and whose first operand has `order`.
  static DimOrder derived(const RuledNode& placed, const DimOrder& order) {
    const Node& node = *placed.node;
    if (placed.rule.kind == Kind::fixed) return placed.rule.order;
    const Sizes& dims = placed.operands[0]->sizes();
    switch (placed.rule.kind) {
      case Kind::permute: return permuted(order, placed.rule.perm);
      case Kind::select: return without_dim(order, placed.rule.dim);
      case Kind::view: {
        const Sizes to = node.result()->sizes();
        const auto through = through_view(dims, order, to);
        return through ? *through : plain_order(to.size());
      }
      case Kind::reduce: {
        DimOrder out = reduce_order(placed.rule, dims, order);
        if (placed.rule.keep_dims) return out;
        for (size_t dim = dims.size(); dim-- > 0;) {
          if (placed.rule.reduced[dim]) out = without_dim(out, dim);
        }
        return out;
      }
      default: return plain_order(node.result()->rank());
    }
  }

  bool improve(const RuledNode& placed) {
    if (!is_free(placed.rule)) return false;
    DimOrder& chosen = layouts_.orders_.at(placed.node);
    std::vector<DimOrder> candidates;
    const size_t rank = placed.node->result()->rank();
    for (const Value* operand : placed.operands) {
      if (!takes_any_dim_order(*operand) && operand->rank() <= rank)
        candidates.push_back(with_leading_ones(order(operand), rank));
    }
    add_wishes(placed.node->result(), candidates, 0);
    candidates.push_back(plain_order(rank));
    int64_t best_cost = cost_around(placed, chosen);
    bool changed = false;
    for (const DimOrder& candidate : candidates) {
      const DimOrder order = adjusted(placed, candidate);
      if (best_cost == 0) break;
      const int64_t cost = cost_around(placed, order);
      if (cost >= best_cost) continue;
      best_cost = cost;
      chosen = order;
      changed = true;
    }
    if (changed) layouts_.values_[placed.node->result()] = chosen;
    return changed;
  }

  static constexpr int kMaxDepth = 8;

  // Null for a node of a graph inside this one: it reads contiguous tensors.
  const RuledNode* reader_of(const Node* user) const {
    const auto found = rules_.find(user);
    return found == rules_.end() ? nullptr : found->second;
  }

  // The dim orders that readers of `value` want it to have.
  void add_wishes(const Value* value, std::vector<DimOrder>& wishes, int depth) const {
    if (depth > kMaxDepth) return;
    for (const Node* user : value->users()) {
      const RuledNode* reader = reader_of(user);
      if (!reader) continue;
      if (states_its_wishes(reader->rule)) {
        for (const size_t i : places_of(value, *reader)) wishes.push_back(wanted(*reader, i, order(value)));
        continue;
      }
      std::vector<DimOrder> later;
      add_wishes(user->result(), later, depth + 1);
      for (const DimOrder& wish : later) add_source_of(*reader, wish, *value, wishes);
    }
  }

  // The dim order of `value`, which `reader` carries through, for which the reader's result has the dim order `wish`.
  static void add_source_of(const RuledNode& reader, const DimOrder& wish, const Value& value,
                            std::vector<DimOrder>& wishes) {
    if (reader.rule.kind == Kind::permute) wishes.push_back(before_permute(wish, reader.rule.perm));
    if (reader.rule.kind == Kind::select) wishes.push_back(with_dim(wish, reader.rule.dim));
    if (reader.rule.kind != Kind::view) return;
    const auto back = through_view(reader.node->result()->sizes(), wish, value.sizes());
    if (back) wishes.push_back(*back);
  }

  static std::vector<size_t> places_of(const Value* value, const RuledNode& reader) {
    std::vector<size_t> places;
    for (size_t i = 0; i < reader.operands.size(); ++i) {
      if (reader.operands[i] == value) places.push_back(i);
    }
    return places;
  }

  // Whether the rule itself fixes the dim order in which the node reads its operands.
  static bool states_its_wishes(const LayoutRule& rule) {
    return is_free(rule) || rule.kind == Kind::fixed || rule.kind == Kind::matmul || rule.kind == Kind::contiguous;
  }

  DimOrder wanted(const RuledNode& reader, size_t operand, const DimOrder& own) const {
    const auto chosen = layouts_.orders_.find(reader.node);
    return Layouts::wanted(*reader.node, reader.rule, chosen == layouts_.orders_.end() ? DimOrder() : chosen->second,
                           operand, *reader.operands[operand], own);
  }

  // Bytes that are transposed around a node that lies in `chosen`.
  int64_t cost_around(const RuledNode& placed, const DimOrder& chosen) const {
    int64_t cost = 0;
    const std::vector<Value*>& operands = placed.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (takes_any_dim_order(*operands[i])) continue;
      const DimOrder& own = order(operands[i]);
      const DimOrder want = Layouts::wanted(*placed.node, placed.rule, chosen, i, *operands[i], own);
      const Sizes& dims = operands[i]->sizes();
      if (!same_bytes(dims, own, want)) cost += bytes_of(*operands[i]);
    }
    return cost + cost_of_readers(placed.node->result(), chosen, 0);
  }

  // Bytes that the readers of `value` transpose if it lies in `order`.
  int64_t cost_of_readers(const Value* value, const DimOrder& order, int depth) const {
    const Sizes& dims = value->sizes();
    std::vector<DimOrder> copies;
    const auto need = [&](const DimOrder& want) {
      const auto same = [&](const DimOrder& have) { return same_bytes(dims, have, want); };
      if (same(order) || std::any_of(copies.begin(), copies.end(), same)) return;
      copies.push_back(want);
    };
    int64_t cost = 0;
    for (const Node* user : value->users()) {
      const RuledNode* reader = reader_of(user);
      if (!reader) {
        need(plain_order(dims.size()));
        continue;
      }
      if (states_its_wishes(reader->rule)) {
        for (const size_t i : places_of(value, *reader)) need(wanted(*reader, i, order));
        continue;
      }
      need(wanted(*reader, 0, order));
      if (depth < kMaxDepth) cost += cost_of_readers(user->result(), derived(*reader, order), depth + 1);
    }
    if (outputs_.count(value)) need(plain_order(dims.size()));
    return cost + bytes_of(*value) * static_cast<int64_t>(copies.size());
  }

  std::deque<RuledNode> nodes_;
  std::unordered_map<const Node*, const RuledNode*> rules_;
  std::unordered_set<const Value*> outputs_;
  Layouts layouts_;
};

Layouts assign_layouts(const Graph& graph, const LayoutRules& rules) { return LayoutSolver(graph, rules).solve(); }

}  // namespace wick::compiler::layout
