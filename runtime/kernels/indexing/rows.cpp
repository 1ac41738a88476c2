// Whole rows by number: embedding, index_select, index_copy, index_add, index_fill.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"
#include "runtime/kernels/movement/view_ops.h"

namespace wick {
namespace kernels {
namespace {

/// The numbers of an index tensor in logical order, each checked to lie in [0, size), in temp.
int64_t* checked_indices(KernelContext& context, const Tensor& index, int64_t size, bool negative_wraps) {
  const int64_t count = static_cast<int64_t>(index.numel);
  if (!is_index_dtype(index.dtype)) {
    context.fail(Error::InvalidType, "the index tensor is neither i64 nor i32");
    return nullptr;
  }
  const void* data = contiguous_data(context, index);
  int64_t* result = data ? context.allocate_temp_array<int64_t>(static_cast<size_t>(count)) : nullptr;
  if (!result) return nullptr;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = load_index(data, index.dtype, i);
    if (negative_wraps && value < 0) value += size;
    if (!require(context, value >= 0 && value < size, "index is out of range")) return nullptr;
    result[i] = value;
  }
  return result;
}

/// The part at index `i` of `dim`, in which that dimension has size 1.
View row_of(const View& view, int dim, int64_t i, size_t element_size) {
  View row = view;
  row.sizes[dim] = 1;
  row.advance(i * row.strides[dim], element_size);
  return row;
}

/// Row-major [outer, size, inner] to [outer, count, inner]: the listed rows of each outer part, one after another.
void select_rows(KernelContext& context, DType dtype, const uint8_t* src, int64_t outer, int64_t size, int64_t inner,
                 const int64_t* rows, int64_t count, uint8_t* dst) {
  const int64_t row_bytes = inner * static_cast<int64_t>(dtype_size_bytes(dtype));
  if (inner > 1) {
    return context.parallel_for(outer * count, 16384 / inner + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        memmove(dst + i * row_bytes, src + (i / count * size + rows[i % count]) * row_bytes,
                static_cast<size_t>(row_bytes));
    });
  }
  dispatch_size(dtype, [&](auto zero) {
    using T = decltype(zero);
    context.parallel_for(outer, 16384 / count + 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const T* from = reinterpret_cast<const T*>(src) + o * size;
        T* to = reinterpret_cast<T*>(dst) + o * count;
        for (int64_t i = 0; i < count; ++i) to[i] = from[rows[i]];
      }
    });
  });
}

/// A scalar counts as one dimension of size 1.
View at_least_1d(View view) {
  if (view.rank == 0) view.insert(0, 1, 1);
  return view;
}

}  // namespace

void embedding_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& weight = *args[0]->tensor;
  const Tensor& indices = *args[1]->tensor;
  Tensor& out = *args[5]->tensor;
  const View table = view_of(weight);
  const DType dtype = weight.dtype;
  const size_t element_size = dtype_size_bytes(dtype);
  if (!require(context, table.rank == 2, "the embedding table must have two dimensions")) return;
  if (!require_dtype(context, out, dtype, "out has a different dtype than the table")) return;
  View shape = view_of(indices);
  const int64_t count = static_cast<int64_t>(indices.numel);
  const int64_t* rows = checked_indices(context, indices, table.sizes[0], false);
  if (!rows) return;
  shape.insert(shape.rank, table.sizes[1], 1);
  if (!resize_out(context, out, shape.sizes, shape.rank) || out.numel == 0) return;
  uint8_t* target = static_cast<uint8_t*>(contiguous_target(context, out));
  if (!target) return;
  const int64_t width = table.sizes[1];
  const bool dense = table.strides[1] == 1 || width == 1;
  const int64_t row_bytes = width * static_cast<int64_t>(element_size);
  context.parallel_for(count, 16384 / width + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      View row = row_of(table, 0, rows[i], element_size);
      if (dense) {
        memmove(target + i * row_bytes, row.data, static_cast<size_t>(row_bytes));
      } else {
        copy_view(context, element_size, contiguous_view(target + i * row_bytes, row.sizes, 2), row);
      }
    }
  });
  store_contiguous(context, out, target);
}

void index_select_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& index = *args[2]->tensor;
  Tensor& out = *args[3]->tensor;
  const View src = at_least_1d(view_of(self));
  const int result_rank = self.rank;
  const DType dtype = self.dtype;
  const size_t element_size = dtype_size_bytes(dtype);
  int dim;
  if (!wrap_dim(context, args[1]->integer, src.rank, &dim)) return;
  if (!require(context, index.rank <= 1, "the index must be a vector")) return;
  if (!require(context, result_rank > 0 || index.numel == 1, "a scalar takes one index")) return;
  if (!require_dtype(context, out, dtype, "out has a different dtype than self")) return;
  const int64_t count = static_cast<int64_t>(index.numel);
  const int64_t* rows = checked_indices(context, index, src.sizes[dim], false);
  if (!rows) return;
  View shape = src;
  shape.sizes[dim] = count;
  if (!resize_out(context, out, shape.sizes, result_rank) || out.numel == 0) return;
  const View dst = at_least_1d(view_of(out));
  const int64_t each = static_cast<int64_t>(out.numel) / count;
  int64_t outer = 1;
  for (int d = 0; d < dim; ++d) outer *= src.sizes[d];
  if (is_contiguous(self) && is_contiguous(out)) {
    return select_rows(context, dtype, src.data, outer, src.sizes[dim], each / outer, rows, count, dst.data);
  }
  context.parallel_for(count, 16384 / each + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      copy_view(context, element_size, row_of(dst, dim, i, element_size), row_of(src, dim, rows[i], element_size));
    }
  });
}

namespace {

/// out = self; then write(row of out, row of source) for each index in order. `source` null: no rows to read.
template <typename Write>
void write_rows(KernelContext& context, const Tensor& self, int64_t asked_dim, const Tensor& index,
                const Tensor* source, bool negative_wraps, Tensor& out, const Write& write) {
  const View before = view_of(self);
  const size_t element_size = dtype_size_bytes(self.dtype);
  int dim;
  if (!wrap_dim(context, asked_dim, before.rank, &dim)) return;
  if (!require(context, index.rank <= 1, "the index must be a vector")) return;
  const int64_t count = static_cast<int64_t>(index.numel);
  View rows;
  if (source) {
    rows = at_least_1d(view_of(*source));
    if (!require_dtype(context, *source, self.dtype, "source has a different dtype than self")) return;
    const View shape = at_least_1d(before);
    bool fits = rows.rank == shape.rank && rows.sizes[dim] == count;
    for (int d = 0; fits && d < shape.rank; ++d) fits = d == dim || rows.sizes[d] == shape.sizes[d];
    if (!require(context, fits, "source does not have self's shape with one row for each index")) return;
  }
  store_view(context, before, self.dtype, out);
  if (!context.ok()) return;
  const View dst = at_least_1d(view_of(out));
  const int64_t* positions = checked_indices(context, index, dst.sizes[dim], negative_wraps);
  if (!positions || out.numel == 0) return;
  for (int64_t i = 0; i < count; ++i) {
    write(row_of(dst, dim, positions[i], element_size), source ? row_of(rows, dim, i, element_size) : rows);
  }
}

}  // namespace

void index_copy_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  write_rows(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, args[3]->tensor, false, out,
             [&](const View& to, const View& from) { copy_view(context, dtype_size_bytes(out.dtype), to, from); });
}

void index_add_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[5]->tensor;
  const DType dtype = out.dtype;
  uint64_t alpha[2];
  scalar_to_element(*args[4], dtype, alpha);
  const bool scaled = args[4]->to_double() != 1;
  bool known = true;
  write_rows(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, args[3]->tensor, false, out,
             [&](const View& to, const View& from) {
               if (!scaled) {
                 accumulate_view(context, dtype, to, from);
                 return;
               }
               known = dispatch_real(dtype, [&](auto zero) {
                 using T = decltype(zero);
                 T factor;
                 memcpy(&factor, alpha, sizeof factor);
                 const int64_t count = to.numel();
                 for (int64_t i = 0; i < count; ++i) {
                   int64_t rest = i, a = 0, b = 0;
                   for (int d = to.rank - 1; d >= 0; --d) {
                     a += rest % to.sizes[d] * to.strides[d];
                     b += rest % to.sizes[d] * from.strides[d];
                     rest /= to.sizes[d];
                   }
                   T& sum = reinterpret_cast<T*>(to.data)[a];
                   sum = add_elements<T>(sum, multiply_elements<T>(reinterpret_cast<const T*>(from.data)[b], factor));
                 }
               });
             });
  if (!known) context.fail(Error::InvalidType, "index_add with alpha takes real dtypes");
}

void index_fill_scalar_out(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[4]->tensor;
  uint64_t value[2];
  scalar_to_element(*args[3], args[0]->tensor->dtype, value);
  write_rows(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, nullptr, true, out,
             [&](const View& to, const View&) { fill_view(context, dtype_size_bytes(out.dtype), to, value); });
}

void index_fill_tensor_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& source = *args[3]->tensor;
  Tensor& out = *args[4]->tensor;
  if (!require(context, source.rank == 0 && source.numel == 1, "the fill value must be a scalar tensor")) return;
  uint64_t value[2];
  convert_elements(value, args[0]->tensor->dtype, 1, source.data, source.dtype, 1, 1);
  write_rows(context, *args[0]->tensor, args[1]->integer, *args[2]->tensor, nullptr, true, out,
             [&](const View& to, const View&) { fill_view(context, dtype_size_bytes(out.dtype), to, value); });
}

}  // namespace kernels
}  // namespace wick
