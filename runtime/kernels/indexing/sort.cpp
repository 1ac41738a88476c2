// sort, argsort, topk and the order statistics: all work on the lines along one dimension.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/indexing/sort_keys.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// The lines of `self` along a dimension, and where the i-th line's results go.
struct Lines {
  View self;
  DType dtype;
  int dim = 0;
  int64_t length = 1;
  int64_t count = 1;
  SortItem* items = nullptr;
  SortItem* scratch = nullptr;

  bool init(KernelContext& context, const Tensor& tensor, int64_t asked_dim) {
    if (!require_real(context, tensor, "only real dtypes have an order")) return false;
    self = view_of(tensor);
    dtype = tensor.dtype;
    if (!wrap_dim(context, asked_dim, self.rank, &dim)) return false;
    if (self.rank == 0) self.insert(0, 1, 1);
    length = self.sizes[dim];
    for (int d = 0; d < self.rank; ++d) count *= d == dim ? 1 : self.sizes[d];
    items = context.allocate_temp_array<SortItem>(static_cast<size_t>(length));
    scratch = context.allocate_temp_array<SortItem>(static_cast<size_t>(length));
    return items && scratch;
  }
  /// The offset of line i in a tensor that has the same shape except for `dim`.
  int64_t offset(const View& view, int64_t i) const {
    int64_t sum = 0;
    for (int d = self.rank - 1; d >= 0; --d) {
      if (d == dim) continue;
      sum += i % self.sizes[d] * view.strides[d];
      i /= self.sizes[d];
    }
    return sum;
  }
  const uint8_t* line(int64_t i) const {
    return self.data + offset(self, i) * static_cast<int64_t>(dtype_size_bytes(dtype));
  }
  void load(int64_t i, bool descending) { load_items(line(i), dtype, self.strides[dim], length, descending, items); }
};

View at_least_1d(View view) {
  if (view.rank == 0) view.insert(0, 1, 1);
  return view;
}

/// Copies the element of line i that `index` names to values[value_offset], and the index. Either tensor may be null.
void put_result(const Lines& lines, int64_t i, int64_t index, const View* values, const View* indices,
                int64_t position) {
  if (values) {
    dispatch_size(lines.dtype, [&](auto unit) {
      using T = decltype(unit);
      reinterpret_cast<T*>(values->data)[lines.offset(*values, i) + position * values->strides[lines.dim]] =
          reinterpret_cast<const T*>(lines.line(i))[index * lines.self.strides[lines.dim]];
    });
  }
  if (indices) {
    reinterpret_cast<int64_t*>(indices->data)[lines.offset(*indices, i) + position * indices->strides[lines.dim]] =
        index;
  }
}

bool check_outs(KernelContext& context, const Tensor& self, const Tensor* values, const Tensor* indices) {
  if (values && !require_dtype(context, *values, self.dtype, "values has a different dtype than self")) return false;
  if (values == indices) return reject(context, "values and indices are one tensor");
  return !indices || require_dtype(context, *indices, DType::i64, "indices must be i64");
}

void sort_into(KernelContext& context, const Tensor& self, int64_t dim, bool descending, Tensor* values,
               Tensor* indices) {
  Lines lines;
  const View shape = view_of(self);
  if (!check_outs(context, self, values, indices) || !lines.init(context, self, dim)) return;
  if (values && !resize_out(context, *values, shape.sizes, shape.rank)) return;
  if (indices && !resize_out(context, *indices, shape.sizes, shape.rank)) return;
  if (lines.count == 0 || lines.length == 0) return;
  const View v = values ? at_least_1d(view_of(*values)) : View(), x = indices ? at_least_1d(view_of(*indices)) : View();
  for (int64_t i = 0; i < lines.count; ++i) {
    lines.load(i, descending);
    sort_items(lines.items, lines.scratch, lines.length);
    for (int64_t k = 0; k < lines.length; ++k) {
      put_result(lines, i, lines.items[k].index, values ? &v : nullptr, indices ? &x : nullptr, k);
    }
  }
}

}  // namespace

void sort_out(KernelContext& context, Span<EValue*> args) {
  sort_into(context, *args[0]->tensor, args[1]->integer, args[2]->boolean, args[3]->tensor, args[4]->tensor);
}
void sort_stable_out(KernelContext& context, Span<EValue*> args) {
  sort_into(context, *args[0]->tensor, args[2]->integer, args[3]->boolean, args[4]->tensor, args[5]->tensor);
}
void argsort_stable_out(KernelContext& context, Span<EValue*> args) {
  sort_into(context, *args[0]->tensor, args[2]->integer, args[3]->boolean, nullptr, args[4]->tensor);
}

void topk_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const int64_t k = args[1]->integer;
  Tensor& values = *args[5]->tensor;
  Tensor& indices = *args[6]->tensor;
  Lines lines;
  if (!check_outs(context, self, &values, &indices) || !lines.init(context, self, args[2]->integer)) return;
  if (!require(context, k >= 0 && k <= lines.length, "k is out of range")) return;
  View shape = lines.self;
  shape.sizes[lines.dim] = k;
  const int rank = self.rank;
  if (!require(context, rank > 0 || k == 1, "topk of a scalar takes k = 1")) return;
  if (!resize_out(context, values, shape.sizes, rank) || !resize_out(context, indices, shape.sizes, rank) || k == 0)
    return;
  const View v = at_least_1d(view_of(values)), x = at_least_1d(view_of(indices));
  for (int64_t i = 0; i < lines.count; ++i) {
    lines.load(i, args[3]->boolean);
    select_items(lines.items, lines.length, k, args[4]->boolean);
    for (int64_t p = 0; p < k; ++p) put_result(lines, i, lines.items[p].index, &v, &x, p);
  }
}

namespace {

/// One element of each line. choose(lines) gets the loaded items of a line and returns the index of the element.
template <typename Choose>
void reduce_lines(KernelContext& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
                  Tensor& indices, const Choose& choose) {
  Lines lines;
  const int rank = self.rank;
  if (!check_outs(context, self, &values, &indices) || !lines.init(context, self, dim)) return;
  if (!require(context, lines.length > 0, "the reduced dimension is empty")) return;
  View shape = lines.self;
  shape.sizes[lines.dim] = 1;
  if (!keepdim || rank == 0) shape.erase(lines.dim);
  if (!resize_out(context, values, shape.sizes, shape.rank) || !resize_out(context, indices, shape.sizes, shape.rank))
    return;
  View v = view_of(values), x = view_of(indices);
  if (!keepdim || rank == 0) {
    v.insert(lines.dim, 1, 1);
    x.insert(lines.dim, 1, 1);
  }
  for (int64_t i = 0; i < lines.count; ++i) {
    lines.load(i, false);
    put_result(lines, i, choose(lines), &v, &x, 0);
  }
}

/// The index of the element of rank k (from 0) in the line after a stable sort.
int64_t stable_of_rank(Lines& lines, int64_t k) {
  sort_items(lines.items, lines.scratch, lines.length);
  return lines.items[k].index;
}

int64_t count_nans(const Lines& lines) {
  int64_t count = 0;
  for (int64_t i = 0; i < lines.length; ++i) count += is_floating(lines.dtype) && lines.items[i].key == kNanKey;
  return count;
}

/// Rank of the median: the lower middle; the first NaN if there is one (unless NaNs are ignored).
int64_t median_rank(const Lines& lines, bool ignore_nan) {
  const int64_t nans = count_nans(lines);
  const int64_t numbers = lines.length - nans;
  if (nans > 0 && !ignore_nan) return numbers;
  return numbers > 0 ? (numbers - 1) / 2 : 0;
}

}  // namespace

void kthvalue_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const int64_t k = args[1]->integer;
  int dim;
  if (!wrap_dim(context, args[2]->integer, self.rank, &dim)) return;
  if (!require(context, k >= 1 && k <= (self.rank > 0 ? self.sizes[dim] : 1), "k is out of range")) return;
  reduce_lines(context, self, dim, args[3]->boolean, *args[4]->tensor, *args[5]->tensor,
               [&](Lines& lines) { return select_nth(lines.items, lines.length, k - 1); });
}

void median_dim_out(KernelContext& context, Span<EValue*> args) {
  reduce_lines(context, *args[0]->tensor, args[1]->integer, args[2]->boolean, *args[3]->tensor, *args[4]->tensor,
               [](Lines& lines) { return stable_of_rank(lines, median_rank(lines, false)); });
}

void nanmedian_dim_out(KernelContext& context, Span<EValue*> args) {
  reduce_lines(context, *args[0]->tensor, args[1]->integer, args[2]->boolean, *args[3]->tensor, *args[4]->tensor,
               [](Lines& lines) { return stable_of_rank(lines, median_rank(lines, true)); });
}

/// The smallest of the most frequent values. Of its positions, the last in the order that sorting leaves. NaNs differ
/// from each other.
void mode_out(KernelContext& context, Span<EValue*> args) {
  reduce_lines(context, *args[0]->tensor, args[1]->integer, args[2]->boolean, *args[3]->tensor, *args[4]->tensor,
               [](Lines& lines) {
                 sort_unstably(lines.items, lines.length);
                 int64_t best = 0, best_run = 0, run = 0;
                 for (int64_t i = 0; i < lines.length; ++i) {
                   const bool same = i > 0 && lines.items[i].key == lines.items[i - 1].key &&
                                     !(is_floating(lines.dtype) && lines.items[i].key == kNanKey);
                   run = same ? run + 1 : 1;
                   if (run > best_run) {
                     best_run = run;
                     best = i;
                   }
                 }
                 return lines.items[best].index;
               });
}

namespace {

void median_of_all(KernelContext& context, Span<EValue*> args, bool ignore_nan) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  if (!require_real(context, self, "only real dtypes have a median")) return;
  if (!require_dtype(context, out, self.dtype, "out has a different dtype than self")) return;
  const int64_t count = static_cast<int64_t>(self.numel);
  const uint8_t* data = static_cast<const uint8_t*>(contiguous_data(context, self));
  Lines lines;
  lines.dtype = self.dtype;
  lines.length = count;
  lines.items = context.allocate_temp_array<SortItem>(static_cast<size_t>(count));
  lines.scratch = context.allocate_temp_array<SortItem>(static_cast<size_t>(count));
  if (!data || !lines.items || !lines.scratch || !resize_out(context, out, nullptr, 0)) return;
  if (count == 0) {
    if (!require(context, is_floating(out.dtype), "the median of no integers is undefined")) return;
    const double nan = __builtin_nan("");
    View from;
    from.data = reinterpret_cast<uint8_t*>(const_cast<double*>(&nan));
    convert_view(context, view_of(out), out.dtype, from, DType::f64);
    return;
  }
  load_items(data, self.dtype, 1, count, false, lines.items);
  const int64_t index = stable_of_rank(lines, median_rank(lines, ignore_nan));
  View from;
  from.data = const_cast<uint8_t*>(data) + index * static_cast<int64_t>(dtype_size_bytes(self.dtype));
  copy_view(context, dtype_size_bytes(out.dtype), view_of(out), from);
}

}  // namespace

void median_out(KernelContext& context, Span<EValue*> args) { median_of_all(context, args, false); }
void nanmedian_out(KernelContext& context, Span<EValue*> args) { median_of_all(context, args, true); }

}  // namespace kernels
}  // namespace wick
