// _unique2 and unique_consecutive: distinct values, the number of each element's value, and how often each occurs.
#include <string.h>

#include "runtime/kernels/indexing/sort_keys.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// The groups that both operators find: element first[g] represents group g.
struct Groups {
  int64_t count = 0;
  int64_t* first = nullptr;    // per group
  int64_t* sizes = nullptr;    // per group
  int64_t* inverse = nullptr;  // per element

  bool init(KernelContext& context, int64_t elements) {
    first = context.allocate_temp_array<int64_t>(static_cast<size_t>(elements));
    sizes = context.allocate_temp_array<int64_t>(static_cast<size_t>(elements));
    inverse = context.allocate_temp_array<int64_t>(static_cast<size_t>(elements));
    return first && sizes && inverse;
  }
  void add(int64_t element, bool opens) {
    if (opens) {
      first[count] = element;
      sizes[count++] = 0;
    }
    ++sizes[count - 1];
    inverse[element] = count - 1;
  }
};

/// Stores a result. An unwanted one becomes empty; if `out` cannot be empty it stays as it is.
void store_numbers(KernelContext& context, bool wanted, int64_t* numbers, const int64_t* sizes, int rank, Tensor& out) {
  if (!wanted) {
    const int32_t zero = 0;
    const Error ignored = out.rank == 1 ? resize(out, Span<const int32_t>(&zero, 1)) : Error::Ok;
    static_cast<void>(ignored);
    return;
  }
  if (!require_dtype(context, out, DType::i64, "inverse indices and counts are i64") ||
      !resize_out(context, out, sizes, rank))
    return;
  copy_view(context, sizeof(int64_t), view_of(out), contiguous_view(numbers, sizes, rank));
}

/// Whether `out` can be resized to the shape of `view`.
bool takes_shape(Tensor& out, const View& view) {
  int32_t sizes[kMaxRank];
  if (out.rank != view.rank) return false;
  for (int d = 0; d < view.rank; ++d) sizes[d] = static_cast<int32_t>(view.sizes[d]);
  return resize(out, Span<const int32_t>(sizes, out.rank)) == Error::Ok;
}

/// The neighbours and slices along one dimension that unique compares.
struct Slices {
  const SortItem* items;
  DimSplit split;
  bool floats;

  uint64_t key(int64_t slice, int64_t o, int64_t i) const {
    return items[(o * split.size + slice) * split.inner + i].key;
  }
  bool equal(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t i = 0; i < split.inner; ++i) {
        if (key(a, o, i) != key(b, o, i) || (floats && key(a, o, i) == kNanKey)) return false;
      }
    }
    return true;
  }
  bool less(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t i = 0; i < split.inner; ++i) {
        if (key(a, o, i) != key(b, o, i)) return key(a, o, i) < key(b, o, i);
      }
    }
    return false;
  }
  /// Merges sorted runs of growing length; stable. The result is in `order`.
  void sort(int64_t* order, int64_t* scratch) const {
    const int64_t count = split.size;
    for (int64_t i = 0; i < count; ++i) order[i] = i;
    for (int64_t width = 1; width < count; width *= 2) {
      for (int64_t begin = 0; begin < count; begin += 2 * width) {
        const int64_t middle = begin + width < count ? begin + width : count;
        const int64_t end = begin + 2 * width < count ? begin + 2 * width : count;
        int64_t a = begin, b = middle;
        for (int64_t k = begin; k < end; ++k)
          scratch[k] = a < middle && (b >= end || !less(order[b], order[a])) ? order[a++] : order[b++];
      }
      memcpy(order, scratch, static_cast<size_t>(count) * sizeof(int64_t));
    }
  }
};

}  // namespace

/// The result is always sorted. NaNs differ from each other.
void unique2_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  const View shape = view_of(self);
  const int64_t count = static_cast<int64_t>(self.numel);
  if (!require_real(context, self, "unique takes real values")) return;
  if (!require_dtype(context, out, self.dtype, "out has a different dtype than self")) return;
  const uint8_t* data = static_cast<const uint8_t*>(contiguous_data(context, self));
  SortItem* items = context.allocate_temp_array<SortItem>(self.numel);
  SortItem* scratch = context.allocate_temp_array<SortItem>(self.numel);
  Groups groups;
  if (!data || !items || !scratch || !groups.init(context, count)) return;
  load_items(data, self.dtype, 1, count, false, items);
  sort_items(items, scratch, count);
  for (int64_t i = 0; i < count; ++i) {
    const bool nan = is_floating(self.dtype) && items[i].key == kNanKey;
    groups.add(items[i].index, i == 0 || nan || items[i].key != items[i - 1].key);
  }
  const size_t size = dtype_size_bytes(self.dtype);
  uint8_t* distinct = static_cast<uint8_t*>(context.allocate_temp(static_cast<size_t>(groups.count) * size));
  if (!distinct) return;
  for (int64_t g = 0; g < groups.count; ++g) {
    memcpy(distinct + static_cast<size_t>(g) * size, data + static_cast<size_t>(groups.first[g]) * size, size);
  }
  if (!resize_out(context, out, &groups.count, 1)) return;
  copy_view(context, size, view_of(out), contiguous_view(distinct, &groups.count, 1));
  // Eager returns the inverse with the counts. A program that does not ask for the inverse may have no room for it.
  const bool inverse = args[2]->boolean || (args[3]->boolean && takes_shape(*args[5]->tensor, shape));
  store_numbers(context, inverse, groups.inverse, shape.sizes, shape.rank, *args[5]->tensor);
  store_numbers(context, args[3]->boolean, groups.sizes, &groups.count, 1, *args[6]->tensor);
}

namespace {

struct UniqueCall {
  const Tensor& self;
  bool flat;
  int64_t dim;
  bool sort, inverse, counts;
};

void unique_slices(KernelContext& context, const UniqueCall& call, Tensor& out, Tensor& inverse, Tensor& counts) {
  const Tensor& self = call.self;
  View shape = view_of(self);
  const View original = shape;
  int dim = 0;
  if (!require_real(context, self, "unique takes real values")) return;
  if (!require_dtype(context, out, self.dtype, "out has a different dtype than self")) return;
  if (!call.flat && !wrap_dim(context, call.dim, shape.rank, &dim)) return;
  if (!require(context, call.flat || shape.rank > 0, "a scalar has no dim")) return;
  const int64_t numel = static_cast<int64_t>(self.numel);
  const void* data = contiguous_data(context, self);
  SortItem* items = context.allocate_temp_array<SortItem>(self.numel);
  if (!data || !items) return;
  load_items(data, self.dtype, 1, numel, false, items);
  if (call.flat) shape = contiguous_view(nullptr, &numel, 1);
  shape.data = static_cast<uint8_t*>(const_cast<void*>(data));
  make_contiguous(shape);
  const Slices slices{items, split_at(shape, dim), is_floating(self.dtype)};
  const DimSplit& split = slices.split;
  int64_t* order = context.allocate_temp_array<int64_t>(static_cast<size_t>(split.size));
  int64_t* scratch = context.allocate_temp_array<int64_t>(static_cast<size_t>(split.size));
  Groups groups;
  if (!order || !scratch || !groups.init(context, split.size)) return;
  for (int64_t i = 0; i < split.size; ++i) order[i] = i;
  if (call.sort) slices.sort(order, scratch);
  for (int64_t i = 0; i < split.size; ++i) groups.add(order[i], i == 0 || !slices.equal(order[i], order[i - 1]));
  const size_t size = dtype_size_bytes(self.dtype);
  View kept = shape;
  kept.sizes[dim] = groups.count;
  void* distinct = context.allocate_temp(static_cast<size_t>(split.outer * groups.count * split.inner) * size);
  if (!distinct) return;
  const View result = contiguous_view(distinct, kept.sizes, kept.rank);
  for (int64_t g = 0; g < groups.count; ++g) {
    View to = result, from = shape;
    to.sizes[dim] = from.sizes[dim] = 1;
    to.advance(g * to.strides[dim], size);
    from.advance(groups.first[g] * from.strides[dim], size);
    copy_view(context, size, to, from);
  }
  if (!resize_out(context, out, kept.sizes, kept.rank)) return;
  copy_view(context, size, view_of(out), result);
  // Along a dimension eager returns both in any case. Programs that do not ask for them may have no room for them.
  const View all = call.flat ? original : contiguous_view(nullptr, &split.size, 1);
  const View found = contiguous_view(nullptr, &groups.count, 1);
  const bool wants_inverse = call.inverse || (!call.flat && takes_shape(inverse, all));
  const bool wants_counts = call.counts || (!call.flat && takes_shape(counts, found));
  store_numbers(context, wants_inverse, groups.inverse, all.sizes, all.rank, inverse);
  store_numbers(context, wants_counts, groups.sizes, &groups.count, 1, counts);
}

}  // namespace

/// Equal neighbours in the flattened tensor, or equal neighbouring slices along `dim`.
void unique_consecutive_out(KernelContext& context, Span<EValue*> args) {
  const bool flat = args[3]->is_none();
  unique_slices(context,
                {*args[0]->tensor, flat, flat ? 0 : args[3]->integer, false, args[1]->boolean, args[2]->boolean},
                *args[4]->tensor, *args[5]->tensor, *args[6]->tensor);
}
/// Equal slices along `dim`, in lexicographic order.
void unique_dim_out(KernelContext& context, Span<EValue*> args) {
  unique_slices(context, {*args[0]->tensor, false, args[1]->integer, true, args[3]->boolean, args[4]->boolean},
                *args[5]->tensor, *args[6]->tensor, *args[7]->tensor);
}

}  // namespace kernels
}  // namespace wick
