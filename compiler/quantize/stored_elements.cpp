#include "compiler/quantize/stored_elements.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

using QuantizationPtr = std::shared_ptr<const Quantization>;

bool is_integer_tensor(const Value* value) { return value && value->type.is_tensor() && is_integral(value->dtype()); }

bool one_scale(const Quantization& q) { return q.is_per_tensor() && !q.at_run_time; }

// As same_numbers, but quantizations with a single scale may belong to tensors of different ranks.
bool agree(const Quantization& a, const Quantization& b) {
  if (!one_scale(a) || !one_scale(b) || a.blocks.size() == b.blocks.size()) return same_numbers(a, b);
  Quantization other = b;
  other.blocks = a.blocks;
  return same_numbers(a, other);
}

bool same_range(const Quantization& a, const Quantization& b) {
  return a.quant_min == b.quant_min && a.quant_max == b.quant_max;
}

// Whether the node only moves elements, and all operands and results have one dtype.
bool only_moves(const Node& node) {
  if (!node.op->has(kView) && !node.op->has(kIdentity) && !node.is("aten.cat.default")) return false;
  const Values operands = node.operands();
  const auto same = [&](const Value* value) {
    return value->type.is_tensor() && value->dtype() == node.result()->dtype();
  };
  return !operands.empty() && std::all_of(operands.begin(), operands.end(), same) &&
         std::all_of(node.results().begin(), node.results().end(), same);
}

// A set of values between which elements move, and what is known of the elements.
struct Elements {
  std::vector<Value*> values;
  bool integers = false;       // a node computes with them, or computes them, as integers
  bool moved = false;          // they change position within a tensor, which requires a single scale
  bool differ = false;         // nodes quantize them in different ways
  QuantizationPtr made, read;  // stated by the first node that quantizes them, that dequantizes them
};

class Settle {
 public:
  bool run(Graph& graph) {
    visit(graph);
    bool changed = false;
    for (const Elements& set : sets_) changed = settle(set) || changed;
    return changed;
  }

 private:
  // --- sets ---
  size_t set_of(Value* value) {
    const auto [found, fresh] = index_.try_emplace(value, sets_.size());
    if (fresh) {
      sets_.emplace_back().values.push_back(value);
      if (value->tensor().quantization) claim(sets_.back().made, sets_.back(), value->tensor().quantization);
    }
    return found->second;
  }
  void claim(QuantizationPtr& place, Elements& set, const QuantizationPtr& q) {
    if (!place) place = q;
    if (&place == &set.made && (!agree(*place, *q) || !same_range(*place, *q))) set.differ = true;
  }
  // Merges the sets of `a` and `b`, the smaller one into the larger one. Returns the index of the result.
  size_t join(Value* a, Value* b, bool moves) {
    size_t to = set_of(a), from = set_of(b);
    if (to != from) {
      if (sets_[to].values.size() < sets_[from].values.size()) std::swap(to, from);
      Elements& into = sets_[to];
      Elements& gone = sets_[from];
      for (Value* value : gone.values) index_[value] = to;
      into.values.insert(into.values.end(), gone.values.begin(), gone.values.end());
      into.integers |= gone.integers;
      into.moved |= gone.moved;
      into.differ |= gone.differ;
      if (gone.made) claim(into.made, into, gone.made);
      if (!into.read) into.read = gone.read;
      gone = Elements();
    }
    sets_[to].moved |= moves;
    return to;
  }
  void link(Value* a, Value* b, bool moves = false) {
    if (is_integer_tensor(a) && is_integer_tensor(b) && a->dtype() == b->dtype()) join(a, b, moves);
  }
  void computes_with(Value* value) {
    if (is_integer_tensor(value)) sets_[set_of(value)].integers = true;
  }

  // --- nodes ---
  void visit(Graph& graph) {
    for (const auto& node : graph.nodes()) visit_node(*node);
    for (const StateUpdate& update : graph.updates) link(update.target, update.value);
  }

  void visit_node(Node& node) {
    if (!node.graphs.empty()) return visit_control(node);
    if (const ConversionForm* form = conversion_of(node)) return visit_conversion(node, *form);
    if (node.op->has(kElements)) return;
    const Values operands = node.operands();
    const bool folded = std::any_of(operands.begin(), operands.end(), std::mem_fn(&Value::is_quantized)) ||
                        std::any_of(node.results().begin(), node.results().end(), std::mem_fn(&Value::is_quantized));
    if (folded) return;  // computes on numbers
    const bool moves = only_moves(node);
    for (Value* operand : operands) {
      if (moves)
        link(operand, node.result(), true);
      else
        computes_with(operand);
    }
    for (Value* result : node.results()) {
      if (moves)
        link(result, node.result(), true);
      else
        computes_with(result);
    }
  }

  void visit_conversion(const Node& node, const ConversionForm& form) {
    if (form.conversion == Conversion::choose) return;
    const bool makes = form.conversion == Conversion::quantize;
    const QuantizationPtr stated = stated_quantization(node);
    if (!stated) return;
    Elements& set = sets_[set_of(makes ? node.result() : node.tensor("input"))];
    claim(makes ? set.made : set.read, set, stated);
  }

  void visit_control(Node& node) {
    for (const auto& inner : node.graphs) visit(*inner);
    const Values operands = node.operands();
    const bool is_cond = node.is("higher_order.cond.default"), is_loop = node.is("higher_order.while_loop.default");
    for (const auto& inner : node.graphs) {
      // The inputs of a graph are the last operands. For cond these are all operands after the predicate.
      const size_t count = std::min(inner->inputs.size(), operands.size());
      for (size_t i = 0; i < count; ++i)
        link(operands[operands.size() - 1 - i], inner->inputs[inner->inputs.size() - 1 - i].value,
             !is_cond && !is_loop);
    }
    const Graph& body = *node.graphs.back();
    for (size_t i = 0; i < body.outputs.size() && i < node.results().size(); ++i) {
      for (const auto& inner : node.graphs) {
        if (is_cond || inner.get() == &body) link(node.result(i), inner->outputs[i].value, !is_cond && !is_loop);
      }
      // A carried output is the input of the next iteration.
      if (!is_cond && i < body.inputs.size() && carries(node, i)) link(body.inputs[i].value, body.outputs[i].value);
    }
  }
  static bool carries(const Node& node, size_t index) {
    if (node.is("higher_order.while_loop.default")) return true;
    return node.is("higher_order.scan.default") && index < node.tensors("init").size();
  }

  // --- types ---
  static bool settle(const Elements& set) {
    const QuantizationPtr& q = set.made ? set.made : set.read;
    if (!q || set.integers || set.differ || (set.moved && !one_scale(*q))) return false;
    std::vector<TensorType> types;
    for (const Value* value : set.values) {
      TensorType type = value->tensor();
      type.quantization = q;
      if (q->blocks.size() != type.rank()) {
        if (!one_scale(*q)) return false;
        auto other = std::make_shared<Quantization>(*q);
        other->blocks.assign(type.rank(), 0);
        type.quantization = other;
      }
      if (!refuse_quantization(type).empty()) return false;
      types.push_back(std::move(type));
    }
    bool changed = false;
    for (size_t i = 0; i < types.size(); ++i) {
      TensorType& type = set.values[i]->type.tensor;
      if (type.quantization) continue;
      type.quantization = types[i].quantization;
      changed = true;
    }
    return changed;
  }

  std::vector<Elements> sets_;
  std::unordered_map<const Value*, size_t> index_;  // looked up only
};

}  // namespace

bool settle_stored_elements(Graph& graph) { return Settle().run(graph); }

}  // namespace wick::compiler
