#include "backends/xnnpack/compile/layout.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

namespace wick::xnnpack {

using compiler::Graph;
using compiler::Node;
using compiler::Value;
using Kind = LayoutRule::Kind;

namespace {

constexpr int kMaxSweeps = 8;

bool is_free(const LayoutRule& rule) { return rule.kind == Kind::any || rule.kind == Kind::last; }

int64_t bytes_of(const Value& value) {
  return elements(dims_of(value)) * static_cast<int64_t>(dtype_size_bytes(value.dtype()));
}

bool is_innermost(const Dims& dims, const Order& order, size_t dim) {
  return same_bytes(dims, order, made_last(order, dim));
}

// The order in which a reduction reads an operand that lies in `order`.
Order reduce_order(const LayoutRule& rule, const Dims& dims, const Order& order) {
  if (!can_merge(dims, rule.reduced)) return apart(dims, order, rule.reduced);
  if (adjacent_run(dims, order, rule.reduced)) return order;
  Order plain = plain_order(dims.size());
  if (adjacent_run(dims, plain, rule.reduced)) return plain;
  Order moved;
  for (const uint8_t dim : plain) {
    if (!rule.reduced[dim]) moved.push_back(dim);
  }
  for (const uint8_t dim : plain) {
    if (rule.reduced[dim]) moved.push_back(dim);
  }
  return moved;
}

}  // namespace

const Order& Layouts::of(const Value* value) const { return values_.at(value); }
const Order& Layouts::choice(const Node& node) const {
  const auto found = choices_.find(&node);
  return found == choices_.end() ? values_.at(node.result()) : found->second;
}

Order Layouts::wanted(const Node& node, const LayoutRule& rule, const Order& choice, size_t operand,
                      const Order& order) {
  const Dims dims = dims_of(*tensor_operands(node)[operand]);
  switch (rule.kind) {
    case Kind::any: return without_leading(choice, dims.size());
    case Kind::last: return operand == 0 ? choice : plain_order(dims.size());
    case Kind::fixed: return operand == 0 ? rule.order : plain_order(dims.size());
    case Kind::permute:
    case Kind::select: return order;
    case Kind::view: return through_view(dims, order, dims_of(*node.result())) ? order : plain_order(dims.size());
    case Kind::reduce: return reduce_order(rule, dims, order);
    case Kind::matmul: {
      Order plain = plain_order(dims.size());
      if (operand == 0) return plain;
      const Order swapped = swapped_order(dims.size());
      return same_bytes(dims, order, swapped) && !same_bytes(dims, order, plain) ? swapped : plain;
    }
  }
  return order;
}

class LayoutSolver {
 public:
  explicit LayoutSolver(const Graph& graph) {
    for (const compiler::GraphOutput& output : graph.outputs) outputs_.insert(output.value);
    for (const auto& node : graph.nodes()) {
      const OpRule* row = find_rule(*node);
      nodes_.push_back({node.get(), row->layout(*node)});
      rules_.emplace(node.get(), &nodes_.back());
    }
    for (const auto& node : nodes_) {
      for (const Value* operand : tensor_operands(*node.node)) {
        if (!operand->producer) layouts_.values_.try_emplace(operand, plain_order(operand->rank()));
      }
    }
  }

  Layouts solve() {
    forward();
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      bool changed = false;
      if (sweep % 2 == 0) {
        for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) changed |= improve(*it);
      } else {
        for (Placed& placed : nodes_) changed |= improve(placed);
      }
      forward();
      if (!changed) break;
    }
    return std::move(layouts_);
  }

 private:
  struct Placed {
    const Node* node;
    LayoutRule rule;
  };

  const Order& order(const Value* value) const { return layouts_.values_.at(value); }

  // Orders of results from the choices made so far; where none was made, that of the largest operand.
  void forward() {
    for (const Placed& placed : nodes_) {
      if (is_free(placed.rule)) {
        auto [choice, fresh] = layouts_.choices_.try_emplace(placed.node);
        if (fresh) choice->second = first_choice(placed);
        layouts_.values_[placed.node->result()] = choice->second;
      } else {
        const Value* operand = tensor_operands(*placed.node)[0];
        layouts_.values_[placed.node->result()] = derived(placed, order(operand));
      }
    }
  }

  Order first_choice(const Placed& placed) const {
    const size_t rank = placed.node->result()->rank();
    const Value* largest = nullptr;
    for (const Value* operand : tensor_operands(*placed.node)) {
      if (operand->is_constant() || operand->rank() > rank) continue;
      if (!largest || elements(dims_of(*operand)) > elements(dims_of(*largest))) largest = operand;
    }
    const Order start = largest ? with_leading_ones(order(largest), rank) : plain_order(rank);
    return adjusted(placed, start);
  }

  static Order adjusted(const Placed& placed, const Order& order) {
    if (placed.rule.kind != Kind::last) return order;
    // Of the operand and of the result: a size of 1 is innermost in any order.
    const Value* operand = tensor_operands(*placed.node)[0];
    const bool innermost = is_innermost(dims_of(*operand), order, placed.rule.dim) &&
                           is_innermost(dims_of(*placed.node->result()), order, placed.rule.dim);
    return innermost ? order : made_last(order, placed.rule.dim);
  }

  // Order of the result of a node without choice whose first operand lies in `order`.
  static Order derived(const Placed& placed, const Order& order) {
    const Node& node = *placed.node;
    const Value& operand = *tensor_operands(node)[0];
    const Dims dims = dims_of(operand);
    switch (placed.rule.kind) {
      case Kind::permute: return permuted(order, placed.rule.perm);
      case Kind::select: return without_dim(order, placed.rule.dim);
      case Kind::view: {
        const Dims to = dims_of(*node.result());
        const auto through = through_view(dims, order, to);
        return through ? *through : plain_order(to.size());
      }
      case Kind::reduce: {
        Order out = reduce_order(placed.rule, dims, order);
        if (placed.rule.keep_dims) return out;
        for (size_t dim = dims.size(); dim-- > 0;) {
          if (placed.rule.reduced[dim]) out = without_dim(out, dim);
        }
        return out;
      }
      case Kind::fixed: return placed.rule.order;
      default: return plain_order(node.result()->rank());
    }
  }

  bool improve(const Placed& placed) {
    if (!is_free(placed.rule)) return false;
    Order& choice = layouts_.choices_.at(placed.node);
    std::vector<Order> candidates;
    const size_t rank = placed.node->result()->rank();
    for (const Value* operand : tensor_operands(*placed.node)) {
      if (!operand->is_constant() && operand->rank() <= rank)
        candidates.push_back(with_leading_ones(order(operand), rank));
    }
    add_wishes(placed.node->result(), candidates, 0);
    candidates.push_back(plain_order(rank));
    int64_t best_cost = cost_around(placed, choice);
    bool changed = false;
    for (const Order& candidate : candidates) {
      const Order order = adjusted(placed, candidate);
      if (best_cost == 0) break;
      const int64_t cost = cost_around(placed, order);
      if (cost >= best_cost) continue;
      best_cost = cost;
      choice = order;
      changed = true;
    }
    if (changed) layouts_.values_[placed.node->result()] = choice;
    return changed;
  }

  static constexpr int kMaxDepth = 8;

  // Orders that readers of `value` would like it to have.
  void add_wishes(const Value* value, std::vector<Order>& wishes, int depth) const {
    if (depth > kMaxDepth) return;
    for (const Node* user : value->users()) {
      const Placed& reader = *rules_.at(user);
      if (is_free(reader.rule) || reader.rule.kind == Kind::fixed || reader.rule.kind == Kind::matmul) {
        for (size_t i : places_of(value, *user)) wishes.push_back(wanted(reader, i, order(value)));
        continue;
      }
      std::vector<Order> later;
      add_wishes(user->result(), later, depth + 1);
      for (const Order& wish : later) {
        if (reader.rule.kind == Kind::permute) wishes.push_back(before_permute(wish, reader.rule.perm));
        if (reader.rule.kind == Kind::select) wishes.push_back(with_dim(wish, reader.rule.dim));
        if (reader.rule.kind != Kind::view) continue;
        const auto back = through_view(dims_of(*user->result()), wish, dims_of(*value));
        if (back) wishes.push_back(*back);
      }
    }
  }

  static std::vector<size_t> places_of(const Value* value, const Node& user) {
    std::vector<size_t> places;
    const auto operands = tensor_operands(user);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == value) places.push_back(i);
    }
    return places;
  }

  Order wanted(const Placed& reader, size_t operand, const Order& own) const {
    const auto choice = layouts_.choices_.find(reader.node);
    return Layouts::wanted(*reader.node, reader.rule, choice == layouts_.choices_.end() ? Order() : choice->second,
                           operand, own);
  }

  // Bytes that are transposed around a node that lies in `choice`.
  int64_t cost_around(const Placed& placed, const Order& choice) const {
    int64_t cost = 0;
    const auto operands = tensor_operands(*placed.node);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i]->is_constant()) continue;
      const Order& own = order(operands[i]);
      const Order want = Layouts::wanted(*placed.node, placed.rule, choice, i, own);
      const Dims dims = dims_of(*operands[i]);
      if (!same_bytes(dims, own, want)) cost += bytes_of(*operands[i]);
    }
    return cost + cost_of_readers(placed.node->result(), choice, 0);
  }

  // Bytes that the readers of `value` transpose if it lies in `order`.
  int64_t cost_of_readers(const Value* value, const Order& order, int depth) const {
    const Dims dims = dims_of(*value);
    std::vector<Order> copies;
    const auto need = [&](const Order& want) {
      const auto same = [&](const Order& have) { return same_bytes(dims, have, want); };
      if (same(order) || std::any_of(copies.begin(), copies.end(), same)) return;
      copies.push_back(want);
    };
    int64_t cost = 0;
    for (const Node* user : value->users()) {
      const Placed& reader = *rules_.at(user);
      if (is_free(reader.rule) || reader.rule.kind == Kind::fixed || reader.rule.kind == Kind::matmul) {
        for (const size_t i : places_of(value, *user)) need(wanted(reader, i, order));
        continue;
      }
      const Order want = wanted(reader, 0, order);
      need(want);
      if (depth < kMaxDepth) cost += cost_of_readers(user->result(), derived(reader, order), depth + 1);
    }
    if (outputs_.count(value)) need(plain_order(dims.size()));
    return cost + bytes_of(*value) * static_cast<int64_t>(copies.size());
  }

  std::deque<Placed> nodes_;
  std::unordered_map<const Node*, const Placed*> rules_;
  std::unordered_set<const Value*> outputs_;
  Layouts layouts_;
};

Layouts assign_layouts(const Graph& graph) { return LayoutSolver(graph).solve(); }

}  // namespace wick::xnnpack
