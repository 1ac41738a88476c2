#include "backends/xnnpack/compile/passes/rows/row_matrix.h"

#include <algorithm>

#include "compiler/ops/compose.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Compose;
using compiler::Graph;
using compiler::Movement;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::Values;

namespace {

// The number of multiplications by 0 or 1 that cost about as much as a call of a delegate.
constexpr int64_t kMaxProducts = int64_t{1} << 20;

bool is_index(const Value& index) {
  return !index.is_constant() && (index.dtype() == DType::i64 || index.dtype() == DType::i32);
}

}  // namespace

std::optional<RowPositions> positions_of(Value* index, size_t dim) {
  const Sym count = index->rank() > dim ? index->sizes()[dim] : Sym(1);
  const Value* whole = index;
  if (index->producer && index->producer->is(Movement::expand)) index = index->producer->operands()[0];
  if (index->rank() != whole->rank()) return std::nullopt;
  if (!is_index(*index) || index->rank() <= dim || index->sizes()[dim] != count) return std::nullopt;
  for (size_t i = 0; i < index->rank(); ++i) {
    if (i != dim && !index->sizes()[i].is(1)) return std::nullopt;
  }
  return RowPositions{index, dim, false};
}

std::optional<RowPositions> only_position(const Values& indices) {
  RowPositions out;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (out.index) return std::nullopt;
    out = {indices[i], i, true};
  }
  const bool fits = out.index && out.index->rank() == 1 && is_index(*out.index);
  return fits ? std::optional(out) : std::nullopt;
}

std::unordered_set<const Value*> depends_on_matmul(const Graph& graph) {
  std::unordered_set<const Value*> behind;
  for (const auto& node : graph.nodes()) {
    const auto operands = node->operands();
    const bool depends = std::any_of(operands.begin(), operands.end(), [&](Value* v) { return behind.count(v); });
    if (depends || is_matmul_or_convolution(*node)) behind.insert(node->results().begin(), node->results().end());
  }
  return behind;
}

bool is_small_product(const Sym& count, const Sizes& sizes) {
  const Sym all = numel(sizes);
  int64_t products = 0;
  return count.is_const() && all.is_const() && all.value() > 0 && count.value() > 0 &&
         !__builtin_mul_overflow(count.value(), all.value(), &products) && products <= kMaxProducts;
}

Value* row_matrix(Builder& b, const RowPositions& at, const Sym& length, bool transposed) {
  Compose c(b);
  const Sym count = at.index->sizes()[at.index->rank() == 1 ? 0 : at.dim];
  Value* index = b.reshape(at.index, {count});
  // The gather from 0, 1, 2 .. refuses positions outside the range.
  Value* all = c.arange(length, DType::i64);
  Value* place = at.from_end ? b.call("aten.index.Tensor", {all, Values{index}})
                             : b.call("aten.gather", {all, int64_t{0}, b.cast(index, DType::i64)});
  const Sizes column = transposed ? Sizes{1, count} : Sizes{count, 1},
              row = transposed ? Sizes{length, 1} : Sizes{1, length};
  return b.cast(c.compare("eq", b.reshape(place, column), b.reshape(c.arange(length, DType::i64), row)), DType::f32);
}

Value* times_rows(Builder& b, Value* matrix, Value* x, size_t dim) {
  const Sizes& sizes = x->sizes();
  const auto at = static_cast<ptrdiff_t>(dim);
  const Sym before = numel(Sizes(sizes.begin(), sizes.begin() + at)),
            behind = numel(Sizes(sizes.begin() + at + 1, sizes.end()));
  const Sym rows = matrix->sizes()[0], columns = matrix->sizes()[1];
  Sizes out = sizes;
  out[dim] = rows;
  x = b.reshape(x, {before, columns, behind});
  matrix = b.expand(b.reshape(matrix, {1, rows, columns}), {before, rows, columns});
  return b.reshape(b.call("aten.bmm", {matrix, x}), std::move(out));
}

}  // namespace wick::xnnpack
