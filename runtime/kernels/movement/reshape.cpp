// Ops that give the same elements another shape: view, pixel shuffles, complex <-> real pairs.
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

/// Steps through a view in logical order.
struct Cursor {
  const View& view;
  int64_t index[kMaxViewRank] = {};
  int64_t offset = 0;

  void next() {
    for (int d = view.rank - 1; d >= 0; --d) {
      offset += view.strides[d];
      if (++index[d] < view.sizes[d]) return;
      offset -= view.sizes[d] * view.strides[d];
      index[d] = 0;
    }
  }
};

/// Copies the elements of `in` to `out` in logical order; the shapes differ, the element counts do not.
void copy_reshaped(KernelContext& context, const View& src, bool src_row_major, DType dtype, Tensor& out) {
  const View dst = view_of(out);
  const size_t element_size = dtype_size_bytes(dtype);
  if (src_row_major) {
    copy_view(context, element_size, dst, contiguous_view(src.data, dst.sizes, dst.rank));
  } else if (is_contiguous(out)) {
    copy_view(context, element_size, contiguous_view(dst.data, src.sizes, src.rank), src);
  } else {
    dispatch_size(dtype, [&](auto unit) {
      using T = decltype(unit);
      Cursor from{src}, to{dst};
      for (size_t i = 0; i < out.numel; ++i, from.next(), to.next()) {
        reinterpret_cast<T*>(dst.data)[to.offset] = reinterpret_cast<const T*>(src.data)[from.offset];
      }
    });
  }
}

}  // namespace

void view_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const Span<const int64_t> asked = args[1]->ints();
  Tensor& out = *args[2]->tensor;
  const View src = view_of(in);
  const bool row_major = is_contiguous(in);
  const int64_t numel = static_cast<int64_t>(in.numel);
  if (!require(context, asked.size() <= kMaxRank, "view has too many dimensions")) return;
  const int rank = static_cast<int>(asked.size());
  int64_t sizes[kMaxRank];
  int unknown = -1;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = asked[d];
    if (asked[d] != -1) continue;
    if (!require(context, unknown < 0, "view has more than one size -1")) return;
    unknown = d;
    sizes[d] = 1;
  }
  const int64_t known = checked_numel(sizes, rank);
  if (unknown >= 0) {
    if (!require(context, known > 0 && numel % known == 0, "view has a size that does not divide the elements")) return;
    sizes[unknown] = numel / known;
  } else if (!require(context, known == numel, "view changes the number of elements")) {
    return;
  }
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, sizes, rank) || numel == 0) return;
  copy_reshaped(context, src, row_major, in.dtype, out);
}

/// Reinterprets the bytes: the last dimension grows or shrinks with the element size.
void view_copy_dtype_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  View src = view_of(in);
  const int64_t in_size = static_cast<int64_t>(dtype_size_bytes(in.dtype));
  const int64_t out_size = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  if (!require(context, args[1]->integer == static_cast<int64_t>(out.dtype), "out does not have the dtype asked for"))
    return;
  if (in_size != out_size) {
    if (!require(context, src.rank > 0, "view to a different element size needs a dimension")) return;
    const int last = src.rank - 1;
    const int64_t bytes = src.sizes[last] * in_size;
    if (!require(context, src.strides[last] == 1 || src.sizes[last] <= 1,
                 "view to a different element size needs a dense last dimension"))
      return;
    if (!require(context, bytes % out_size == 0, "the last dimension is not a multiple of the new element size"))
      return;
    for (int d = 0; d < last; ++d) {
      const int64_t stride_bytes = src.strides[d] * in_size;
      if (!require(context, src.sizes[d] <= 1 || stride_bytes % out_size == 0,
                   "a stride is not a multiple of the new element size"))
        return;
      src.strides[d] = stride_bytes / out_size;
    }
    src.sizes[last] = bytes / out_size;
    src.strides[last] = 1;
  }
  if (!resize_out(context, out, src.sizes, src.rank)) return;
  copy_view(context, static_cast<size_t>(out_size), view_of(out), src);
}

void view_as_real_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  const DType part = in.dtype == DType::c64 ? DType::f32 : in.dtype == DType::c128 ? DType::f64 : DType::f16;
  if (!require(context, is_complex(in.dtype) && out.dtype == part,
               "view_as_real turns c64 to f32, c128 to f64, c32 to f16"))
    return;
  View src = view_of(in);
  for (int d = 0; d < src.rank; ++d) src.strides[d] *= 2;
  src.insert(src.rank, 2, 1);
  store_view(context, src, part, out);
}

void view_as_complex_copy_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[1]->tensor;
  const DType whole = in.dtype == DType::f32 ? DType::c64 : in.dtype == DType::f64 ? DType::c128 : DType::c32;
  const bool known = in.dtype == DType::f32 || in.dtype == DType::f64 || in.dtype == DType::f16;
  if (!require(context, known && out.dtype == whole, "view_as_complex turns f32 to c64, f64 to c128, f16 to c32"))
    return;
  View src = view_of(in);
  const int last = src.rank - 1;
  if (!require(context, last >= 0 && src.sizes[last] == 2, "view_as_complex needs a last dimension of 2")) return;
  View sizes = src;
  sizes.erase(last);
  if (!resize_out(context, out, sizes.sizes, sizes.rank)) return;
  View dst = view_of(out);
  for (int d = 0; d < dst.rank; ++d) dst.strides[d] *= 2;
  dst.insert(dst.rank, 2, 1);
  copy_view(context, dtype_size_bytes(in.dtype), dst, src);
}

namespace {
bool read_factor(KernelContext& context, const View& view, int64_t factor) {
  return require(context, view.rank >= 3, "pixel shuffles need at least three dimensions") &&
         require(context, factor > 0 && factor < 32768, "the factor of a pixel shuffle is out of range");
}
}  // namespace

/// [.., c * r * r, h, w] -> [.., c, h * r, w * r]
void pixel_shuffle_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const int64_t r = args[1]->integer;
  View src = view_of(in);
  if (!read_factor(context, src, r)) return;
  const int c = src.rank - 3;
  if (!require(context, src.sizes[c] % (r * r) == 0, "the channels are not a multiple of the squared factor")) return;
  View shape = src;
  shape.sizes[c] /= r * r;
  shape.sizes[c + 1] *= r;
  shape.sizes[c + 2] *= r;
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, shape.sizes, shape.rank) || out.numel == 0) return;
  View dst = view_of(out);
  src.split(c, r * r);
  src.split(c + 1, r);  // [.., c, r, r, h, w]
  dst.split(c + 2, r);
  dst.split(c + 1, r);  // [.., c, h, r, w, r]
  int order[kMaxViewRank];
  for (int d = 0; d < dst.rank; ++d) order[d] = d;
  const int tail[4] = {c + 2, c + 4, c + 1, c + 3};
  for (int i = 0; i < 4; ++i) order[c + 1 + i] = tail[i];
  dst.permute(order);
  copy_view(context, dtype_size_bytes(in.dtype), dst, src);
}

/// [.., c, h * r, w * r] -> [.., c * r * r, h, w]
void pixel_unshuffle_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const int64_t r = args[1]->integer;
  View src = view_of(in);
  if (!read_factor(context, src, r)) return;
  const int c = src.rank - 3;
  if (!require(context, src.sizes[c + 1] % r == 0 && src.sizes[c + 2] % r == 0,
               "height or width is not a multiple of the factor"))
    return;
  View shape = src;
  shape.sizes[c] *= r * r;
  shape.sizes[c + 1] /= r;
  shape.sizes[c + 2] /= r;
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, shape.sizes, shape.rank) || out.numel == 0) return;
  View dst = view_of(out);
  src.split(c + 2, r);
  src.split(c + 1, r);
  dst.split(c, r * r);
  dst.split(c + 1, r);
  int order[kMaxViewRank];
  for (int d = 0; d < src.rank; ++d) order[d] = d;
  const int tail[4] = {c + 2, c + 4, c + 1, c + 3};
  for (int i = 0; i < 4; ++i) order[c + 1 + i] = tail[i];
  src.permute(order);
  copy_view(context, dtype_size_bytes(in.dtype), dst, src);
}

/// [n, g * k, ..] -> [n, k * g, ..]: channels are read group by group and written interleaved.
void channel_shuffle_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& in = *args[0]->tensor;
  const int64_t groups = args[1]->integer;
  Tensor& out = *args[2]->tensor;
  View src = view_of(in);
  if (!require(context, src.rank >= 3, "channel_shuffle needs at least three dimensions")) return;
  if (!require(context, groups > 0 && src.sizes[1] % groups == 0, "the channels are not a multiple of the groups"))
    return;
  if (!require_dtype(context, out, in.dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, src.sizes, src.rank) || out.numel == 0) return;
  View dst = view_of(out);
  const int64_t each = src.sizes[1] / groups;
  src.split(1, each);
  dst.split(1, groups);
  int order[kMaxViewRank];
  for (int d = 0; d < src.rank; ++d) order[d] = d == 1 ? 2 : d == 2 ? 1 : d;
  src.permute(order);
  copy_view(context, dtype_size_bytes(in.dtype), dst, src);
}

}  // namespace kernels
}  // namespace wick
