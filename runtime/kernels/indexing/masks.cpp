// Ops whose output or reads depend on which elements are set: masked_select, nonzero .. and flat take and put.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// The common shape of two tensors. False (context failed) if they do not broadcast.
bool common_shape(KernelContext& context, const View& a, const View& b, int64_t* sizes, int* rank) {
  *rank = a.rank > b.rank ? a.rank : b.rank;
  for (int d = 0; d < *rank; ++d) {
    const int da = d - (*rank - a.rank), db = d - (*rank - b.rank);
    const int64_t sa = da < 0 ? 1 : a.sizes[da], sb = db < 0 ? 1 : b.sizes[db];
    if (!require(context, sa == sb || sa == 1 || sb == 1, "the shapes do not broadcast")) return false;
    sizes[d] = sa == 1 ? sb : sa;
  }
  return require(context, checked_numel(sizes, *rank) >= 0, "the broadcast shape is too large");
}

int64_t offset_of(const View& view, int64_t i) {
  int64_t offset = 0;
  for (int d = view.rank - 1; d >= 0; --d) {
    offset += i % view.sizes[d] * view.strides[d];
    i /= view.sizes[d];
  }
  return offset;
}

bool is_mask(KernelContext& context, const Tensor& mask) {
  if (mask.dtype == DType::boolean || mask.dtype == DType::u8) return true;
  context.fail(Error::InvalidType, "the mask is not bool");
  return false;
}

}  // namespace

void masked_select_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& mask = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  View src = view_of(self), bits = view_of(mask);
  int64_t sizes[kMaxRank];
  int rank;
  if (!is_mask(context, mask) || !require_dtype(context, out, self.dtype, "out has a different dtype than self"))
    return;
  if (!common_shape(context, src, bits, sizes, &rank)) return;
  broadcast_view(src, sizes, rank, &src);
  broadcast_view(bits, sizes, rank, &bits);
  const int64_t numel = checked_numel(sizes, rank);
  int64_t count = 0;
  for (int64_t i = 0; i < numel; ++i) count += bits.data[offset_of(bits, i)] != 0;
  if (!resize_out(context, out, &count, 1) || count == 0) return;
  dispatch_size(self.dtype, [&](auto unit) {
    using T = decltype(unit);
    int64_t at = 0;
    for (int64_t i = 0; i < numel && at < count; ++i) {
      if (bits.data[offset_of(bits, i)]) out.as<T>()[at++] = reinterpret_cast<const T*>(src.data)[offset_of(src, i)];
    }
  });
}

void masked_scatter_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& mask = *args[1]->tensor;
  const Tensor& source = *args[2]->tensor;
  Tensor& out = *args[3]->tensor;
  const DType dtype = self.dtype;
  View src = view_of(self), bits = view_of(mask);
  const int64_t available = static_cast<int64_t>(source.numel);
  int64_t sizes[kMaxRank];
  int rank;
  if (!is_mask(context, mask) || !require_dtype(context, source, dtype, "source has a different dtype than self"))
    return;
  if (!common_shape(context, src, bits, sizes, &rank)) return;
  broadcast_view(src, sizes, rank, &src);
  broadcast_view(bits, sizes, rank, &bits);
  const void* values = contiguous_data(context, source);
  if (!values) return;
  store_view(context, src, dtype, out);
  if (!context.ok() || out.numel == 0) return;
  const View dst = view_of(out);
  dispatch_size(dtype, [&](auto unit) {
    using T = decltype(unit);
    int64_t at = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(out.numel); ++i) {
      if (!bits.data[offset_of(bits, i)]) continue;
      if (!require(context, at < available, "source has fewer elements than the mask has set")) return;
      reinterpret_cast<T*>(dst.data)[offset_of(dst, i)] = static_cast<const T*>(values)[at++];
    }
  });
}

void nonzero_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  const View src = view_of(self);
  const int64_t numel = static_cast<int64_t>(self.numel);
  if (!require_dtype(context, out, DType::i64, "out must be i64")) return;
  uint8_t* bits = static_cast<uint8_t*>(context.allocate_temp(self.numel));
  if (!bits) return;
  convert_view(context, contiguous_view(bits, src.sizes, src.rank), DType::boolean, src, self.dtype);
  int64_t count = 0;
  for (int64_t i = 0; i < numel; ++i) count += bits[i];
  const int64_t sizes[2] = {count, src.rank};
  if (!resize_out(context, out, sizes, 2) || out.numel == 0) return;
  const View dst = view_of(out);
  int64_t at = 0;
  for (int64_t i = 0; i < numel; ++i) {
    if (!bits[i]) continue;
    int64_t rest = i;
    for (int d = src.rank - 1; d >= 0; --d) {
      reinterpret_cast<int64_t*>(dst.data)[at * dst.strides[0] + d * dst.strides[1]] = rest % src.sizes[d];
      rest /= src.sizes[d];
    }
    ++at;
  }
}

void repeat_interleave_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& repeats = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const DType dtype = repeats.dtype;
  const int64_t num = static_cast<int64_t>(repeats.numel);
  if (!require(context, repeats.rank == 1, "repeats must be a vector")) return;
  if (!require(context, is_index_dtype(dtype) && out.dtype == dtype, "repeats and out must both be i64 or both i32"))
    return;
  int64_t* counts = context.allocate_temp_array<int64_t>(repeats.numel);
  if (!counts) return;
  int64_t total = 0;
  for (int64_t i = 0; i < num; ++i) {
    counts[i] = load_index(repeats.data, dtype, i);
    if (!require(context, counts[i] >= 0 && counts[i] <= INT32_MAX - total, "repeats are negative or too large"))
      return;
    total += counts[i];
  }
  if (!require(context, args[1]->is_none() || args[1]->integer == total, "output_size is not the sum of repeats"))
    return;
  if (!resize_out(context, out, &total, 1)) return;
  int64_t at = 0;
  for (int64_t i = 0; i < num; ++i) {
    for (int64_t k = 0; k < counts[i]; ++k, ++at) {
      if (dtype == DType::i64) {
        out.as<int64_t>()[at] = i;
      } else {
        out.as<int32_t>()[at] = static_cast<int32_t>(i);
      }
    }
  }
}

void take_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& index = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  const View src = view_of(self), at = view_of(index);
  const int64_t numel = static_cast<int64_t>(self.numel);
  const int64_t count = static_cast<int64_t>(index.numel);
  if (!require(context, is_index_dtype(index.dtype), "the index tensor is neither i64 nor i32")) return;
  if (!require_dtype(context, out, self.dtype, "out has a different dtype than self")) return;
  if (!resize_out(context, out, at.sizes, at.rank)) return;
  const View dst = view_of(out);
  dispatch_size(self.dtype, [&](auto unit) {
    using T = decltype(unit);
    for (int64_t i = 0; i < count; ++i) {
      int64_t position;
      if (!wrap_index(context, load_index(at.data, index.dtype, offset_of(at, i)), numel, &position)) return;
      reinterpret_cast<T*>(dst.data)[offset_of(dst, i)] =
          reinterpret_cast<const T*>(src.data)[offset_of(src, position)];
    }
  });
}

void put_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& index = *args[1]->tensor;
  const Tensor& source = *args[2]->tensor;
  Tensor& out = *args[4]->tensor;
  const bool accumulate = args[3]->boolean;
  const DType dtype = self.dtype;
  const View at = view_of(index), values = view_of(source);
  const int64_t count = static_cast<int64_t>(index.numel);
  if (!require(context, is_index_dtype(index.dtype), "the index tensor is neither i64 nor i32")) return;
  if (!require(context, source.numel == index.numel, "put needs one value for each index")) return;
  if (!require_dtype(context, source, dtype, "source has a different dtype than self")) return;
  store_view(context, view_of(self), dtype, out);
  if (!context.ok()) return;
  const View dst = view_of(out);
  const int64_t numel = static_cast<int64_t>(out.numel);
  const int64_t element_size = static_cast<int64_t>(dtype_size_bytes(dtype));
  for (int64_t i = 0; i < count; ++i) {
    int64_t position;
    if (!wrap_index(context, load_index(at.data, index.dtype, offset_of(at, i)), numel, &position)) return;
    View to, from;
    to.data = dst.data + offset_of(dst, position) * element_size;
    from.data = values.data + offset_of(values, i) * element_size;
    if (accumulate) {
      accumulate_view(context, dtype, to, from);
    } else {
      copy_view(context, static_cast<size_t>(element_size), to, from);
    }
  }
}

}  // namespace kernels
}  // namespace wick
