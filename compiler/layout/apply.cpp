#include "compiler/layout/apply.h"

#include <algorithm>
#include <map>

#include "compiler/ir/builder.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/layout/solver.h"

namespace wick::compiler::layout {
namespace {

bool has_layout(const Value* value) { return value && value->type.is_tensor() && value->rank() >= 2; }

// A cat that join_in_memory can write for any dim order.
bool joins(const Node& node) {
  if (!node.is("aten.cat.default") || !is_static(node.result()->sizes())) return false;
  const Values parts = node.tensors("tensors");
  return std::all_of(parts.begin(), parts.end(), [&](const Value* part) {
    return part->rank() == node.result()->rank() && part->dtype() == node.result()->dtype();
  });
}

std::vector<uint8_t> type_order(const DimOrder& order) {
  return order == plain_order(order.size()) ? std::vector<uint8_t>() : order;
}

class Applier {
 public:
  Applier(Graph& graph, const LayoutRules& rules) : graph_(graph), rules_(rules) {}

  bool run() {
    const SymScope scope(graph_.ranges);
    layouts_ = assign_layouts(graph_, rules_);
    const std::vector<Node*> nodes = graph_.node_list();
    for (Node* node : nodes) {
      for (Value* result : node->results()) {
        if (has_layout(result)) set_order(*result, layouts_.of(result));
      }
    }
    for (Node* node : nodes) {
      read_as_wanted(*node);
      for (const auto& inner : node->graphs) changed_ |= apply_layouts(*inner, rules_);
      if (joins(*node) && is_free(rules_.of(*node))) join_in_memory(*node, layouts_.order(*node));
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      Value* value = graph_.outputs[i].value;
      if (has_layout(value)) graph_.set_output(i, as(value, plain_order(value->rank()), nullptr));
    }
    for (size_t i = 0; i < graph_.updates.size(); ++i) {
      Value* value = graph_.updates[i].value;
      if (has_layout(value)) graph_.set_update(i, as(value, stored_order(*graph_.updates[i].target), nullptr));
    }
    return changed_;
  }

 private:
  void set_order(Value& value, const DimOrder& order) {
    const std::vector<uint8_t> wanted = type_order(order);
    changed_ |= value.type.tensor.dim_order != wanted;
    value.type.tensor.dim_order = wanted;
  }

  void read_as_wanted(Node& node) {
    const RuledNode placed = ruled(node, rules_);
    std::vector<std::pair<Value*, DimOrder>> wishes;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      Value* operand = placed.operands[i];
      if (!has_layout(operand)) continue;
      const DimOrder chosen = is_free(placed.rule) ? layouts_.order(node) : DimOrder();
      wishes.emplace_back(operand, Layouts::wanted(node, placed.rule, chosen, i, *operand, stored_order(*operand)));
    }
    size_t next = 0;
    const auto replaced = [&](Value* value) -> Value* {
      if (next >= wishes.size() || wishes[next].first != value) return value;
      return as(value, wishes[next++].second, &node);
    };
    for (size_t i = 0; i < node.args().size(); ++i) {
      const Arg& arg = node.arg(i);
      if (arg.is<Value*>()) {
        Value* value = replaced(arg.as<Value*>());
        if (value != arg.as<Value*>()) graph_.set_arg(&node, i, value);
      } else if (arg.is<Values>()) {
        Values values = arg.as<Values>();
        for (Value*& value : values) value = replaced(value);
        if (!(Arg(values) == arg)) graph_.set_arg(&node, i, std::move(values));
      }
    }
  }

  // `value` in dim order `order`. A copy, if needed, is made in front of `before` (null: at the end of the graph).
  Value* as(Value* value, const DimOrder& order, Node* before) {
    if (stored_order(*value) == order) return value;
    if (takes_any_dim_order(*value) && !value->is_constant()) {
      set_order(*value, order);
      return value;
    }
    auto [known, fresh] = copies_.try_emplace({value, order}, nullptr);
    if (fresh) known->second = value->is_constant() ? permuted(*value, order) : copy(value, order, before);
    changed_ = true;
    return known->second;
  }

  // Rewrites a cat of tensors that lie in `order` as a cat of contiguous tensors between permutes.
  void join_in_memory(Node& node, const DimOrder& order) {
    if (order == plain_order(order.size())) return;
    const std::vector<int64_t> dims(order.begin(), order.end());
    std::vector<int64_t> back(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) back[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
    Builder b(graph_, &node);
    Values parts = node.tensors("tensors");
    for (Value*& part : parts) part = b.permute(part, dims);
    const int64_t dim = wrap_dim(node.static_integer("dim"), order.size());
    Value* joined = b.permute(b.call("aten.cat", {std::move(parts), back[static_cast<size_t>(dim)]}), back);
    set_order(*joined, order);
    graph_.replace_unchecked(node.result(), joined);
    graph_.erase(&node);
    changed_ = true;
  }

  Value* permuted(const Value& value, const DimOrder& order) {
    const DimOrder from = stored_order(value);
    std::vector<int64_t> perm;
    for (const uint8_t dim : order) perm.push_back(std::find(from.begin(), from.end(), dim) - from.begin());
    TensorType type = value.tensor();
    type.dim_order = type_order(order);
    const size_t element_bytes = dtype_size_bytes(value.dtype());
    return graph_.add_constant(type, permuted_elements(value.data, element_bytes, physical(value.sizes(), from), perm),
                               graph_.unique_name(value.name));
  }

  Value* copy(Value* value, const DimOrder& order, Node* before) {
    Ints dims;
    for (const uint8_t dim : order) dims.push_back(dim);
    const Node* owner = value->producer ? value->producer : before;
    Builder builder(graph_, before, owner ? owner->origin : nullptr);
    Value* made = rules_.copy ? rules_.copy(builder, value, order) : nullptr;
    if (!made)
      made = builder.call("dim_order_ops._to_dim_order_copy", {value, None(), None(), None(), None(), false, dims});
    made->type = value->type;  // quantized copies stay quantized
    made->type.tensor.dim_order = type_order(order);
    return made;
  }

  Graph& graph_;
  const LayoutRules& rules_;
  Layouts layouts_;
  std::map<std::pair<Value*, DimOrder>, Value*> copies_;  // looked up only
  bool changed_ = false;
};

}  // namespace

// The rule of a view or permute of static sizes: it costs nothing if it can share its operand's bytes. Nothing for
// other nodes.
std::optional<LayoutRule> view_rule(const Node& node) {
  if (!node.op->has(kView) || node.results().size() != 1 || !is_static(node.result()->sizes())) return {};
  LayoutRule rule;
  if (node.is(Movement::view)) {
    rule.kind = LayoutRule::Kind::view;
    return rule;
  }
  if (!node.is(Movement::permute)) return {};
  rule.kind = LayoutRule::Kind::permute;
  for (const int64_t dim : node.static_ints("dims")) rule.perm.push_back(wrap_dim(dim, node.result()->rank()));
  return rule;
}

LayoutRule portable_rule(const Node& node) {
  if (const auto rule = view_rule(node)) return *rule;
  if (joins(node)) return any_dim_order(node);
  if (!node.op->has(kPointwise) || node.results().size() != 1 || !node.op->kernel) return contiguous(node);
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor() || !(operand->sizes() == node.result()->sizes())) return contiguous(node);
  }
  return any_dim_order(node);
}

bool apply_layouts(Graph& graph, const LayoutRules& rules) { return Applier(graph, rules).run(); }

}  // namespace wick::compiler::layout
