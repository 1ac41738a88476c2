#include <algorithm>
#include <limits>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Ints;
using compiler::Node;
using compiler::Result;
using compiler::Rule;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;

namespace {

// With more elements, skewing costs more than a graph break.
constexpr int64_t kMaxElements = 1 << 20;

// Elements of matrices with low <= column - row <= high.
struct Band {
  int64_t low = std::numeric_limits<int64_t>::min() / 4, high = std::numeric_limits<int64_t>::max() / 4;
};

bool is_band_operand(const Value* x) {
  if (x->rank() < 2 || (x->dtype() != DType::f32 && x->dtype() != DType::f16)) return false;
  const Sizes& sizes = x->sizes();
  const Sym &rows = sizes[sizes.size() - 2], &columns = sizes.back();
  const auto unknown = std::count_if(sizes.begin(), sizes.end(), [](const Sym& size) { return !size.is_const(); });
  return rows.is_const() && columns.is_const() && unknown <= 1 && rows.value() >= 1 && columns.value() >= 1 &&
         rows.value() <= kMaxElements && columns.value() <= kMaxElements &&
         rows.value() * (rows.value() + columns.value()) <= kMaxElements;
}

// Replaces x outside the band by `fill`. Each row is shifted by one position more than the row before it, so that
// diagonals become columns.
Value* filled_outside(Builder& b, Value* x, const Band& band, const Arg& fill) {
  const int64_t rows = x->sizes()[x->rank() - 2].value(), columns = x->sizes().back().value();
  const Sym matrices = numel(Sizes(x->sizes().begin(), x->sizes().end() - 2));
  const int64_t padded = rows + columns, skewed = padded + 1;  // columns
  const auto pad = [&](Value* from, int64_t before, int64_t after, const Arg& with) {
    return before == 0 && after == 0 ? from : b.call("aten.constant_pad_nd", {from, Ints{before, after}, with});
  };
  Value* out = pad(b.reshape(x, {matrices, rows, columns}), rows, 0, 0.0);
  out = b.reshape(pad(b.reshape(out, {matrices, rows * padded}), 0, rows, 0.0), {matrices, rows, skewed});
  // The diagonal with this column - row is in column `rows` + (column - row).
  const int64_t first = std::clamp<int64_t>(rows + band.low, 0, skewed);
  const int64_t end = std::clamp<int64_t>(rows + band.high + 1, first, skewed);
  out = pad(b.slice(out, 2, first, end), first, skewed - end, fill);
  out = b.slice(b.reshape(out, {matrices, rows * skewed}), 1, 0, rows * padded);
  out = b.slice(b.reshape(out, {matrices, rows, padded}), 2, rows, padded);
  return b.reshape(out, x->sizes());
}

// Whether the band keeps some elements and drops some.
bool is_partial(const Band& band, const Value& x) {
  const int64_t rows = x.sizes()[x.rank() - 2].value(), columns = x.sizes().back().value();
  const int64_t low = std::max(band.low, 1 - rows), high = std::min(band.high, columns - 1);
  return low <= high && (low > 1 - rows || high < columns - 1);
}

Value* triangle(Builder& b, Node& node) {
  const bool lower = node.is("aten.tril.default");
  if (!lower && !node.is("aten.triu.default")) return nullptr;
  Value* x = node.tensor_or_null(0);
  const Sym diagonal = node.integer("diagonal");
  if (!x->producer || !is_band_operand(x) || !diagonal.is_const()) return nullptr;
  Band band;
  (lower ? band.high : band.low) = std::clamp(diagonal.value(), -kMaxElements, kMaxElements);
  return is_partial(band, *x) ? filled_outside(b, x, band, 0.0) : nullptr;
}

// The band of the matrices of x in which a constant condition equals `kept`, if it is a band.
std::optional<Band> band_of(const Value* condition, bool kept, const Value* x) {
  if (!condition->is_constant() || condition->dtype() != DType::boolean || !condition->tensor().dim_order.empty())
    return std::nullopt;
  const int64_t rows = x->sizes()[x->rank() - 2].value(), columns = x->sizes().back().value();
  const Sizes& sizes = condition->sizes();
  if (sizes.size() < 2 || !sizes.back().is(columns) || !sizes[sizes.size() - 2].is(rows) ||
      !numel(sizes).is(rows * columns))
    return std::nullopt;
  const auto bytes = condition->data.bytes();
  const auto is_kept = [&](int64_t row, int64_t column) {
    return (bytes[static_cast<size_t>(row * columns + column)] != 0) == kept;
  };
  Band band{columns, -rows};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      if (!is_kept(row, column)) continue;
      band.low = std::min(band.low, column - row);
      band.high = std::max(band.high, column - row);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const bool inside = band.low <= column - row && column - row <= band.high;
      if (inside != is_kept(row, column)) return std::nullopt;
    }
  }
  return band;
}

Value* select(Builder& b, Node& node) {
  const bool where = node.is("aten.where.self");
  if (!where && !node.is("aten.masked_fill.Scalar")) return nullptr;
  const Value* condition = node.arg(where ? 0 : 1).as<Value*>();
  const Value* result = node.result();
  if (!is_band_operand(result)) return nullptr;
  for (const bool kept : {false, true}) {
    const Arg& from = node.arg(!where ? 0 : kept ? 1 : 2);
    const Arg& other = node.arg(!where ? 2 : kept ? 2 : 1);
    if ((!where && kept) || !from.is<Value*>()) continue;
    Value* x = from.as<Value*>();
    if (!x->producer || x->dtype() != result->dtype()) continue;
    const auto fill = number_of(other, result->dtype());
    const auto band = fill ? band_of(condition, kept, result) : std::nullopt;
    if (band && is_partial(*band, *result))
      return filled_outside(b, b.expand(x, result->sizes()), *band, fill->as_number());
  }
  return nullptr;
}

}  // namespace

// Writes triangles and bands of matrices with slices, for backends that have slices but no booleans.
//   before: y = tril(x), or where(a constant band, x, number)
//   after:  pad and view shift each row by one position more than the row before it, so that diagonals become columns.
//           A slice keeps some of these columns, and padding fills the rest with the number. A second shift undoes the
//           first.
// Requires: fold_constants has run. arithmetic_selects has handled the matrices that it knows to be finite, with fewer
// steps. The sizes of the matrices are known.
// Leaves alone triangles of inputs, which are better computed outside the delegate.
// Keeps: every value, including NaN and infinity.
Result<Changed> band_by_slices(Graph& graph) {
  constexpr Rule kRules[] = {triangle, select};
  return for_each_graph(graph, [&](Graph& g) { return rewrite_nodes(g, {kRules, std::size(kRules)}); });
}

}  // namespace wick::xnnpack
