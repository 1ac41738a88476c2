#include "backends/xnnpack/compile/passes/regions/box_needs.h"

#include <algorithm>

#include "compiler/analysis/data_movement.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Gemm;
using compiler::kPointwise;
using compiler::Node;
using compiler::QuantizationChain;
using compiler::Sym;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

// The box of a broadcast operand that meets the box of the result.
Box broadcast_box(const Value& operand, const Value& result, const Box& box) {
  Box out(operand.rank());
  const size_t missing = result.rank() - operand.rank();
  for (size_t i = 0; i < operand.rank(); ++i) {
    if (operand.sizes()[i] == result.sizes()[i + missing]) out[i] = box[i + missing];
  }
  return out;
}

// Whether the node is a matmul of matrices of known rank, neither of them transposed.
bool is_plain_product(const Node& node) {
  const Gemm& gemm = node.op->facts.gemm;
  return gemm && gemm.rank != 0 && !gemm.turns;
}

// The nodes of a chain, around `x`.
Value* computed_chain(Builder& b, const QuantizationChain& chain, Value* x) {
  const auto with = [](const Node& node, std::vector<std::pair<const Value*, Value*>> values) {
    Args args = node.args();
    for (Arg& arg : args) {
      for (const auto& [from, to] : values) {
        if (arg.is<Value*>() && arg.as<Value*>() == from) arg = to;
      }
    }
    return args;
  };
  const auto parameters = b.call_multi(chain.choose->op->name(), with(*chain.choose, {{chain.x, x}}));
  const std::pair<const Value*, Value*> scale{chain.choose->result(0), parameters[0]},
      zero{chain.choose->result(1), parameters[1]};
  Value* elements = b.call_multi(chain.quantize->op->name(), with(*chain.quantize, {{chain.x, x}, scale, zero}))[0];
  return b.call_multi(chain.dequantize->op->name(),
                      with(*chain.dequantize, {{chain.quantize->result(), elements}, scale, zero}))[0];
}

}  // namespace

std::optional<QuantizationChain> row_chain(const Node& node) {
  const auto chain = quantization_chain(node);
  if (!chain || chain->dequantize != &node || !chain->by_rows || chain->quantize->result()->num_uses() != 1)
    return std::nullopt;
  for (const Value* parameter : chain->choose->results()) {
    if (parameter->num_uses() != 2 || parameter->users().size() != 2) return std::nullopt;
  }
  return chain;
}

std::optional<std::vector<bool>> narrow_dims(const Node& node) {
  const size_t rank = node.result()->rank();
  std::vector<bool> out(rank, true);
  if (node.op->has(kPointwise)) return out;
  if (node.is("aten.linear.default") || node.is("aten.embedding.default")) {
    if (rank == 0) return std::nullopt;
    out[rank - 1] = false;
    return out;
  }
  if (is_plain_product(node) || node.is("aten.cat.default")) return out;
  if (row_chain(node)) {
    out[rank - 1] = false;
    return out;
  }
  if (is_softmax(node)) {
    if (rank == 0) return std::nullopt;
    out[static_cast<size_t>(wrap_dim(node.static_integer("dim"), rank))] = false;
    return out;
  }
  if (is_one_of(node, {"aten.amax.default", "aten.amin.default"})) {
    if (rank == 0 || !node.boolean("keepdim") || node.ints("dim").empty()) return std::nullopt;
    for (const int64_t dim : node.static_ints("dim")) out[static_cast<size_t>(wrap_dim(dim, rank))] = false;
    return out;
  }
  if (node.is("aten.native_layer_norm.default") || node.is("aten.rms_norm.default")) {
    for (size_t i = 1; i < node.results().size(); ++i) {
      if (node.result(i)->num_uses() != 0) return std::nullopt;
    }
    const size_t normalized = node.ints("normalized_shape").size();
    for (size_t i = rank - std::min(rank, normalized); i < rank; ++i) out[i] = false;
    return out;
  }
  return std::nullopt;
}

std::optional<std::vector<Need>> needs_of(const Node& node, const Box& box) {
  const Value* result = node.result();
  std::vector<Need> out;
  if (moves_data(node)) {
    const auto before = box_before(node, box);
    if (before) out.push_back({0, 0, moved(node), *before});
    return before ? std::optional(out) : std::nullopt;
  }
  if (node.is("aten.cat.default")) {
    const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), result->rank()));
    const Values parts = node.tensors("tensors");
    int64_t offset = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i] || parts[i]->rank() != result->rank()) return std::nullopt;
      Box part = box;
      if (!box[dim].whole) {
        const Sym& size = parts[i]->sizes()[dim];
        if (!size.is_const()) return std::nullopt;
        const int64_t first = std::max(box[dim].start, offset),
                      last = std::min(box[dim].start + box[dim].length, offset + size.value());
        offset += size.value();
        if (first >= last) continue;
        part[dim] = range_in(size, first - (offset - size.value()), last - first);
      }
      out.push_back({0, i, parts[i], std::move(part)});
    }
    return out;
  }
  if (node.op->has(kPointwise)) {
    for (size_t i = 0; i < node.args().size(); ++i) {
      if (Value* value = node.tensor_or_null(i)) out.push_back({i, 0, value, broadcast_box(*value, *result, box)});
    }
    return out;
  }
  if (node.is("aten.embedding.default"))
    return std::vector<Need>{{1, 0, node.tensor_or_null(1), Box(box.begin(), box.end() - 1)}};
  if (const auto chain = row_chain(node)) return std::vector<Need>{{0, 0, chain->x, box}};
  const size_t rank = result->rank();
  if (is_plain_product(node)) {
    const Gemm& gemm = node.op->facts.gemm;
    Box a = box, b = box;
    a[rank - 1] = b[rank - 2] = {};
    out = {{gemm.left, 0, node.tensor_or_null(gemm.left), a}, {gemm.right, 0, node.tensor_or_null(gemm.right), b}};
    if (gemm.term < 0) return out;
    const auto term = static_cast<size_t>(gemm.term);
    out.push_back({term, 0, node.tensor_or_null(term), broadcast_box(*node.tensor_or_null(term), *result, box)});
    return out;
  }
  return std::vector<Need>{{0, 0, node.tensor_or_null(0), box}};  // linear, softmax, extremes, norms
}

Value* compute_box(Builder& b, const Node& node, const Box& box, const std::vector<Need>& needs,
                   const Values& operands) {
  if (moves_data(node)) return move_box(b, node, operands[0], box);
  if (node.is("aten.cat.default"))
    return operands.size() == 1 ? operands[0] : b.call("aten.cat", {operands, node.arg("dim")});
  if (const auto chain = row_chain(node)) return computed_chain(b, *chain, operands[0]);
  Args args = node.args();
  for (size_t i = 0; i < needs.size(); ++i) args[needs[i].index] = operands[i];
  return b.call_multi(node.op->name(), std::move(args))[0];
}

}  // namespace wick::xnnpack
