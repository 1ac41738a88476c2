#include <algorithm>
#include <unordered_map>

#include "compiler/ir/builder.h"
#include "compiler/quantize/fold_quantization.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

using Family = Quantization::Family;

// The numbers of a list as a constant of these sizes.
Value* constant_of(Builder& b, const NumberList& list, Sizes sizes, std::string_view name) {
  return b.constant(TensorType{list.dtype, std::move(sizes), {}}, list.data, name);
}

// --- parameters known at compile time ---

// The arguments of a node that quantizes or dequantizes `input`: how many elements share a parameter, and the
// parameters. `type` is that of the elements.
class Written {
 public:
  Written(Builder& b, const TensorType& type) : b_(b), type_(type), q_(*type.quantization) {}

  Node* quantize(Value* x) { return write("quantize", x); }
  Node* dequantize(Value* elements) { return write("dequantize", elements); }

 private:
  bool is_group() const { return type_.rank() == 2 && q_.blocks[0] == 1; }

  Node* write(const std::string& what, Value* input) {
    const bool makes = what == "quantize";
    const std::string name = what + "_";
    const Arg low = q_.quant_min, high = q_.quant_max;
    if (q_.family == Family::affine || !(q_.is_per_tensor() || q_.channel_dim() || is_group())) {
      Args args = {input, block_size(), list(q_.scales, "scale"), list(q_.zero_points, "zero"), type_.dtype, low, high};
      if (!makes) args.push_back(q_.real);
      return b_.node("torchao." + name + "affine", std::move(args));
    }
    if (q_.is_per_tensor()) return b_.node(name_of_tensor(name), tensor_args(input, makes));
    const std::vector<int64_t> counts = sizes_of_parameters();
    if (const auto dim = q_.channel_dim()) {
      const Sizes channels = {counts[*dim]};
      Args args = {input,
                   constant_of(b_, q_.scales, channels, "scales"),
                   constant_of(b_, q_.zero_points, channels, "zero_points"),
                   static_cast<int64_t>(*dim),
                   low,
                   high,
                   type_.dtype};
      if (!makes) args.push_back(q_.real);
      return b_.node("quantized_decomposed." + name + "per_channel", std::move(args));
    }
    Args args = {input,       list(q_.scales, "scales"), list(q_.zero_points, "zero_points"), low, high, type_.dtype,
                 q_.blocks[1]};
    if (!makes) args.push_back(q_.real);
    return b_.node("quantized_decomposed." + name + "per_channel_group", std::move(args));
  }

  // Whether parameters are number arguments rather than constants, as they were in the model.
  bool has_number_args() const { return q_.scales.dtype == DType::f64 && q_.zero_points.dtype == DType::i64; }
  std::string name_of_tensor(const std::string& name) const {
    return "quantized_decomposed." + name + "per_tensor" + (has_number_args() ? ".default" : ".tensor");
  }
  Args tensor_args(Value* input, bool makes) {
    Args args = {input};
    if (has_number_args()) {
      args.push_back(q_.scales[0]);
      args.push_back(static_cast<int64_t>(q_.zero_points[0]));
    } else {
      args.push_back(constant_of(b_, q_.scales, {}, "scale"));
      args.push_back(constant_of(b_, q_.zero_points, {}, "zero_point"));
    }
    for (Arg arg : {Arg(q_.quant_min), Arg(q_.quant_max), Arg(type_.dtype)}) args.push_back(std::move(arg));
    if (!makes) args.push_back(q_.real);
    return args;
  }

  Ints block_size() const {
    Ints out = type_.sizes;
    for (size_t i = 0; i < out.size(); ++i) {
      if (q_.blocks[i] != 0) out[i] = q_.blocks[i];
    }
    return out;
  }
  // How many parameters lie along each dimension.
  std::vector<int64_t> sizes_of_parameters() const {
    std::vector<int64_t> out(type_.rank(), 1);
    for (size_t i = 0; i < out.size(); ++i) {
      if (q_.blocks[i] != 0) out[i] = type_.sizes[i].value() / q_.blocks[i];
    }
    return out;
  }
  Value* list(const NumberList& numbers, std::string_view name) {
    const std::vector<int64_t> counts = sizes_of_parameters();
    Sizes sizes;
    for (const int64_t count : counts) sizes.push_back(count);
    return constant_of(b_, numbers, std::move(sizes), name);
  }

  Builder& b_;
  const TensorType& type_;
  const Quantization& q_;
};

// --- parameters chosen at run time ---

struct Chosen {
  Value *scale = nullptr, *zero = nullptr;
};

Ints row_blocks(const TensorType& type) {
  Ints blocks(type.rank(), Sym(1));
  blocks.back() = type.sizes.back();
  return blocks;
}

bool by_rows(const Quantization& q) { return q.blocks.size() > 1 ? !q.is_per_tensor() : q.family == Family::affine; }

Chosen choose(Builder& b, Value* x, const TensorType& type) {
  const Quantization& q = *type.quantization;
  std::vector<Value*> made;
  if (q.family == Family::affine) {
    made =
        b.call_multi("torchao.choose_qparams_affine",
                     {x, q.at_run_time->symmetric ? "SYMMETRIC" : "ASYMMETRIC", row_blocks(type), type.dtype,
                      q.quant_min, q.quant_max, q.at_run_time->least_scale, q.scales.dtype, q.zero_points.dtype, true});
  } else if (by_rows(q)) {
    made = b.call_multi("quantized_decomposed.choose_qparams_per_token_asymmetric", {x, type.dtype});
  } else {
    made = b.call_multi("quantized_decomposed.choose_qparams.tensor",
                        {x, q.quant_min, q.quant_max, q.at_run_time->least_scale, type.dtype});
  }
  return {made[0], made[1]};
}

Node* convert_chosen(Builder& b, Value* input, const TensorType& type, const Chosen& chosen, bool makes) {
  const Quantization& q = *type.quantization;
  const std::string what = makes ? "quantize_" : "dequantize_";
  Args args = {input};
  if (q.family == Family::affine) args.push_back(row_blocks(type));
  args.push_back(chosen.scale);
  args.push_back(chosen.zero);
  if (q.family == Family::affine) args.push_back(type.dtype);
  args.push_back(q.quant_min);
  args.push_back(q.quant_max);
  if (q.family != Family::affine) args.push_back(type.dtype);
  if (!makes) args.push_back(q.real);
  const std::string name = q.family == Family::affine ? "torchao." + what + "affine"
                           : by_rows(q)               ? "quantized_decomposed." + what + "per_token"
                                                      : "quantized_decomposed." + what + "per_tensor.tensor";
  return b.node(name, std::move(args));
}

class Unfold {
 public:
  Unfold(Graph& graph, const std::unordered_set<const Node*>& on_elements) : graph_(graph), on_elements_(on_elements) {}

  bool run() {
    bool changed = false;
    const std::vector<Node*> nodes = graph_.node_list();
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const auto& inner : nodes[i]->graphs) changed = Unfold(*inner, on_elements_).run() || changed;
      write(*nodes[i], i + 1 < nodes.size() ? nodes[i + 1] : nullptr);
    }
    for (const auto& value : graph_.values()) {
      if (!value->is_quantized()) continue;
      value->type.tensor.quantization = nullptr;
      changed = true;
    }
    return changed;
  }

 private:
  void write(Node& node, Node* next) {
    if (node.op->has(kElements) || !node.graphs.empty() || on_elements_.count(&node)) return;
    if (node.is("wick.convert.default")) return write_convert(node);
    const Values operands = node.operands();
    for (Value* operand : operands) {
      if (operand->is_quantized()) replace_operand(node, operand, numbers(operand, &node));
    }
    for (Value* result : std::vector<Value*>(node.results())) {
      if (result->is_quantized()) quantize_result(node, result, next);
    }
  }

  void write_convert(Node& node) {
    Value *operand = node.operands()[0], *result = node.result();
    if (!result->is_quantized()) {
      if (operand->is_quantized()) become(node, *dequantized(operand, &node));
      return;
    }
    Value* x = operand->is_quantized() ? numbers(operand, &node) : operand;
    Builder b(graph_, &node);
    if (result->tensor().quantization->at_run_time) {
      const Chosen chosen = choose(b, x, result->tensor());
      chosen_.emplace(result, chosen);
      become(node, *convert_chosen(b, x, result->tensor(), chosen, true));
    } else {
      become(node, *Written(b, result->tensor()).quantize(x));
    }
  }

  // Gives `node` the operator and arguments of `made`, and erases `made`. `node` keeps its results.
  void become(Node& node, Node& made) {
    const OpDef& op = *made.op;
    Args args = made.args();
    graph_.erase(&made);
    graph_.rewrite(&node, op, std::move(args));
  }

  // The node gets the origin of the elements' producer, if there is one, not that of a reader.
  Node* dequantized(Value* elements, Node* before) {
    Builder b(graph_, before, elements->producer ? elements->producer->origin : before->origin);
    const auto chosen = chosen_.find(elements);
    if (chosen != chosen_.end()) return convert_chosen(b, elements, elements->tensor(), chosen->second, false);
    return Written(b, elements->tensor()).dequantize(elements);
  }

  // The numbers that the elements represent. The first call makes a node in front of `before`; later readers share it.
  Value* numbers(Value* elements, Node* before) {
    Value*& found = numbers_[elements];
    if (!found) found = dequantized(elements, before)->result();
    return found;
  }

  void replace_operand(Node& node, Value* from, Value* to) {
    for (size_t i = 0; i < node.args().size(); ++i) {
      const Arg& arg = node.arg(i);
      if (arg.is<Value*>() && arg.as<Value*>() == from) {
        graph_.set_arg(&node, i, to);
      } else if (arg.is<Values>()) {
        Values values = arg.as<Values>();
        std::replace(values.begin(), values.end(), from, to);
        graph_.set_arg(&node, i, std::move(values));
      }
    }
  }

  void quantize_result(const Node& node, Value* result, Node* next) {
    const TensorType type = result->tensor();
    result->type.tensor.dtype = type.quantization->real;
    result->type.tensor.quantization = nullptr;
    Builder b(graph_, next, node.origin);
    Node* made = nullptr;
    if (type.quantization->at_run_time) {
      const Chosen chosen = choose(b, result, type);
      made = convert_chosen(b, result, type, chosen, true);
      chosen_.emplace(made->result(), chosen);
    } else {
      made = Written(b, type).quantize(result);
    }
    Value* elements = made->result();
    elements->type.tensor = type;
    std::swap(elements->stands_for, result->stands_for);
    hand_over(result, elements, b.made());
  }

  // Redirects all readers of `from` to `to`, except the nodes `made`.
  void hand_over(Value* from, Value* to, const std::vector<Node*>& made) {
    std::vector<std::pair<Node*, Args>> kept;
    for (Node* node : made) kept.emplace_back(node, node->args());
    graph_.redirect(from, to);
    for (const auto& [node, args] : kept) {
      for (size_t i = 0; i < args.size(); ++i) graph_.set_arg(node, i, args[i]);
    }
  }

  Graph& graph_;
  const std::unordered_set<const Node*>& on_elements_;
  std::unordered_map<const Value*, Value*> numbers_;  // by elements; looked up only
  std::unordered_map<const Value*, Chosen> chosen_;   // by elements; looked up only
};

}  // namespace

Value* quantize(Builder& b, Value* x, const TensorType& elements) { return Written(b, elements).quantize(x)->result(); }
Value* dequantize(Builder& b, Value* x, const TensorType& elements) {
  return Written(b, elements).dequantize(x)->result();
}

bool unfold_quantization(Graph& graph, const std::unordered_set<const Node*>& on_elements) {
  return Unfold(graph, on_elements).run();
}

}  // namespace wick::compiler
