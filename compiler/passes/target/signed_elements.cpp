#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "compiler/passes/constants/reals.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

constexpr int64_t kSignShift = 128;  // between the uint8 and the int8 element of the same number
constexpr int kParameters = 6;       // of nodes that quantize or dequantize, with the tensor

bool is_quantize(const Node& node) { return node.is("quantized_decomposed.quantize_per_tensor.default"); }
bool is_dequantize(const Node& node) { return node.is("quantized_decomposed.dequantize_per_tensor.default"); }

// A node whose elements are uint8, with parameters that are known and valid.
bool states_unsigned(const Node& node) {
  if (!is_quantize(node) && !is_dequantize(node)) return false;
  const Value* elements = is_quantize(node) ? node.result() : node.operands()[0];
  return elements->dtype() == DType::u8 && stated_quantization(node) != nullptr;
}

// Whether `other`, on int8, and the node, on uint8, state elements for the same numbers.
bool states_shifted(const Node& other, const Node& node) {
  return other.arg("dtype") == Arg(DType::i8) && other.arg("scale") == node.arg("scale") &&
         other.static_integer("zero_point") == node.static_integer("zero_point") - kSignShift;
}

// Whether the node only converts elements between int8 and uint8 that represent the same numbers.
bool is_between_kinds(const Node& node) {
  if (is_quantize(node)) {
    const Node* from = node.operands()[0]->producer;
    return from && is_dequantize(*from) && states_shifted(*from, node);
  }
  const std::vector<Node*>& users = node.result()->users();
  return is_dequantize(node) && !users.empty() && std::all_of(users.begin(), users.end(), [&](const Node* user) {
           return is_quantize(*user) && states_shifted(*user, node);
         });
}

bool are_integers(const NumberList& list) {
  const std::vector<double> all = list.all();
  return std::all_of(all.begin(), all.end(),
                     [](double each) { return each == std::floor(each) && std::abs(each) < 0x1p53; });
}

// The uint8 constant that a node of another kind dequantizes. Nothing if its zero points are not integers.
std::optional<StoredConstant> unsigned_constant(const Node& node) {
  if (is_dequantize(node) || node.results().size() != 1 || !node.result()->type.is_tensor()) return {};
  auto stored = stored_constant(*node.result());
  if (!stored || stored->elements->dtype() != DType::u8) return {};
  return are_integers(stored->quantization->zero_points) ? stored : std::nullopt;
}

void state_signed(Graph& graph, Node& node) {
  const auto index = [&](const char* name) { return static_cast<size_t>(node.op->parsed->find(name)); };
  for (const char* name : {"zero_point", "quant_min", "quant_max"})
    graph.set_arg(&node, index(name), node.static_integer(name) - kSignShift);
  graph.set_arg(&node, index("dtype"), DType::i8);
}

class Signing {
 public:
  explicit Signing(Graph& graph) : graph_(graph) {}

  // Makes a constant that other operators dequantize (by channels, for example) int8.
  void sign_stored(Node& node, const StoredConstant& stored) {
    auto q = std::make_shared<Quantization>(*stored.quantization);
    std::vector<double> zeros = q->zero_points.all();
    for (double& zero : zeros) zero -= kSignShift;
    q->zero_points = NumberList::of(DType::i64, zeros);
    q->quant_min -= kSignShift;
    q->quant_max -= kSignShift;
    Value* elements = signed_constant(*stored.elements);
    elements->type.tensor.quantization = std::move(q);
    graph_.rewrite(&node, op("wick.convert.default"), {elements});
  }

  // Makes a quantize node give int8. Readers that do not dequantize get the elements that they had.
  void sign_quantize(Node& node, Node* next) {
    Value* elements = node.result();
    const std::vector<Node*>& users = elements->users();
    const bool only_numbers =
        users.size() == elements->num_uses() &&
        std::all_of(users.begin(), users.end(), [](const Node* user) { return states_unsigned(*user); });
    Args as_before = node.args();
    state_signed(graph_, node);
    elements->type.tensor.dtype = DType::i8;
    elements->forget();
    if (only_numbers) return;
    Builder b(graph_, next, node.origin);
    Args args = node.args();
    args[0] = elements;
    Value* number = b.call("quantized_decomposed.dequantize_per_tensor", std::move(args));
    as_before[0] = number;
    Value* restored = b.call("quantized_decomposed.quantize_per_tensor", std::move(as_before));
    graph_.replace_unchecked(elements, restored);
    graph_.set_arg(number->producer, 0, elements);
    signed_.emplace(restored, elements);
  }

  // Makes a dequantize node read int8. False if another node computes its elements.
  bool sign_dequantize(Node& node) {
    Value* elements = node.operands()[0];
    if (elements->dtype() == DType::u8) {
      Value* found = signed_of(elements, node);
      if (!found) return false;
      graph_.set_arg(&node, 0, found);
    }
    state_signed(graph_, node);
    return true;
  }

 private:
  // The int8 elements in place of `elements`; null if another node computes these.
  Value* signed_of(Value* elements, Node& reader) {
    const auto found = signed_.find(elements);
    if (found != signed_.end()) return found->second;
    if (elements->is_constant()) return signed_[elements] = signed_constant(*elements);
    return elements->producer ? nullptr : signed_input(reader);
  }

  Value* signed_constant(const Value& elements) {
    if (!elements.tensor().dim_order.empty()) return nullptr;
    const FreshBytes out(elements.data.size_bytes());
    elements.data.read(0, out.size, out.bytes.get());
    for (size_t i = 0; i < out.size; ++i) out.bytes[i] = static_cast<uint8_t>(out.bytes[i] - kSignShift);
    TensorType type = elements.tensor();
    type.dtype = DType::i8;
    type.quantization = nullptr;
    return graph_.add_constant(std::move(type), out.data(), graph_.unique_name(elements.name));
  }

  Value* signed_input(Node& reader) {
    Builder b(graph_, &reader);
    const Args args = reader.args();
    Value* number = b.call("quantized_decomposed.dequantize_per_tensor", {args.begin(), args.begin() + kParameters});
    return b.call("quantized_decomposed.quantize_per_tensor",
                  {number, reader.arg("scale"), reader.static_integer("zero_point") - kSignShift, int64_t{INT8_MIN},
                   int64_t{INT8_MAX}, DType::i8});
  }

  Graph& graph_;
  std::unordered_map<const Value*, Value*> signed_;  // looked up only
};

}  // namespace

// Elements of uint8 become int8 that stand for the same numbers.
//   before: e: u8 = quantize_per_tensor(x, s, z, 0, 255, u8); d = dequantize_per_tensor(e, s, z, 0, 255, u8)
//   after:  e: i8 = quantize_per_tensor(x, s, z - 128, -128, 127, i8); d = dequantize_per_tensor(e, ..)
// Inputs, and other readers of the elements, keep their bytes: elements of one kind are dequantized and quantized to
// the other kind, which is exact. Constants become int8 whatever their scales:
//   before: d = dequantize_per_channel(const e: u8, s, z, 0)      after: d = convert(const e: i8 q(s, z - 128))
// Requires: quantization is in nodes. Keeps: every number and every byte that others than these nodes read. Elements
// that other nodes compute, and computed ones with a scale for each channel, stay. Differs where NaN is quantized:
// which element that gives depends on its kind.
Result<Changed> signed_elements(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    const std::vector<Node*> nodes = g.node_list();
    Signing signing(g);
    bool changed = false;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool reads_signed = is_dequantize(*nodes[i]) && nodes[i]->operands()[0]->dtype() == DType::i8 &&
                                nodes[i]->arg("dtype") == Arg(DType::u8);
      const auto stored = unsigned_constant(*nodes[i]);
      if (!reads_signed && !stored && (!states_unsigned(*nodes[i]) || is_between_kinds(*nodes[i]))) continue;
      if (!stored && !is_quantize(*nodes[i])) {
        changed = signing.sign_dequantize(*nodes[i]) || changed;
        continue;
      }
      changed = true;
      if (stored)
        signing.sign_stored(*nodes[i], *stored);
      else
        signing.sign_quantize(*nodes[i], i + 1 < nodes.size() ? nodes[i + 1] : nullptr);
    }
    return Changed(changed);
  });
}

}  // namespace wick::compiler
