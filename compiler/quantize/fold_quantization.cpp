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

const OpDef& convert_op() { return op("wick.convert.default"); }

bool read_inside(const Value* value) { return value->num_uses() == value->users().size(); }

// Whether the node computes on the numbers that its operands stand for.
bool computes_on_numbers(const Node& node) { return !node.op->has(kElements) && node.graphs.empty(); }

// --- what is chosen at run time ---

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

// Whether the node names this range, or none where all of int8 is meant.
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

class Fold {
 public:
  explicit Fold(Graph& graph) : graph_(graph) {}

  // The types of elements have been settled.
  bool run() {
    std::vector<Node*> chosen;
    for (const auto& node : graph_.nodes()) {
      for (const auto& inner : node->graphs) changed_ = Fold(*inner).run() || changed_;
      if (converts(*node, Conversion::choose)) chosen.push_back(node.get());
    }
    for (Node* node : chosen) fold_chain(*node);
    for (const auto& node : graph_.nodes()) convert_from_numbers(*node);
    for (Node* node : graph_.node_list()) fold_into_readers(*node);
    for (const Value* elements : quantized_) fold_into_producer(*elements);
    return changed_;
  }

 private:
  void fold_chain(Node& node) {
    const auto chain = quantization_chain(node);
    if (!chain || !only_for_chain(*chain)) return;
    const QuantizationPtr chosen = chosen_quantization(*chain);
    if (!chosen) return;
    Value* elements = chain->quantize->result();
    for (Node* reader : std::vector<Node*>(elements->users())) read_numbers(*reader, elements);
    graph_.rewrite(chain->quantize, convert_op(), {chain->x});
    elements->type.tensor.quantization = chosen;
    graph_.erase(chain->choose);
    changed_ = true;
  }

  // quantize(x) to convert(x)
  void convert_from_numbers(Node& node) {
    if (!converts(node, Conversion::quantize)) return;
    Value* elements = node.result();
    const QuantizationPtr stated = elements->is_quantized() ? stated_quantization(node) : nullptr;
    if (!stated || !same_numbers(*stated, *elements->tensor().quantization)) return;
    quantized_.push_back(node.result());
    graph_.rewrite(&node, convert_op(), {node.tensor("input")});
    changed_ = true;
  }

  void fold_into_readers(Node& node) {
    if (!converts(node, Conversion::dequantize)) return;
    Value* elements = node.tensor("input");
    const QuantizationPtr stated = elements->is_quantized() ? stated_quantization(node) : nullptr;
    if (stated && same_numbers(*stated, *elements->tensor().quantization)) read_numbers(node, elements);
  }

  // Who reads the numbers that `dequantize` gives reads the elements.
  void read_numbers(Node& dequantize, Value* elements) {
    Value* numbers = dequantize.result();
    for (Node* user : std::vector<Node*>(numbers->users())) {
      if (!computes_on_numbers(*user)) continue;
      for (size_t i = 0; i < user->args().size(); ++i) replace_in_arg(*user, i, numbers, elements);
    }
    if (numbers->num_uses() == 0)
      graph_.erase(&dequantize);
    else
      graph_.rewrite(&dequantize, convert_op(), {elements});
    changed_ = true;
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

  // convert(y) where y is computed for it only: its producer gives the elements.
  void fold_into_producer(const Value& elements) {
    if (!elements.producer) return;  // folded with another one
    Value* numbers = elements.producer->operands()[0];
    const TensorType& type = elements.tensor();
    if (!numbers->producer || numbers->is_quantized() || !computes_on_numbers(*numbers->producer) ||
        !read_inside(numbers))
      return;
    const std::vector<Node*> readers = numbers->users();
    const bool alike = std::all_of(readers.begin(), readers.end(), [&](const Node* reader) {
      return reader->op == &convert_op() && reader->result()->tensor() == type;
    });
    if (!alike || numbers->tensor().dim_order != type.dim_order) return;
    numbers->type.tensor.dtype = type.dtype;
    numbers->type.tensor.quantization = type.quantization;
    numbers->forget();
    for (Node* reader : readers) {
      graph_.replace_unchecked(reader->result(), numbers);
      graph_.erase(reader);
    }
  }

  Graph& graph_;
  bool changed_ = false;
  std::vector<const Value*> quantized_;  // results of quantize nodes that became conversions
};

// A constant that nodes dequantize in several ways becomes one constant for each: equal biases of several layers are
// one constant, but their scales differ.
bool separate_constants(Graph& graph) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) changed = separate_constants(*inner) || changed;
  }
  for (Value* constant : graph.constants()) {
    std::vector<std::pair<QuantizationPtr, Value*>> found;  // what holds, and of which constant
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

bool fold_quantization(Graph& graph) {
  const bool separated = separate_constants(graph), settled = settle_stored_elements(graph);
  return Fold(graph).run() || settled || separated;
}

}  // namespace wick::compiler
