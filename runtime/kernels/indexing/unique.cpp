// _unique2 and unique_consecutive: distinct values, the number of each element's value, and how often each occurs.
#include <string.h>

#include "runtime/kernels/indexing/sort_keys.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// What both ops find: group g is represented by element first[g].
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

/// An unwanted result is empty; where `out` cannot be empty it is left as it is.
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

}  // namespace

/// Always sorted. NaNs differ from each other.
void unique2_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  const View shape = view_of(self);
  const int64_t count = static_cast<int64_t>(self.numel);
  if (!require_real(context, self, "unique takes real values")) return;
  if (!require_dtype(context, out, self.dtype, "out has another dtype than self")) return;
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
  store_numbers(context, args[2]->boolean || args[3]->boolean, groups.inverse, shape.sizes, shape.rank,
                *args[5]->tensor);
  store_numbers(context, args[3]->boolean, groups.sizes, &groups.count, 1, *args[6]->tensor);
}

/// Equal neighbours in the flattened tensor, or equal neighbouring slices along `dim`.
void unique_consecutive_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[4]->tensor;
  const bool flat = args[3]->is_none();
  View shape = view_of(self);
  const View original = shape;
  int dim = 0;
  if (!require_real(context, self, "unique takes real values")) return;
  if (!require_dtype(context, out, self.dtype, "out has another dtype than self")) return;
  if (!flat && !wrap_dim(context, args[3]->integer, shape.rank, &dim)) return;
  if (!require(context, flat || shape.rank > 0, "a scalar has no dim")) return;
  const int64_t numel = static_cast<int64_t>(self.numel);
  const void* data = contiguous_data(context, self);
  SortItem* items = context.allocate_temp_array<SortItem>(self.numel);
  if (!data || !items) return;
  load_items(data, self.dtype, 1, numel, false, items);
  if (flat) shape = contiguous_view(nullptr, &numel, 1);
  shape.data = static_cast<uint8_t*>(const_cast<void*>(data));
  make_contiguous(shape);
  const DimSplit split = split_at(shape, dim);
  const bool floats = is_floating(self.dtype);
  auto equal = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t i = 0; i < split.inner; ++i) {
        const uint64_t ka = items[(o * split.size + a) * split.inner + i].key;
        const uint64_t kb = items[(o * split.size + b) * split.inner + i].key;
        if (ka != kb || (floats && ka == kNanKey)) return false;
      }
    }
    return true;
  };
  Groups groups;
  if (!groups.init(context, split.size)) return;
  for (int64_t i = 0; i < split.size; ++i) groups.add(i, i == 0 || !equal(i, i - 1));
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
  const int64_t* inverse_sizes = flat ? original.sizes : &split.size;
  store_numbers(context, args[1]->boolean, groups.inverse, inverse_sizes, flat ? original.rank : 1, *args[5]->tensor);
  store_numbers(context, args[2]->boolean, groups.sizes, &groups.count, 1, *args[6]->tensor);
}

}  // namespace kernels
}  // namespace wick
