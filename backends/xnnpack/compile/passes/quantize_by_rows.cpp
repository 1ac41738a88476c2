#include <algorithm>
#include <numeric>

#include "backends/xnnpack/compile/passes/match/zero_columns.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/least_scale.h"
#include "compiler/passes/rewrite.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Builder;
using compiler::Changed;
using compiler::Compose;
using compiler::Graph;
using compiler::Node;
using compiler::None;
using compiler::promote;
using compiler::QuantizationChain;
using compiler::Result;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;

namespace {

constexpr int64_t kLow = -128, kHigh = 127;

bool covers_int8(const Node& node) {
  const Arg &low = node.arg("quant_min"), &high = node.arg("quant_max");
  return low.is<Sym>() && low.as<Sym>().is(kLow) && high.is<Sym>() && high.as<Sym>().is(kHigh);
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

Value* quantized_by_rows(Builder& b, Value* x, DType dtype) {
  const auto parameters = b.call_multi("quantized_decomposed.choose_qparams_per_token_asymmetric", {x, DType::i8});
  Value* elements =
      b.call("quantized_decomposed.quantize_per_token", {x, parameters[0], parameters[1], kLow, kHigh, DType::i8});
  return b.call("quantized_decomposed.dequantize_per_token",
                {elements, parameters[0], parameters[1], kLow, kHigh, DType::i8, dtype});
}

// --- rows with additional columns that determine how they are quantized ---

// The replacement of a chain: rows with `columns` more columns after those of x. All weights are zero there.
struct Rows {
  int64_t columns = 0;
  Value* value = nullptr;
  Value* factor = nullptr;  // f32, one for each row: x is value * factor; null: x is value
};

// The least number of zero columns, at least two for the ends of a range, by which the weights of all linears can be
// extended; 0 if some cannot be.
int64_t columns_for_ends(const Value& quantized) {
  int64_t step = 1;
  for (const Node* linear : quantized.users()) {
    const int64_t own = zero_columns_step(*linear->tensor("weight"));
    if (own == 0) return 0;
    step = std::lcm(step, own);
  }
  return step == 1 ? 2 : step;
}

// x / scale, clamped, with the ends of the range in each row: the row's scale is 1 and its zero point 0.
Rows symmetric_rows(Builder& b, const QuantizationChain& chain, int64_t columns) {
  Compose c(b);
  Value *x = chain.x, *largest = c.amax(c.abs(x), {-1}, true);
  constexpr double kHalf = static_cast<double>(kHigh - kLow) / 2;
  Value* scale = c.clamp(c.div(largest, kHalf), least_scale(*chain.choose), None{});
  scale = b.cast(scale, chain.choose->result(0)->dtype());
  const DType wide = promote(x->dtype(), scale->dtype());
  Value* steps = c.mul(b.cast(x, wide), c.unary("aten.reciprocal", b.cast(scale, wide)));
  steps = b.cast(c.clamp(steps, kLow, kHigh), DType::f32);
  scale = b.cast(scale, DType::f32);
  std::vector<float> ends(static_cast<size_t>(columns), kHigh);
  ends[0] = kLow;
  Value* zeros = c.constant_f32(std::vector<float>(ends.size(), 0), {columns, 1});
  Value* both = b.call("aten.linear", {scale, zeros, c.constant_f32(ends, {columns})});
  return {columns, quantized_by_rows(b, c.cat({steps, both}, -1), DType::f32), scale};
}

// x with its least and its largest element appended to each row, at least 255 times the smallest scale apart.
Rows rows_of_tensor(Builder& b, const QuantizationChain& chain, int64_t columns) {
  Compose c(b);
  Value* x = chain.x;
  std::vector<int64_t> dims(x->rank());
  std::iota(dims.begin(), dims.end(), int64_t{0});
  Value *lows = c.amin(x, {-1}, true), *highs = c.amax(x, {-1}, true);
  lows = c.clamp(c.minimum(lows, c.amin(lows, dims, true)), None{}, 0.0);
  highs = c.maximum(highs, c.amax(highs, dims, true));
  highs = c.maximum(highs, c.add(lows, static_cast<double>(kHigh - kLow) * least_scale(*chain.choose)));
  Sizes sizes = highs->sizes();
  sizes.back() = columns - 1;
  Value* wide = c.cat({x, lows, b.expand(highs, sizes)}, -1);
  return {columns, quantized_by_rows(b, wide, DType::f32), nullptr};
}

// The linear, over rows that have more columns.
void widen_linear(Graph& graph, Node& linear, const Rows& rows) {
  Builder b(graph, &linear);
  Compose c(b);
  Value* bias = linear.optional_tensor("bias");
  if (bias) bias = b.cast(bias, DType::f32);
  Value* weight = with_zero_columns(b, *linear.tensor("weight"), rows.columns);
  const Arg inside = bias && !rows.factor ? Arg(bias) : Arg(None{});
  Value* value = b.call("aten.linear", {rows.value, weight, inside});
  if (rows.factor) value = c.mul(value, rows.factor);
  if (bias && rows.factor) value = c.add(value, bias);
  value = b.cast(value, linear.result()->dtype());
  for (Node* made : b.made()) add_origins(*made, linear);
  graph.replace(linear.result(), value);
}

bool with_ends(Graph& graph, const QuantizationChain& chain, std::vector<Node*>& unread) {
  const int64_t columns = columns_for_ends(*chain.dequantize->result());
  const DType dtype = chain.x->dtype();
  const bool exact = chain.symmetric ? chain.by_rows && (dtype == DType::f32 || dtype == DType::f16)
                                     : is_static(chain.x->sizes()) && dtype == DType::f32;
  if (columns == 0 || !exact) return false;
  Builder b(graph, chain.choose);
  const Rows rows = chain.symmetric ? symmetric_rows(b, chain, columns) : rows_of_tensor(b, chain, columns);
  const std::vector<Node*> linears = chain.dequantize->result()->users();
  for (Node* linear : linears) widen_linear(graph, *linear, rows);
  unread.insert(unread.end(), linears.begin(), linears.end());
  return true;
}

// --- parameters of each row's own ---

void with_own_parameters(Graph& graph, const QuantizationChain& chain, std::vector<Node*>& unread) {
  Builder b(graph, chain.dequantize);
  Value* result = chain.dequantize->result();
  graph.replace(result, quantized_by_rows(b, chain.x, result->dtype()));
  unread.push_back(chain.dequantize);
}

// Adds to `unread` the nodes that nobody reads afterwards.
void rewrite_chain(Graph& graph, Node& node, std::vector<Node*>& unread) {
  const auto chain = quantization_chain(node);
  if (!chain || chain->dequantize != &node || chain->x->rank() == 0) return;
  if (chain->by_rows && !chain->symmetric) return;
  if (!covers_int8(*chain->quantize) || !covers_int8(*chain->choose) || !feeds_linears(*chain)) return;
  if (!with_ends(graph, *chain, unread) && !chain->symmetric) with_own_parameters(graph, *chain, unread);
}

}  // namespace

// Rewrites run-time quantization before linears, for backends that choose one scale and zero point for each row.
//   one scale for each row, no zero points:
//     before: s = choose_qparams(x); y = linear(dequantize(quantize(x, s), s), w, b)
//     after:  y = linear(by_rows(cat(clamp(x / s, -128, 127), [-128, 127])), [w, 0, 0]) * s + b
//   one scale and zero point for the tensor, of known size:
//     before: s, z = choose_qparams(x); y = linear(dequantize(quantize(x, s, z), s, z), w, b)
//     after:  y = linear(by_rows(cat(x, min(x), max(x))), [w, 0, 0], b)
//   one for a tensor of unknown size, or weights that cannot have more columns:
//     after:  y = linear(by_rows(x), w, b)
//   by_rows(x) = dequantize_per_token(quantize_per_token(x, t, u), t, u) with (t, u) = choose_qparams_per_token(x)
// Applies only to the full int8 range.
// Ensures: no such chain whose only readers are linears remains, except one without zero points before weights that
// cannot have more columns.
// Keeps: every value, except in the third form. Its values stay within the quantization error, which becomes smaller.
Result<Changed> quantize_by_rows(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    std::vector<Node*> unread;
    for (Node* node : g.node_list()) rewrite_chain(g, *node, unread);
    return erase_unread(g, unread);
  });
}

}  // namespace wick::xnnpack
