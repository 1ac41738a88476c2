// Operators that are a single change of view: permute, slice, select, expand, diagonal, unfold .. Each then copies
// densely.
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/view_ops.h"

namespace wick {
namespace kernels {

bool select_view(KernelContext& context, View& view, int64_t dim, int64_t index, size_t element_size) {
  int d;
  if (!require(context, view.rank > 0, "select needs at least one dimension")) return false;
  if (!wrap_dim(context, dim, view.rank, &d) || !wrap_index(context, index, view.sizes[d], &index)) return false;
  view.advance(index * view.strides[d], element_size);
  view.erase(d);
  return true;
}

bool slice_view(KernelContext& context, View& view, int64_t dim, const EValue& start, const EValue& end, int64_t step,
                size_t element_size) {
  int d;
  if (!require(context, view.rank > 0, "slice needs at least one dimension")) return false;
  if (!require(context, step > 0, "the slice step must be positive")) return false;
  if (!wrap_dim(context, dim, view.rank, &d)) return false;
  const int64_t size = view.sizes[d];
  int64_t first = start.is_none() ? 0 : start.integer;
  int64_t last = end.is_none() ? size : end.integer;
  if (first < 0) first = first < -size ? 0 : first + size;
  if (last < 0) last = last < -size ? 0 : last + size;
  if (first > size) first = size;
  if (last > size) last = size;
  if (last < first) last = first;
  view.sizes[d] = last > first ? (last - first - 1) / step + 1 : 0;
  if (view.sizes[d] > 0) view.advance(first * view.strides[d], element_size);
  if (view.sizes[d] > 1) view.strides[d] *= step;
  return true;
}

bool narrow_view(KernelContext& context, View& view, int dim, int64_t start, int64_t length, size_t element_size) {
  if (!require(context, length >= 0 && start >= 0 && start <= view.sizes[dim] && length <= view.sizes[dim] - start,
               "start and length exceed the dimension")) {
    return false;
  }
  view.sizes[dim] = length;
  if (length > 0) view.advance(start * view.strides[dim], element_size);
  return true;
}

bool diagonal_view(KernelContext& context, View& view, int64_t offset, int64_t dim1, int64_t dim2,
                   size_t element_size) {
  int a, b;
  if (!require(context, view.rank >= 2, "diagonal needs two dimensions")) return false;
  if (!wrap_dim(context, dim1, view.rank, &a) || !wrap_dim(context, dim2, view.rank, &b)) return false;
  if (!require(context, a != b, "diagonal needs two different dimensions")) return false;
  const int64_t rows = view.sizes[a], columns = view.sizes[b];
  const int64_t row_stride = view.strides[a], column_stride = view.strides[b];
  int64_t length = 0;
  if (offset >= 0) {
    if (offset < columns) length = rows < columns - offset ? rows : columns - offset;
    if (length > 0) view.advance(offset * column_stride, element_size);
  } else {
    if (offset > -rows) length = rows + offset < columns ? rows + offset : columns;
    if (length > 0) view.advance(-offset * row_stride, element_size);
  }
  view.erase(a > b ? a : b);
  view.erase(a > b ? b : a);
  view.insert(view.rank, length, row_stride + column_stride);
  return true;
}

bool strided_view(KernelContext& context, View& view, int64_t numel, Span<const int64_t> sizes,
                  Span<const int64_t> strides, const EValue& offset, size_t element_size) {
  const int64_t start = offset.is_none() ? 0 : offset.integer;
  if (!require(context, sizes.size() == strides.size() && sizes.size() <= kMaxRank,
               "as_strided needs equally many sizes and strides")) {
    return false;
  }
  const int rank = static_cast<int>(sizes.size());
  const int64_t count = checked_numel(sizes.data(), rank);
  const bool empty = count == 0;
  if (!require(context, count >= 0, "as_strided has a bad size")) return false;
  if (!require(context, start >= 0 && start <= numel, "as_strided starts outside the tensor")) return false;
  int64_t last = start;
  for (int d = 0; d < rank; ++d) {
    if (!require(context, strides[d] >= 0 && strides[d] <= INT32_MAX, "as_strided has a bad stride")) return false;
    if (!empty) last += (sizes[d] - 1) * strides[d];
    if (!require(context, empty || last < numel, "as_strided reaches outside the tensor")) return false;
  }
  view.rank = rank;
  for (int d = 0; d < rank; ++d) {
    view.sizes[d] = sizes[d];
    view.strides[d] = strides[d];
  }
  if (!empty) view.advance(start, element_size);
  return true;
}

void alias_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  store_view(context, view_of(in), in.dtype, *args[1]->tensor);
}

void clone_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  store_view(context, view_of(in), in.dtype, *args[2]->tensor);
}

void permute_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<const int64_t> dims = args[1]->ints();
  View view = view_of(in);
  uint32_t mask;
  if (!require(context, dims.size() == static_cast<size_t>(view.rank), "permute needs one entry per dimension")) return;
  if (!wrap_dims(context, dims, view.rank, &mask)) return;
  int order[kMaxRank];
  for (int d = 0; d < view.rank; ++d) order[d] = static_cast<int>(dims[d] < 0 ? dims[d] + view.rank : dims[d]);
  view.permute(order);
  store_view(context, view, in.dtype, *args[2]->tensor);
}

namespace {
void swap_dims(View& view, int a, int b) {
  int order[kMaxViewRank];
  for (int d = 0; d < view.rank; ++d) order[d] = d == a ? b : d == b ? a : d;
  view.permute(order);
}
}  // namespace

void transpose_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  int a, b;
  if (!wrap_dim(context, args[1]->integer, view.rank, &a) || !wrap_dim(context, args[2]->integer, view.rank, &b))
    return;
  if (view.rank > 0) swap_dims(view, a, b);
  store_view(context, view, in.dtype, *args[3]->tensor);
}

void t_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  if (!require(context, view.rank <= 2, "t needs at most two dimensions")) return;
  if (view.rank == 2) swap_dims(view, 0, 1);
  store_view(context, view, in.dtype, *args[1]->tensor);
}

void slice_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  if (!slice_view(context, view, args[1]->integer, *args[2], *args[3], args[4]->integer, dtype_size_bytes(in.dtype)))
    return;
  store_view(context, view, in.dtype, *args[5]->tensor);
}

void narrow_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  int dim;
  if (!require(context, view.rank > 0, "narrow needs at least one dimension")) return;
  if (!wrap_dim(context, args[1]->integer, view.rank, &dim)) return;
  int64_t start = args[2]->integer;
  if (start < 0 && start >= -view.sizes[dim]) start += view.sizes[dim];
  if (!narrow_view(context, view, dim, start, args[3]->integer, dtype_size_bytes(in.dtype))) return;
  store_view(context, view, in.dtype, *args[4]->tensor);
}

void select_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  if (!select_view(context, view, args[1]->integer, args[2]->integer, dtype_size_bytes(in.dtype))) return;
  store_view(context, view, in.dtype, *args[3]->tensor);
}

void expand_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<const int64_t> asked = args[1]->ints();
  const View view = view_of(in);
  const int rank = static_cast<int>(asked.size());
  if (!require(context, asked.size() <= kMaxRank && rank >= view.rank, "expand needs at least the input's dimensions"))
    return;
  int64_t sizes[kMaxRank];
  for (int d = 0; d < rank; ++d) {
    const int source = d - (rank - view.rank);
    if (!require(context, asked[d] >= -1 && (asked[d] >= 0 || source >= 0), "expand has a bad size")) return;
    sizes[d] = asked[d] == -1 ? view.sizes[source] : asked[d];
  }
  View expanded;
  if (!require(context, broadcast_view(view, sizes, rank, &expanded), "expand changes a dimension that is not 1"))
    return;
  store_view(context, expanded, in.dtype, *args[3]->tensor);
}

void diagonal_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  if (!diagonal_view(context, view, args[1]->integer, args[2]->integer, args[3]->integer, dtype_size_bytes(in.dtype)))
    return;
  store_view(context, view, in.dtype, *args[4]->tensor);
}

void as_strided_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  if (!strided_view(context, view, static_cast<int64_t>(in.numel), args[1]->ints(), args[2]->ints(), *args[3],
                    dtype_size_bytes(in.dtype))) {
    return;
  }
  store_view(context, view, in.dtype, *args[4]->tensor);
}

void unfold_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  int dim;
  if (!wrap_dim(context, args[1]->integer, view.rank, &dim)) return;
  const int64_t size = args[2]->integer, step = args[3]->integer;
  if (view.rank == 0) view.insert(0, 1, 1);
  const bool scalar = in.rank == 0;
  if (!require(context, size >= 0 && size <= view.sizes[dim] && step > 0, "unfold has a bad size or step")) return;
  if (!require(context, view.rank < static_cast<int>(kMaxRank), "unfold has too many dimensions")) return;
  const int64_t stride = view.strides[dim];
  view.sizes[dim] = (view.sizes[dim] - size) / step + 1;
  if (view.sizes[dim] > 1) view.strides[dim] = stride * step;
  view.insert(view.rank, size, stride);
  if (scalar) view.erase(0);
  store_view(context, view, in.dtype, *args[4]->tensor);
}

void unsqueeze_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  View view = view_of(in);
  int dim;
  if (!wrap_dim(context, args[1]->integer, view.rank + 1, &dim)) return;
  view.insert(dim, 1, 1);
  store_view(context, view, in.dtype, *args[2]->tensor);
}

namespace {
void squeeze(KernelContext& context, const Tensor& in, uint32_t mask, Tensor& out) {
  View view = view_of(in);
  for (int d = view.rank - 1; d >= 0; --d) {
    if ((mask >> d & 1) && view.sizes[d] == 1) view.erase(d);
  }
  store_view(context, view, in.dtype, out);
}
}  // namespace

void squeeze_copy_out(KernelContext& context, Span<EValue*> args) {
  squeeze(context, *args[0]->tensor, ~0u, *args[1]->tensor);
}

void squeeze_copy_dim_out(KernelContext& context, Span<EValue*> args) {
  int dim;
  if (!wrap_dim(context, args[1]->integer, args[0]->tensor->rank, &dim)) return;
  squeeze(context, *args[0]->tensor, 1u << dim, *args[2]->tensor);
}

void squeeze_copy_dims_out(KernelContext& context, Span<EValue*> args) {
  uint32_t mask;
  if (!wrap_dims(context, args[1]->ints(), args[0]->tensor->rank, &mask)) return;
  squeeze(context, *args[0]->tensor, mask, *args[2]->tensor);
}

}  // namespace kernels
}  // namespace wick
