#include "compiler/plan/view_alias.h"

#include "compiler/layout/constant_elements.h"
#include "compiler/layout/dim_order.h"

namespace wick::compiler {
namespace {

using layout::DimOrder;
using layout::stored_order;

bool keeps_bytes(const Value& operand, const Value& result) {
  if (is_contiguous(operand) && is_contiguous(result)) return true;
  return operand.sizes() == result.sizes() && stored_order(operand) == stored_order(result);
}

// Whether a view keeps the bytes: it merges and splits only dimensions that are adjacent in memory.
bool is_plain_view(const Value& operand, const Value& result) {
  if (keeps_bytes(operand, result)) return true;
  const auto through = layout::through_view(operand.sizes(), stored_order(operand), result.sizes());
  return through && layout::same_bytes(result.sizes(), *through, stored_order(result));
}

bool is_plain_permute(const Node& node, const Value& operand, const Value& result) {
  std::vector<int64_t> perm;
  for (const Sym& dim : node.arg(1).as<Ints>()) perm.push_back(dim.value());
  return layout::same_bytes(result.sizes(), layout::permuted(stored_order(operand), perm), stored_order(result));
}

// The byte offset of a slice or select that is one range: all dimensions outside the one that is cut have size 1.
std::optional<uint64_t> part_offset(const Node& node, const Value& operand, const Value& result) {
  const bool slice = node.is(Movement::slice);
  const auto dim = static_cast<size_t>(node.static_integer("dim"));
  const Sym start = node.integer(slice ? "start" : "index");
  if (!start.is_const() || (slice && !node.integer("step").is(1))) return {};
  const Sizes& sizes = operand.sizes();
  const DimOrder order = stored_order(operand);
  const DimOrder wanted = slice ? order : layout::without_dim(order, dim);
  if (!layout::same_bytes(result.sizes(), wanted, stored_order(result))) return {};
  uint64_t inner = dtype_size_bytes(operand.dtype());
  for (size_t i = order.size(); order[--i] != dim;) inner *= static_cast<uint64_t>(sizes[order[i]].value());
  for (size_t i = 0; order[i] != dim; ++i) {
    if (!sizes[order[i]].is(1)) return {};
  }
  const int64_t first = start.value() < 0 ? start.value() + sizes[dim].value() : start.value();
  return static_cast<uint64_t>(first) * inner;
}

}  // namespace

bool is_contiguous(const Value& value) { return stored_order(value) == layout::plain_order(value.rank()); }

std::optional<uint64_t> alias_offset(const Node& node) {
  const Value& operand = *node.arg(size_t{0}).as<Value*>();
  const Value& result = *node.result();
  if (!is_static(result.sizes()) || !is_static(operand.sizes())) return {};
  const auto at_start = [](bool shares) { return shares ? std::optional<uint64_t>(0) : std::nullopt; };
  switch (node.op->facts.movement) {
    case Movement::view: return at_start(is_plain_view(operand, result));
    case Movement::expand:
      return at_start(numel(operand.sizes()) == numel(result.sizes()) && is_plain_view(operand, result));
    case Movement::permute: return at_start(is_plain_permute(node, operand, result));
    case Movement::slice:
    case Movement::select: return part_offset(node, operand, result);
    default: break;
  }
  if (node.op->has(kReinterprets)) return at_start(is_contiguous(operand) && is_contiguous(result));
  if (node.is("dim_order_ops._to_dim_order_copy.default"))
    return at_start(layout::same_bytes(operand.sizes(), stored_order(operand), stored_order(result)));
  return {};
}

}  // namespace wick::compiler
