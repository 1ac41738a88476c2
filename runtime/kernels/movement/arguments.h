// Checks that movement, indexing and quantized kernels share. Each fails the context with a message and returns false.
#pragma once
#include <stdint.h>

#include "runtime/kernels/movement/strided.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {

inline bool reject(KernelContext& context, const char* message) {
  context.fail(Error::InvalidArgument, message);
  return false;
}
inline bool require(KernelContext& context, bool condition, const char* message) {
  return condition || reject(context, message);
}
inline bool require_dtype(KernelContext& context, const Tensor& tensor, DType dtype, const char* message) {
  if (tensor.dtype == dtype) return true;
  context.fail(Error::InvalidType, message);
  return false;
}
inline bool require_real(KernelContext& context, const Tensor& tensor, const char* message) {
  const DType t = tensor.dtype;
  const bool eight_bits_wide = is_floating(t) && dtype_size_bytes(t) == 1;
  if ((is_floating(t) && !eight_bits_wide) || is_integral(t) || t == DType::boolean) return true;
  context.fail(Error::InvalidType, message);
  return false;
}

/// Wraps `dim` into [0, rank); a scalar counts as rank 1.
inline bool wrap_dim(KernelContext& context, int64_t dim, int rank, int* out) {
  const int64_t n = rank > 0 ? rank : 1;
  if (dim < -n || dim >= n) return reject(context, "dim is out of range");
  *out = static_cast<int>(dim < 0 ? dim + n : dim);
  return true;
}
/// Wraps `index` into [0, size).
inline bool wrap_index(KernelContext& context, int64_t index, int64_t size, int64_t* out) {
  if (index < -size || index >= size) return reject(context, "index is out of range");
  *out = index < 0 ? index + size : index;
  return true;
}
/// Wraps each of `dims`, refusing repeats; sets one bit per dim.
inline bool wrap_dims(KernelContext& context, Span<const int64_t> dims, int rank, uint32_t* mask) {
  *mask = 0;
  for (int64_t dim : dims) {
    int d;
    if (!wrap_dim(context, dim, rank, &d)) return false;
    if (*mask >> d & 1) return reject(context, "a dim appears twice");
    *mask |= 1u << d;
  }
  return true;
}

/// Number of elements of `sizes`, or -1 if one is negative or the product reaches 2^31.
inline int64_t checked_numel(const int64_t* sizes, int rank) {
  int64_t n = 1;
  bool zero = false;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] < 0 || sizes[d] > INT32_MAX) return -1;
    zero = zero || sizes[d] == 0;
  }
  if (zero) return 0;
  for (int d = 0; d < rank; ++d) {
    n *= sizes[d];
    if (n > INT32_MAX) return -1;
  }
  return n;
}

/// Gives `out` the shape `sizes`.
inline bool resize_out(KernelContext& context, Tensor& out, const int64_t* sizes, int rank) {
  int32_t narrow[kMaxRank];
  if (rank > static_cast<int>(kMaxRank)) return reject(context, "the result has more than 16 dimensions");
  if (checked_numel(sizes, rank) < 0) return reject(context, "a size is negative or the result too large");
  for (int d = 0; d < rank; ++d) narrow[d] = static_cast<int32_t>(sizes[d]);
  const Error error = resize(out, Span<const int32_t>(narrow, static_cast<size_t>(rank)));
  if (error != Error::Ok) context.fail(error, "the out tensor does not have the shape of the result");
  return error == Error::Ok;
}
inline bool resize_like(KernelContext& context, Tensor& out, const Tensor& like) {
  const Error error = resize(out, like.shape());
  if (error != Error::Ok) context.fail(error, "the out tensor does not have the shape of the result");
  return error == Error::Ok;
}

/// out takes the shape of `src` and its elements; the dtypes must be equal.
inline void store_view(KernelContext& context, const View& src, DType dtype, Tensor& out) {
  if (!require_dtype(context, out, dtype, "out has a different dtype than the input")) return;
  if (!resize_out(context, out, src.sizes, src.rank)) return;
  copy_view(context, dtype_size_bytes(dtype), view_of(out), src);
}

/// The shape around one dimension: outer * size * inner elements in row-major order.
struct DimSplit {
  int64_t outer = 1, size = 1, inner = 1;
};
inline DimSplit split_at(const View& view, int dim) {
  DimSplit split;
  for (int d = 0; d < view.rank; ++d) (d < dim ? split.outer : d == dim ? split.size : split.inner) *= view.sizes[d];
  return split;
}

inline bool is_index_dtype(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }
inline int64_t load_index(const void* data, DType dtype, int64_t i) {
  return dtype == DType::i64 ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
}

}  // namespace kernels
}  // namespace wick
