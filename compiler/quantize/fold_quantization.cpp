#include "compiler/quantize/fold_quantization.h"

#include <algorithm>
#include <vector>

#include "compiler/ops/least_scale.h"
#include "compiler/ops/rules.h"
#include "compiler/quantize/quantize_nodes.h"
#include "compiler/quantize/stored_elements.h"

namespace wick::compiler {
namespace {

using QuantizationPtr = std::shared_ptr<const Quantization>;

const OpDef& convert_op() {
  static const OpDef& row = op("wick.convert.default");
  return row;
}

bool read_inside(const Value* value) { return value->num_uses() == value->users().size(); }

// Whether the node computes on the numbers that its operands stand for.
bool computes_on_numbers(const Node& node) { return !node.op->has(kElements) && node.graphs.empty(); }

// --- quantization chosen at run time ---

bool only_for_chain(const QuantizationChain& chain) {
  const auto in_chain = [&](const Node* user) {
    if (user == chain.quantize) return true;
    const auto other = quantization_chain(*user);
    return other && other->dequantize == user && other->quantize == chain.quantize;
  };
  for (const Value* value : {chain.choose->result(0), chain.choose->result(1), chain.quantize->result()}) {
    if (!read_inside(value) || !std::all_of(value->users().begin(), value->users().end(), in_chain)) return false;
  }
  return true;
}

// Whether the node states this range. A bound that it does not state is that of int8.
bool has_range(const Node& node, const Quantization& q) {
  const auto is = [&](const char* name, int64_t wanted, int64_t usual) {
    if (node.op->parsed->find(name) < 0 || node.is_none(name)) return wanted == usual;
    const auto number = literal(node.arg(name));
    return number && *number == static_cast<double>(wanted);
  };
  return is("quant_min", q.quant_min, -128) && is("quant_max", q.quant_max, 127);
}

QuantizationPtr chosen_quantization(const QuantizationChain& chain) {
  auto q = std::make_shared<Quantization>();
  q->real = chain.x->dtype();
  const auto low = literal(chain.quantize->arg("quant_min")), high = literal(chain.quantize->arg("quant_max"));
  if (low) q->quant_min = static_cast<int64_t>(*low);
  if (high) q->quant_max = static_cast<int64_t>(*high);
  q->blocks.assign(chain.x->rank(), chain.by_rows ? 1 : 0);
  if (chain.by_rows) q->blocks.back() = 0;
  q->scales.dtype = chain.choose->result(0)->dtype();
  q->zero_points.dtype = chain.choose->result(1)->dtype();
  q->at_run_time = ChosenAtRunTime{chain.symmetric, least_scale(*chain.choose)};
  q->family = conversion_of(*chain.choose)->family;
  for (const Node* node : {chain.choose, chain.quantize, chain.dequantize}) {
    if (!has_range(*node, *q)) return nullptr;
  }
  TensorType type = chain.quantize->result()->tensor();
  type.quantization = q;
  return refuse_quantization(type).empty() ? q : nullptr;
}

// A value that got another type tentatively, and its former type.
struct Retyped {
  Value* value;
  TensorType before;
};

// A node's operator and arguments before a tentative rewrite.
struct Before {
  Node* node;
  const OpDef* op;
  Args args;
};

class Fold {
 public:
  Fold(Graph& graph, const TakesFn& takes) : graph_(graph), takes_(takes) {}

  // Requires: settle_stored_elements() has run.
  bool run() {
    std::vector<Node*> chosen;
    for (const auto& node : graph_.nodes()) {
      for (const auto& inner : node->graphs) changed_ = Fold(*inner, takes_).run() || changed_;
      if (converts(*node, Conversion::choose)) chosen.push_back(node.get());
    }
    for (Node* node : chosen) fold_chain(*node);
    for (const auto& node : graph_.nodes()) become_conversion(*node);
    for (const auto& node : graph_.nodes()) fold_node(*node);
    erase_unread();
    return changed_;
  }

 private:
  bool is_taken(const Node& node) const { return !takes_ || takes_(node); }

  // --- quantization chosen at run time ---

  void fold_chain(Node& node) {
    const auto chain = quantization_chain(node);
    if (!chain || !only_for_chain(*chain)) return;
    const QuantizationPtr chosen = chosen_quantization(*chain);
    if (!chosen) return;
    Value* elements = chain->quantize->result();
    const std::vector<Node*> dequantizes = elements->users();
    if (takes_ && !all_take(*chain, dequantizes, chosen)) return;
    graph_.rewrite(chain->quantize, convert_op(), {chain->x});
    elements->type.tensor.quantization = chosen;
    for (Node* reader : dequantizes) read_numbers(*reader, elements);
    graph_.erase(chain->choose);
    changed_ = true;
  }

  // Whether the backend takes every reader of the numbers once it reads the elements instead. The graph stays as it
  // was.
  bool all_take(const QuantizationChain& chain, const std::vector<Node*>& dequantizes, const QuantizationPtr& chosen) {
    Value* elements = chain.quantize->result();
    std::vector<Before> before;
    const auto rewrite = [&](Node* node, Value* operand) {
      before.push_back({node, node->op, node->args()});
      graph_.rewrite(node, convert_op(), {operand});
    };
    rewrite(chain.quantize, chain.x);
    elements->type.tensor.quantization = chosen;
    bool taken = true;
    std::vector<Node*> readers;
    for (Node* dequantize : dequantizes) {
      rewrite(dequantize, chain.x);
      Value* numbers = dequantize->result();
      taken = taken && read_inside(numbers);
      for (Node* user : std::vector<Node*>(numbers->users())) {
        before.push_back({user, user->op, user->args()});
        read_instead(*user, numbers, elements);
        readers.push_back(user);
      }
    }
    for (const Node* reader : readers) taken = taken && computes_on_numbers(*reader) && takes_(*reader);
    for (auto each = before.rbegin(); each != before.rend(); ++each)
      graph_.rewrite(each->node, *each->op, std::move(each->args));
    elements->type.tensor.quantization = nullptr;
    return taken;
  }

  // Makes the readers of the dequantized numbers read the elements instead.
  void read_numbers(Node& dequantize, Value* elements) {
    Value* numbers = dequantize.result();
    for (Node* user : std::vector<Node*>(numbers->users())) {
      if (computes_on_numbers(*user)) read_instead(*user, numbers, elements);
    }
    if (numbers->num_uses() == 0)
      graph_.erase(&dequantize);
    else
      graph_.rewrite(&dequantize, convert_op(), {elements});
  }

  // --- arguments ---

  void read_instead(Node& user, Value* from, Value* to) {
    for (size_t i = 0; i < user.args().size(); ++i) replace_in_arg(user, i, from, to);
  }
  void replace_in_arg(Node& user, size_t index, Value* from, Value* to) {
    const Arg& arg = user.arg(index);
    if (arg.is<Value*>() && arg.as<Value*>() == from) return graph_.set_arg(&user, index, to);
    if (!arg.is<Values>()) return;
    Values values = arg.as<Values>();
    if (std::find(values.begin(), values.end(), from) == values.end()) return;
    std::replace(values.begin(), values.end(), from, to);
    graph_.set_arg(&user, index, std::move(values));
  }

  // --- conversions ---

  // Turns quantize(x) or dequantize(q) into convert(..), if the type of the elements has the quantization that the node
  // states.
  void become_conversion(Node& node) {
    if (is_conversion(&node)) conversions_.push_back(node.result());
    const ConversionForm* form = conversion_of(node);
    if (!form || form->conversion == Conversion::choose) return;
    Value* input = node.tensor("input");
    const Value* elements = form->conversion == Conversion::quantize ? node.result() : input;
    const QuantizationPtr stated = elements->is_quantized() ? stated_quantization(node) : nullptr;
    if (!stated || !same_numbers(*stated, *elements->tensor().quantization)) return;
    conversions_.push_back(node.result());
    graph_.rewrite(&node, convert_op(), {input});
    changed_ = true;
  }

  static bool is_conversion(const Node* node) { return node && node->op == &convert_op(); }

  // The elements that a conversion turned into the numbers `value`; null if no conversion made them.
  static Value* elements_behind(const Value* value) {
    if (value->is_quantized() || !is_conversion(value->producer)) return nullptr;
    Value* elements = value->producer->operands()[0];
    return elements->is_quantized() ? elements : nullptr;
  }

  // The type that all readers of `value` convert it to; null: they differ, something else reads it, or its parameters
  // are chosen at run time.
  static const TensorType* type_wanted(const Value& value) {
    const std::vector<Node*>& readers = value.users();
    if (value.is_quantized() || readers.empty() || !read_inside(&value) || !is_conversion(readers.front()))
      return nullptr;
    const TensorType& type = readers.front()->result()->tensor();
    const bool alike = std::all_of(readers.begin(), readers.end(), [&](const Node* reader) {
      return is_conversion(reader) && reader->result()->tensor() == type;
    });
    const bool known = type.quantization && !type.quantization->at_run_time;
    return alike && known && value.tensor().dim_order == type.dim_order ? &type : nullptr;
  }

  // --- a node and the conversions around it ---

  // A conversion that loses its readers stays in the graph until erase_unread().
  void fold_node(Node& node) {
    if (!computes_on_numbers(node)) return;
    const Values reads = numbers_read(node);
    if (is_conversion(&node)) {
      if (!takes_) read_elements(node, reads, false);
      return;
    }
    std::vector<Retyped> results = quantize_results(node);
    if (reads.empty() && results.empty()) return;
    const Args before = node.args();
    read_elements(node, reads, false);
    const Node* clamp = results.empty() ? nullptr : results.back().value->producer;
    if (is_taken(node) && (!clamp || clamp == &node || takes_(*clamp))) return settle(results);
    for (const Retyped& each : results) each.value->type.tensor = each.before;
    graph_.rewrite(&node, *node.op, before);
    if (!read_elements(node, reads, true)) return;
    if (is_taken(node))
      changed_ = true;
    else
      graph_.rewrite(&node, *node.op, before);
  }

  // The operands that are converted from elements.
  static Values numbers_read(const Node& node) {
    Values out;
    for (Value* operand : node.operands()) {
      if (elements_behind(operand)) out.push_back(operand);
    }
    return out;
  }
  bool read_elements(Node& node, const Values& numbers, bool constants_only) {
    bool reads = false;
    for (Value* operand : numbers) {
      Value* elements = elements_behind(operand);
      if (constants_only && !elements->is_constant()) continue;
      read_instead(node, operand, elements);
      reads = true;
    }
    return reads;
  }

  // Gives quantized types to the results of a node and, if there is a backend, to the result of a clamp that is its
  // only reader. Returns the changed values with their former types.
  std::vector<Retyped> quantize_results(const Node& node) {
    std::vector<Retyped> out;
    for (Value* result : node.results()) {
      if (!result->type.is_tensor()) continue;
      if (const TensorType* type = type_wanted(*result)) {
        retype(*result, *type, out);
      } else if (Value* bounded = takes_ && node.results().size() == 1 ? clamped(*result) : nullptr) {
        retype(*result, *type_wanted(*bounded), out);
        retype(*bounded, result->tensor(), out);
      }
    }
    return out;
  }
  static void retype(Value& value, const TensorType& type, std::vector<Retyped>& out) {
    out.push_back({&value, value.tensor()});
    value.type.tensor.dtype = type.dtype;
    value.type.tensor.quantization = type.quantization;
  }

  // The result of a clamp that is the only reader of `value`, if readers convert that result to one quantized type;
  // else null.
  static Value* clamped(const Value& value) {
    const Node* reader = value.num_uses() == 1 && value.users().size() == 1 ? value.users()[0] : nullptr;
    if (!reader || !reader->op->has(kPointwise) || !reader->op->has(kSelectsElements) || reader->operands().size() != 1)
      return nullptr;
    Value* result = reader->result();
    return type_wanted(*result) && result->tensor().dim_order == value.tensor().dim_order ? result : nullptr;
  }

  void settle(const std::vector<Retyped>& results) {
    for (const Retyped& each : results) {
      each.value->forget();
      for (const Node* reader : std::vector<Node*>(each.value->users())) {
        if (is_conversion(reader) && reader->result()->tensor() == each.value->tensor())
          graph_.replace_unchecked(reader->result(), each.value);
      }
    }
    changed_ = true;
  }

  void erase_unread() {
    for (auto result = conversions_.rbegin(); result != conversions_.rend(); ++result) {
      if ((*result)->num_uses() != 0) continue;
      graph_.erase((*result)->producer);
      changed_ = true;
    }
  }

  Graph& graph_;
  const TakesFn& takes_;
  bool changed_ = false;
  std::vector<const Value*> conversions_;  // results of conversions
};

// A constant that nodes dequantize in several ways becomes one constant for each: equal biases of several layers are
// one constant, but their scales differ.
bool separate_constants(Graph& graph) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) changed = separate_constants(*inner) || changed;
  }
  for (Value* constant : graph.constants()) {
    std::vector<std::pair<QuantizationPtr, Value*>> found;  // each quantization, and the constant that has it
    for (Node* user : std::vector<Node*>(constant->users())) {
      const QuantizationPtr stated = converts(*user, Conversion::dequantize) && user->tensor("input") == constant
                                         ? stated_quantization(*user)
                                         : nullptr;
      if (!stated) continue;
      auto same = std::find_if(found.begin(), found.end(),
                               [&](const auto& other) { return same_numbers(*other.first, *stated); });
      if (same == found.end()) {
        Value* own = found.empty() ? constant : graph.add_constant(constant->tensor(), constant->data, constant->name);
        same = found.insert(found.end(), {stated, own});
      }
      if (same->second == constant) continue;
      graph.set_arg(user, 0, same->second);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool fold_quantization(Graph& graph, const TakesFn& takes) {
  const SymScope scope(graph.ranges);
  const bool separated = separate_constants(graph), settled = settle_stored_elements(graph);
  return Fold(graph, takes).run() || settled || separated;
}

}  // namespace wick::compiler
