#include <algorithm>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

bool is_matrix(const Value* value) {
  return value && value->is_constant() && value->rank() == 2 && is_static(value->sizes());
}

// The dequantization of a table, as arguments of torchao.dequantize_affine.
struct Table {
  Value *elements = nullptr, *scale = nullptr, *zero = nullptr;  // zero may be null
  int64_t group = 0;                                             // elements of a row that share a scale
  Arg low, high;
  DType dtype = DType::f32;
};

std::optional<Table> table_of(const Value& weight) {
  const Node* node = weight.producer;
  const ConversionForm* form = node ? conversion_of(*node) : nullptr;
  if (!form || form->conversion != Conversion::dequantize) return {};
  const bool affine = form->blocks == ConversionForm::Blocks::stated;
  if (!affine && form->blocks != ConversionForm::Blocks::group) return {};
  Table out;
  out.elements = node->tensor("input");
  out.scale = node->tensor(form->scale);
  out.zero = node->optional_tensor(form->zero);
  out.low = node->arg("quant_min");
  out.high = node->arg("quant_max");
  out.dtype = weight.dtype();
  if (!is_matrix(out.elements) || !is_matrix(out.scale) || (out.zero && !is_matrix(out.zero))) return {};
  if (dtype_size_bytes(out.elements->dtype()) >= dtype_size_bytes(out.dtype)) return {};
  if (!affine && out.scale->dtype() != out.dtype) return {};  // the operator rounds the scales first
  const Sym rows = out.elements->sizes()[0], columns = out.elements->sizes()[1];
  if (affine) {
    const Ints blocks = node->ints("block_size");
    if (blocks.size() != 2 || !is_static(blocks) || !blocks[0].is(1)) return {};
    out.group = blocks[1].is(-1) ? columns.value() : blocks[1].value();
  } else {
    out.group = node->static_integer("group_size");
  }
  if (out.group <= 0 || columns.value() % out.group != 0) return {};
  const Sizes wanted = {rows, columns.value() / out.group};
  const bool fits = out.scale->sizes() == wanted && (!out.zero || out.zero->sizes() == wanted);
  return fits ? std::optional(out) : std::nullopt;
}

Value* gather_quantized_rows(Builder& b, Node& node) {
  if (!node.is("aten.embedding.default")) return nullptr;
  const auto table = table_of(*node.tensor("weight"));
  if (!table) return nullptr;
  const auto rows_of = [&](Value* values) {
    Args args = node.args();
    args[0] = values;
    return b.call("aten.embedding", std::move(args));
  };
  Value* elements = rows_of(table->elements);
  Ints blocks(elements->rank(), Sym(1));
  blocks.back() = table->group;
  const Arg zero = table->zero ? Arg(rows_of(table->zero)) : Arg(None{});
  return b.call("torchao.dequantize_affine", {elements, std::move(blocks), rows_of(table->scale), zero,
                                              table->elements->dtype(), table->low, table->high, table->dtype});
}

constexpr Rule kQuantizedGatherRules[] = {gather_quantized_rows};

}  // namespace

// Gathers rows of a quantized table before they are dequantized, so that the table stays small.
//   before: t = dequantize_affine(q, s, z) of constants; y = embedding(t, i)
//   after:  y = dequantize_affine(embedding(q, i), embedding(s, i), embedding(z, i))
// Applies to tables [rows, columns] with one scale for each row or for each group within a row.
// Keeps: every value, bit for bit.
Result<Changed> gather_quantized(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return rewrite_nodes(g, Span<const Rule>(kQuantizedGatherRules)); });
}

}  // namespace wick::compiler
