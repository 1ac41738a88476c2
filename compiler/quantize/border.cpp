#include "compiler/quantize/border.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/ir/builder.h"
#include "compiler/ir/clone.h"
#include "compiler/ir/text/text.h"
#include "compiler/quantize/fold_quantization.h"
#include "compiler/quantize/quantize_nodes.h"
#include "compiler/quantize/stored_elements.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

using QuantizationPtr = std::shared_ptr<const Quantization>;

struct Word {
  std::string_view word;
  Border border;
};
const Word kWords[] = {{"", {}},
                       {"float", {Border::Kind::real, {}}},
                       {"integer", {Border::Kind::elements, {}}},
                       {"int8", {Border::Kind::elements, DType::i8}},
                       {"uint8", {Border::Kind::elements, DType::u8}},
                       {"int16", {Border::Kind::elements, DType::i16}}};

std::string word_of(DType dtype) {
  const std::string word = to_text(Border{Border::Kind::elements, dtype});
  return word.empty() ? dtype_name(dtype) : word;
}

bool is_real(const Value* value) { return value && value->type.is_tensor() && is_floating(value->dtype()); }
bool is_elements(const Value* value) { return value && value->type.is_tensor() && is_integral(value->dtype()); }

// Whether the node has one operand and only moves its elements, for any dtype.
bool moves_elements(const Node& node) {
  if (!node.op->has(kView) && !node.op->has(kIdentity)) return false;
  const Values operands = node.operands();
  const auto same = [&](const Value* value) {
    return value->type.is_tensor() && value->dtype() == operands[0]->dtype();
  };
  return operands.size() == 1 && std::all_of(node.results().begin(), node.results().end(), same) &&
         std::none_of(node.args().begin(), node.args().end(), [](const Arg& arg) { return arg.is<DType>(); });
}

// Compares two quantizations with one scale each. The tensors may have different ranks.
bool same_scale(const Quantization& a, const Quantization& b) {
  return a.scales[0] == b.scales[0] && a.zero_points[0] == b.zero_points[0] && a.quant_min == b.quant_min &&
         a.quant_max == b.quant_max;
}

/// How an input or output of real numbers is quantized.
struct Crossing {
  QuantizationPtr quantization;
  DType dtype = DType::i8;
  std::vector<Node*> convert;  // input: the nodes that quantize it; output: the node that dequantizes it
  std::vector<Node*> moves;    // views between these and the border, starting at the border
  std::string why_not;         // why elements cannot cross the border; "" if they can

  void claim(Node& node, DType elements) {
    convert.push_back(&node);
    const QuantizationPtr stated = stated_quantization(node);
    if (!stated)
      why_not = "its scale is known only at run time";
    else if (!stated->is_per_tensor())
      why_not = "it has more than one scale";
    else if (quantization && (!same_scale(*quantization, *stated) || dtype != elements))
      why_not = "it is quantized in more than one way";
    quantization = stated;
    dtype = elements;
  }
};

std::string name_of(const Node& node) {
  const std::string source = node.origin ? node.origin->source : "";
  return source.empty() ? std::string(node.op->name()) : fmt::format("{} ({})", node.op->name(), printable(source));
}

void follow_input(Value* value, Crossing& found) {
  for (Node* reader : value->users()) {
    if (converts(*reader, Conversion::quantize) && reader->tensor("input") == value) {
      found.claim(*reader, reader->result()->dtype());
    } else if (moves_elements(*reader)) {
      found.moves.push_back(reader);
      for (Value* result : reader->results()) follow_input(result, found);
    } else {
      found.why_not = fmt::format("{} reads it as it is", name_of(*reader));
    }
  }
  if (value->num_uses() > value->users().size()) found.why_not = "it is also returned or kept";
}

Crossing crossing_of_input(const Graph& graph, Value* value) {
  Crossing found;
  follow_input(value, found);
  for (const StateUpdate& update : graph.updates) {
    if (update.target == value) found.why_not = "the model writes to it";
  }
  return found;
}

Crossing crossing_of_output(Value* value) {
  Crossing found;
  for (Node* node = value->producer;; node = node->operands()[0]->producer) {
    if (node && converts(*node, Conversion::dequantize)) {
      found.claim(*node, node->tensor("input")->dtype());
      return found;
    }
    if (!node || !moves_elements(*node)) {
      found.why_not = node ? fmt::format("{} computes it, and nothing quantizes that", name_of(*node))
                           : "it is an input or a constant";
      return found;
    }
    found.moves.push_back(node);
  }
}

class SetBorder {
 public:
  SetBorder(Graph& graph, const Border& border) : graph_(graph), border_(border), known_(border_quantization(graph)) {}

  Status run(std::string_view method) {
    if (border_.kind == Border::Kind::real) {
      add_reals();
      return {};
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) find_input(i);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) find_output(i);
    if (refused_.empty() && inputs_.empty() && outputs_.empty() && !has_elements_)
      refused_.push_back("no input or output is quantized");
    if (!refused_.empty()) {
      Diag diag(Code::unsupported_model,
                fmt::format("method '{}' cannot pass {} to its caller", printable(method),
                            border_.dtype ? "elements of " + word_of(*border_.dtype) : "elements"));
      diag.notes = std::move(refused_);
      return std::move(diag).with_help(
          "quantize these inputs and outputs, with one scale each; --io integer takes any dtype of elements; or leave "
          "out --io");
    }
    for (const auto& [value, crossing] : inputs_) drop_quantize(value, crossing);
    for (const auto& [index, crossing] : outputs_) drop_dequantize(index, crossing);
    return {};
  }

 private:
  // --- elements ---
  void find_input(size_t i) {
    Value* value = graph_.inputs[i].value;
    const std::string what = fmt::format("input {} ({})", i, printable(graph_.inputs[i].name));
    if (is_elements(value) && known_.inputs[i]) return check_dtype(what, value->dtype());
    if (!is_real(value) || value->num_uses() == 0) return;
    Crossing found = crossing_of_input(graph_, value);
    if (add(what, *value, found)) inputs_.emplace_back(value, std::move(found));
  }

  void find_output(size_t i) {
    if (graph_.outputs[i].kind != GraphOutput::Kind::value) return;
    Value* value = graph_.outputs[i].value;
    const std::string what = fmt::format("output {}", i);
    if (is_elements(value) && known_.outputs[i]) return check_dtype(what, value->dtype());
    if (!is_real(value)) return;
    Crossing found = crossing_of_output(value);
    if (add(what, *value, found)) outputs_.emplace_back(i, std::move(found));
  }

  bool add(const std::string& what, const Value& value, const Crossing& found) {
    if (!found.why_not.empty()) {
      refused_.push_back(
          fmt::format("{}: {} is not quantized at the border: {}", what, to_text(value.type), found.why_not));
      return false;
    }
    check_dtype(what, found.dtype);
    return true;
  }

  void check_dtype(const std::string& what, DType dtype) {
    has_elements_ = true;
    if (border_.dtype && *border_.dtype != dtype)
      refused_.push_back(fmt::format("{} has elements of {}", what, word_of(dtype)));
  }

  void drop_quantize(Value* value, const Crossing& crossing) {
    value->type.tensor.dtype = crossing.dtype;
    for (const Node* move : crossing.moves) {
      for (Value* result : move->results()) result->type.tensor.dtype = crossing.dtype;
    }
    for (Node* node : crossing.convert) {
      graph_.replace_unchecked(node->result(), node->tensor("input"));
      graph_.erase(node);
    }
  }

  void drop_dequantize(size_t index, const Crossing& crossing) {
    Value* elements = crossing.convert[0]->tensor("input");
    Value* above = crossing.convert[0]->result();  // the value that the next view reads
    for (auto at = crossing.moves.rbegin(); at != crossing.moves.rend(); ++at) {
      const Node& move = **at;
      Args args = move.args();
      for (Arg& arg : args) {
        if (tensor_or_null(arg) == above) arg = elements;
      }
      const bool last = at + 1 == crossing.moves.rend();
      above = last ? graph_.outputs[index].value : (*(at + 1))->operands()[0];
      Builder b(graph_, nullptr, move.origin);
      elements = b.node(move.op->name(), std::move(args))->result(above->result_index);
    }
    graph_.set_output(index, elements);
  }

  // --- real numbers ---
  void add_reals() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      Value* value = graph_.inputs[i].value;
      if (is_elements(value) && known_.inputs[i] && value->num_uses() != 0) add_quantize(value, known_.inputs[i]);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      Value* value = graph_.outputs[i].kind == GraphOutput::Kind::value ? graph_.outputs[i].value : nullptr;
      if (!is_elements(value) || !known_.outputs[i]) continue;
      Builder b(graph_, nullptr, value->producer ? value->producer->origin : nullptr);
      graph_.set_output(i, dequantize(b, value, type_of(*value, known_.outputs[i])));
    }
  }

  void add_quantize(Value* value, const QuantizationPtr& quantization) {
    const TensorType elements = type_of(*value, quantization);
    const std::vector<Node*> nodes = graph_.node_list();
    const OriginPtr origin = value->users().empty() ? nullptr : value->users()[0]->origin;
    value->type.tensor.dtype = quantization->real;
    Builder b(graph_, nodes.empty() ? nullptr : nodes.front(), origin);
    Value* made = quantize(b, value, elements);
    Node* node = made->producer;
    const Args args = node->args();
    graph_.replace_unchecked(value, made);
    for (size_t i = 0; i < args.size(); ++i) graph_.set_arg(node, i, args[i]);
  }

  static TensorType type_of(const Value& value, const QuantizationPtr& quantization) {
    TensorType type = value.tensor();
    type.quantization = quantization;
    return type;
  }

  Graph& graph_;
  const Border& border_;
  const BorderQuantization known_;
  bool has_elements_ = false;
  std::vector<std::pair<Value*, Crossing>> inputs_;
  std::vector<std::pair<size_t, Crossing>> outputs_;
  std::vector<std::string> refused_;
};

}  // namespace

std::optional<Border> border_of(std::string_view word) {
  for (const Word& each : kWords) {
    if (each.word == word) return each.border;
  }
  return std::nullopt;
}

std::string to_text(const Border& border) {
  for (const Word& each : kWords) {
    if (each.border.kind == border.kind && each.border.dtype == border.dtype) return std::string(each.word);
  }
  return "";
}

BorderQuantization border_quantization(Graph& graph) {
  BorderQuantization out;
  out.inputs.resize(graph.inputs.size());
  out.outputs.resize(graph.outputs.size());
  const auto is_conversion = [](const std::unique_ptr<Node>& node) { return conversion_of(*node) != nullptr; };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), is_conversion)) return out;
  OriginMap sources;
  const std::unique_ptr<Graph> copy = clone(graph, sources);
  settle_stored_elements(*copy);
  const auto stored = [](const Value* value) -> QuantizationPtr {
    const QuantizationPtr& q = value->tensor().quantization;
    return q && q->is_per_tensor() && !q->at_run_time ? q : nullptr;
  };
  for (size_t i = 0; i < copy->inputs.size(); ++i) {
    Value* value = copy->inputs[i].value;
    if (is_elements(value)) out.inputs[i] = stored(value);
    if (!is_real(value)) continue;
    Crossing found;
    follow_input(value, found);
    if (found.why_not.empty()) out.inputs[i] = found.quantization;
  }
  for (size_t i = 0; i < copy->outputs.size(); ++i) {
    Value* value = copy->outputs[i].kind == GraphOutput::Kind::value ? copy->outputs[i].value : nullptr;
    if (is_elements(value)) out.outputs[i] = stored(value);
    if (!is_real(value)) continue;
    const Crossing found = crossing_of_output(value);
    if (found.why_not.empty()) out.outputs[i] = found.quantization;
  }
  return out;
}

Status set_border(Graph& graph, const Border& border, std::string_view method) {
  if (border.kind == Border::Kind::as_exported) return {};
  Status status;
  RETURN_IF_ERROR(catch_failure([&] { status = SetBorder(graph, border).run(method); }));
  RETURN_IF_ERROR(std::move(status));
  return verify(graph);
}

}  // namespace wick::compiler
