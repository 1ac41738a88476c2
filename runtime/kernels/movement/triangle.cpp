// tril, triu and their index lists.
#include <string.h>

#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// Columns [first, last) of row `row` that the triangle keeps.
struct Kept {
  int64_t first, last;
};
Kept kept_columns(bool lower, int64_t row, int64_t columns, int64_t diagonal) {
  // Bounds beyond these change nothing; clamping keeps the sums below from overflowing.
  const int64_t limit = int64_t{1} << 32;
  const int64_t k = diagonal < -limit ? -limit : diagonal > limit ? limit : diagonal;
  int64_t edge = lower ? row + k + 1 : row + k;
  edge = edge < 0 ? 0 : edge > columns ? columns : edge;
  return lower ? Kept{0, edge} : Kept{edge, columns};
}

void copy_triangle(KernelContext& context, Span<EValue*> args, bool lower) {
  const Tensor& in = *args[0]->tensor;
  const int64_t diagonal = args[1]->integer;
  Tensor& out = *args[2]->tensor;
  const size_t element_size = dtype_size_bytes(in.dtype);
  const View src = view_of(in);
  if (!require(context, src.rank >= 2, "a triangle needs at least two dimensions")) return;
  store_view(context, src, in.dtype, out);
  if (!context.ok() || out.numel == 0) return;
  const View dst = view_of(out);
  const uint64_t zero[2] = {};
  const int rows = dst.rank - 2, columns = dst.rank - 1;
  for (int64_t row = 0; row < dst.sizes[rows]; ++row) {
    const Kept kept = kept_columns(lower, row, dst.sizes[columns], diagonal);
    View gone = dst;
    gone.advance(row * dst.strides[rows], element_size);
    gone.sizes[rows] = 1;
    const int64_t begin = lower ? kept.last : 0;
    gone.sizes[columns] = lower ? dst.sizes[columns] - kept.last : kept.first;
    if (gone.sizes[columns] == 0) continue;
    gone.advance(begin * dst.strides[columns], element_size);
    fill_view(context, element_size, gone, zero);
  }
}

/// out [2, n]: row and column of every element the triangle keeps, row by row.
void triangle_indices(KernelContext& context, Span<EValue*> args, bool lower) {
  const int64_t rows = args[0]->integer, columns = args[1]->integer, offset = args[2]->integer;
  Tensor& out = *args[3]->tensor;
  const bool sane = rows >= 0 && rows <= INT32_MAX && columns >= 0 && columns <= INT32_MAX;
  if (!require(context, sane, "rows and columns must be sizes")) return;
  if (!require(context, is_index_dtype(out.dtype), "triangle indices are i64 or i32")) return;
  int64_t count = 0;
  for (int64_t row = 0; row < rows && count <= INT32_MAX; ++row) {
    const Kept kept = kept_columns(lower, row, columns, offset);
    count += kept.last - kept.first;
  }
  const int64_t sizes[2] = {2, count};
  if (!resize_out(context, out, sizes, 2) || count == 0) return;
  const View dst = view_of(out);
  int64_t at = 0;
  auto put = [&](int64_t which, int64_t value) {
    const int64_t offset_elements = which * dst.strides[0] + at * dst.strides[1];
    if (out.dtype == DType::i64) {
      out.as<int64_t>()[offset_elements] = value;
    } else {
      out.as<int32_t>()[offset_elements] = static_cast<int32_t>(value);
    }
  };
  for (int64_t row = 0; row < rows; ++row) {
    const Kept kept = kept_columns(lower, row, columns, offset);
    for (int64_t column = kept.first; column < kept.last; ++column, ++at) {
      put(0, row);
      put(1, column);
    }
  }
}

}  // namespace

void tril_out(KernelContext& context, Span<EValue*> args) { copy_triangle(context, args, true); }
void triu_out(KernelContext& context, Span<EValue*> args) { copy_triangle(context, args, false); }
void tril_indices_out(KernelContext& context, Span<EValue*> args) { triangle_indices(context, args, true); }
void triu_indices_out(KernelContext& context, Span<EValue*> args) { triangle_indices(context, args, false); }

}  // namespace kernels
}  // namespace wick
