// Works on regions: connected pointwise nodes whose operands are all the same permutation of other values. Such a
// region can run on the unpermuted values if that leaves fewer permutes.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr int kMaxSweeps = 64;

using Order = std::vector<int64_t>;

bool is_permute(const Node* node) { return node && node->is("aten.permute.default"); }

Order order_of(const Node& permute) {
  Order dims = permute.static_ints("dims");
  for (int64_t& dim : dims) dim = wrap_dim(dim, dims.size());
  return dims;
}

Order inverse(const Order& order) {
  Order out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return out;
}

// permute(permute(x, first), second)
Order compose(const Order& first, const Order& second) {
  Order out;
  for (int64_t dim : second) out.push_back(first[static_cast<size_t>(dim)]);
  return out;
}

class Sinker {
 public:
  Sinker(Graph& graph, const Order& order) : graph_(graph), order_(order) {}

  Changed run() {
    find_members();
    std::map<size_t, std::vector<Node*>> regions;  // by the index of their first node
    for (size_t i = 0; i < members_.size(); ++i) regions[root(i)].push_back(members_[i]);
    Changed changed = Changed::no;
    for (const auto& [first, region] : regions) {
      if (stale_.count(first) || gain(region) <= 0) continue;
      move(region);
      changed = Changed::yes;
    }
    erase_unread(graph_, entries_);
    return changed;
  }

 private:
  bool is_entry(const Node* node) const { return is_permute(node) && order_of(*node) == order_; }
  bool is_member(const Node* node) const { return index_.count(node) != 0; }

  bool can_join(const Node& node) const {
    if (!node.op->has(kPointwise) || node.results().size() != 1 || node.result()->rank() != order_.size()) return false;
    if (!node.result()->tensor().dim_order.empty()) return false;
    bool permuted = false;
    for (const Value* operand : node.operands()) {
      if (!operand->type.is_tensor() || operand->rank() == 0) continue;
      const bool inside =
          operand->rank() == order_.size() && (is_entry(operand->producer) || is_member(operand->producer));
      if (!inside && !operand->is_constant()) return false;
      permuted = permuted || inside;
    }
    return permuted;
  }

  size_t root(size_t index) {
    while (parent_[index] != index) index = parent_[index] = parent_[parent_[index]];
    return index;
  }
  void join(size_t a, size_t b) {
    const size_t x = root(a), y = root(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

  void find_members() {
    std::unordered_map<const Node*, size_t> reader;  // by entry: a member that reads it
    for (const auto& owned : graph_.nodes()) {
      Node* node = owned.get();
      if (is_entry(node)) entries_.push_back(node);
      if (!can_join(*node)) continue;
      const size_t index = members_.size();
      index_.emplace(node, index);
      members_.push_back(node);
      parent_.push_back(index);
      for (const Value* operand : node->operands()) {
        if (is_member(operand->producer))
          join(index, index_.at(operand->producer));
        else if (is_entry(operand->producer))
          join(index, reader.emplace(operand->producer, index).first->second);
      }
    }
  }

  // Whether something outside the region, other than a permute, reads the value.
  bool is_read_outside(const Value& value) const {
    return value.num_uses() != value.users().size() ||
           std::any_of(value.users().begin(), value.users().end(),
                       [&](const Node* user) { return !is_member(user) && !is_permute(user); });
  }

  std::vector<Node*> exits(const Value& value) const {
    std::vector<Node*> out;
    for (Node* user : value.users()) {
      if (is_permute(user)) out.push_back(user);
    }
    return out;
  }

  std::set<Node*> entries(const std::vector<Node*>& region) const {
    std::set<Node*> out;
    for (const Node* node : region) {
      for (const Value* operand : node->operands()) {
        if (is_entry(operand->producer)) out.insert(operand->producer);
      }
    }
    return out;
  }

  // The number of permutes saved minus the number of permutes added.
  int64_t gain(const std::vector<Node*>& region) const {
    int64_t saved = 0;
    const std::set<Node*> sources = entries(region);
    for (const Node* entry : sources) {
      const Value& value = *entry->result();
      saved +=
          value.num_uses() == value.users().size() &&
          std::all_of(value.users().begin(), value.users().end(), [&](const Node* user) { return is_member(user); });
    }
    const Order back = inverse(order_);
    for (const Node* node : region) {
      if (is_read_outside(*node->result())) --saved;
      for (Node* exit : exits(*node->result())) {
        if (sources.count(exit)) return 0;  // it enters and leaves the region
        saved += order_of(*exit) == back;
      }
    }
    return saved;
  }

  // The constant in the order that the unpermuted values have.
  Value* unpermuted(Builder& b, Value* constant) const {
    Sizes sizes(order_.size() - constant->rank(), Sym(1));
    sizes.insert(sizes.end(), constant->sizes().begin(), constant->sizes().end());
    const Order back = inverse(order_);
    Sizes moved(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) moved[static_cast<size_t>(order_[i])] = sizes[i];
    int64_t last = -1;
    for (int64_t dim : back) {  // a reshape is enough if dimensions longer than 1 keep their order
      if (sizes[static_cast<size_t>(dim)].is(1)) continue;
      if (dim < last) return b.permute(b.reshape(constant, sizes), back);
      last = dim;
    }
    return b.reshape(constant, moved);
  }

  void move(const std::vector<Node*>& region) {
    std::unordered_map<const Value*, Value*> moved;
    for (Node* node : region) {
      Builder b(graph_, node);
      Args args = node->args();
      for (Arg& arg : args) {
        if (!arg.is<Value*>() || !arg.as<Value*>()->type.is_tensor() || arg.as<Value*>()->rank() == 0) continue;
        Value* operand = arg.as<Value*>();
        const auto it = moved.find(operand);
        arg = it != moved.end()        ? it->second
              : operand->is_constant() ? unpermuted(b, operand)
                                       : operand->producer->arg(size_t{0}).as<Value*>();
      }
      Value* value = b.call(node->op->name(), std::move(args));
      for (const OriginPtr& origin : node->more_origins) value->producer->more_origins.push_back(origin);
      moved.emplace(node->result(), value);
    }
    for (Node* node : region) replace_readers(*node, moved.at(node->result()));
    for (auto it = region.rbegin(); it != region.rend(); ++it) {
      index_.erase(*it);
      graph_.erase(*it);
    }
  }

  void replace_readers(Node& node, Value* moved) {
    for (Node* exit : exits(*node.result())) {
      Builder b(graph_, exit);
      Value* value = b.permute(moved, compose(order_, order_of(*exit)));
      add_origins(*value->producer, *exit);
      for (const Node* user : exit->result()->users()) {
        if (is_member(user)) stale_.insert(root(index_.at(user)));
      }
      graph_.replace(exit->result(), value);
      std::erase(entries_, exit);
      graph_.erase(exit);
    }
    if (is_read_outside(*node.result())) {
      Builder b(graph_, &node);
      graph_.replace(node.result(), b.permute(moved, order_));
    }
  }

  Graph& graph_;
  const Order& order_;
  std::vector<Node*> members_, entries_;
  std::unordered_map<const Node*, size_t> index_;
  std::vector<size_t> parent_;
  std::set<size_t> stale_;  // regions that lost an entry to a moved region; the next sweep takes them again
};

Changed sink(Graph& graph) {
  Changed changed = Changed::no;
  Changed again = Changed::yes;
  for (int sweep = 0; sweep < kMaxSweeps && again == Changed::yes; ++sweep) {
    again = Changed::no;
    std::set<Order> orders;
    for (const auto& node : graph.nodes()) {
      if (is_permute(node.get())) orders.insert(order_of(*node));
    }
    for (const Order& order : orders) again = again | Sinker(graph, order).run();
    changed = changed | again;
  }
  return changed;
}

}  // namespace

// Moves permutes through pointwise operators if that leaves fewer of them: inverse permutes cancel, equal ones merge.
//   before: p = permute(x, [0, 2, 1]); r = relu(p); y = permute(r, [0, 2, 1])          after: y = relu(x)
// Ensures: the number of permutes of computed values never grows; each change lowers it. Constants beside a moved value
// are permuted instead, and fold_constants computes them.
// Keeps: every value. Each element is computed as before, in another position.
Result<Changed> sink_transposes(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return sink(g); });
}

}  // namespace wick::compiler
