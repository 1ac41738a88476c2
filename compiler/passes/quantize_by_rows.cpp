#include <algorithm>

#include "compiler/ops/quantization_chain.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

bool covers_int8(const Node& node) {
  const Arg &low = node.arg("quant_min"), &high = node.arg("quant_max");
  return low.is<Sym>() && low.as<Sym>().is(-128) && high.is<Sym>() && high.as<Sym>().is(127);
}

bool read_inside(const Value* value) { return value->num_uses() == value->users().size(); }

// Nothing but linears reads what the chain computes.
bool feeds_linears(const QuantizationChain& chain) {
  for (const Value* parameter : chain.choose->results()) {
    const auto inside = [&](const Node* user) { return user == chain.quantize || user == chain.dequantize; };
    if (!read_inside(parameter) || !std::all_of(parameter->users().begin(), parameter->users().end(), inside))
      return false;
  }
  const Value *elements = chain.quantize->result(), *result = chain.dequantize->result();
  if (elements->num_uses() != 1 || !read_inside(result)) return false;
  return std::all_of(result->users().begin(), result->users().end(), [&](const Node* user) {
    const auto operands = user->operands();
    return user->is("aten.linear.default") && operands[0] == result &&
           std::count(operands.begin(), operands.end(), result) == 1;
  });
}

Value* by_rows(Builder& b, Node& node) {
  const auto chain = quantization_chain(node);
  if (!chain || chain->dequantize != &node || chain->x->rank() == 0) return nullptr;
  if (chain->by_rows && !chain->symmetric) return nullptr;
  if (!covers_int8(*chain->quantize) || !covers_int8(*chain->choose) || !feeds_linears(*chain)) return nullptr;
  const auto parameters =
      b.call_multi("quantized_decomposed.choose_qparams_per_token_asymmetric", {chain->x, DType::i8});
  Value* elements =
      b.call("quantized_decomposed.quantize_per_token", {chain->x, parameters[0], parameters[1], -128, 127, DType::i8});
  return b.call("quantized_decomposed.dequantize_per_token",
                {elements, parameters[0], parameters[1], -128, 127, DType::i8, node.result()->dtype()});
}

constexpr Rule kRules[] = {by_rows};

}  // namespace

// Gives each row of a linear's input quantization parameters of its own, where the tensor had one pair for all, and
// both a scale and a zero point, where it had a scale only.
//   before: (s, z) = choose_qparams(x); y = linear(dequantize_per_tensor(quantize_per_tensor(x, s, z), s, z), w)
//   after:  (s, z) = choose_qparams_per_token(x); y = linear(dequantize_per_token(quantize_per_token(x, s, z), s, z),
//   w)
// For backends that quantize by rows at run time. Only for ranges of all int8. Ensures: no such chain in front of
// linears only. Keeps: values within the quantization's own error, which becomes smaller.
Result<Changed> quantize_by_rows(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kRules)); });
}

}  // namespace wick::compiler
