// Unpacks the factors that an LU factorization stores in one matrix.
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

struct Packed {
  int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  int lead = 0;  // leading dimensions
};

bool read_shape(KernelContext& context, const Tensor& lu, Packed* out) {
  if (!require(context, lu.rank >= 2, "lu_unpack: a tensor of fewer than two dimensions: wanted matrices [.., m, n]"))
    return false;
  out->lead = lu.rank - 2;
  out->rows = lu.sizes[out->lead];
  out->columns = lu.sizes[out->lead + 1];
  out->inner = out->rows < out->columns ? out->rows : out->columns;
  return true;
}

bool resize_result(KernelContext& context, const Tensor& lu, Tensor& out, bool wanted, int64_t rows, int64_t columns) {
  if (!require_dtype(context, out, lu.dtype, "lu_unpack: a result has a different dtype than the matrices"))
    return false;
  int64_t sizes[kMaxRank] = {};
  int rank = 0;
  for (; wanted && rank + 2 < lu.rank; ++rank) sizes[rank] = lu.sizes[rank];
  if (wanted) sizes[rank++] = rows;
  sizes[rank++] = wanted ? columns : 0;
  return resize_out(context, out, sizes, rank);
}

bool check_pivots(KernelContext& context, const Tensor& lu, const Tensor& pivots, const Packed& shape) {
  if (!require_dtype(context, pivots, DType::i32, "lu_unpack: the pivots have a different dtype: wanted i32"))
    return false;
  bool fits = pivots.rank + 1 == lu.rank && pivots.sizes[shape.lead] == shape.inner;
  for (int d = 0; fits && d < shape.lead; ++d) fits = pivots.sizes[d] == lu.sizes[d];
  return require(context, fits, "lu_unpack: the pivots do not fit: wanted min(m, n) for each matrix");
}

/// P [m, m]: column i has its 1 in the row that the swaps bring to place i.
template <typename T>
bool permutation(KernelContext& context, const int32_t* pivots, const Packed& shape, int32_t* order, T* out) {
  for (int64_t i = 0; i < shape.rows; ++i) order[i] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < shape.inner; ++i) {
    const int64_t other = int64_t{pivots[i]} - 1;
    if (!require(context, other >= 0 && other < shape.rows, "lu_unpack: a pivot is out of range: wanted 1 to m"))
      return false;
    const int32_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int64_t i = 0; i < shape.rows * shape.rows; ++i) out[i] = T();
  for (int64_t i = 0; i < shape.rows; ++i) out[order[i] * shape.rows + i] = static_cast<T>(1.0F);
  return true;
}

template <typename T>
void unpack_pivots(KernelContext& context, const Tensor& pivots, const Packed& shape, Tensor& p) {
  const auto* given = static_cast<const int32_t*>(contiguous_data(context, pivots));
  // Copied, because a result may overwrite the pivots.
  auto* swaps = context.allocate_temp_array<int32_t>(pivots.numel);
  auto* order = context.allocate_temp_array<int32_t>(static_cast<size_t>(shape.rows));
  auto* out = static_cast<T*>(contiguous_target(context, p));
  if (!given || !swaps || !order || !out) return;
  if (pivots.numel > 0) memcpy(swaps, given, pivots.numel * sizeof(int32_t));
  const auto batch = static_cast<int64_t>(p.numel) / (shape.rows * shape.rows);
  for (int64_t i = 0; i < batch; ++i) {
    if (!permutation(context, swaps + i * shape.inner, shape, order, out + i * shape.rows * shape.rows)) return;
  }
  store_contiguous(context, p, out);
}

template <typename T>
void unpack_factors(KernelContext& context, const Tensor& lu, const Packed& shape, Tensor& l, Tensor& u) {
  const auto* in = static_cast<const T*>(contiguous_data(context, lu));
  auto* lower = static_cast<T*>(contiguous_target(context, l));
  auto* upper = static_cast<T*>(contiguous_target(context, u));
  if (!in || !lower || !upper) return;
  const auto count = static_cast<int64_t>(lu.numel);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / shape.columns % shape.rows, column = i % shape.columns;
    const int64_t matrix = i / (shape.rows * shape.columns);
    if (column < shape.inner)
      lower[(matrix * shape.rows + row) * shape.inner + column] = row > column    ? in[i]
                                                                  : row == column ? static_cast<T>(1.0F)
                                                                                  : T();
    if (row < shape.inner) upper[(matrix * shape.inner + row) * shape.columns + column] = row > column ? T() : in[i];
  }
  store_contiguous(context, l, lower);
  store_contiguous(context, u, upper);
}

}  // namespace

/// (LU [.., m, n], pivots [.., k], unpack_data, unpack_pivots; P [.., m, m], L [.., m, k], U [.., k, n]), k = min(m,
/// n). Parts that are not unpacked are empty. Source: ATen, BatchLinearAlgebra.cpp.
void lu_unpack_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &lu = *args[0]->tensor, &pivots = *args[1]->tensor;
  const bool data = args[2]->boolean, permute = args[3]->boolean;
  Tensor &p = *args[4]->tensor, &l = *args[5]->tensor, &u = *args[6]->tensor;
  Packed shape;
  if (!read_shape(context, lu, &shape)) return;
  if (permute && !check_pivots(context, lu, pivots, shape)) return;
  if (!resize_result(context, lu, p, permute, shape.rows, shape.rows) ||
      !resize_result(context, lu, l, data, shape.rows, shape.inner) ||
      !resize_result(context, lu, u, data, shape.inner, shape.columns))
    return;
  auto unpack = [&](auto zero) {
    using T = decltype(zero);
    // The pivots first: L or U may overwrite them.
    if (p.numel > 0) unpack_pivots<T>(context, pivots, shape, p);
    if (context.ok() && data && lu.numel > 0) unpack_factors<T>(context, lu, shape, l, u);
  };
  const bool is_wide_unsigned = lu.dtype == DType::u16 || lu.dtype == DType::u32 || lu.dtype == DType::u64;
  if (is_wide_unsigned || (!dispatch_real(lu.dtype, unpack) && !dispatch_complex(lu.dtype, unpack)))
    context.fail(Error::InvalidType, "lu_unpack: matrices of this dtype are not supported");
}

}  // namespace kernels
}  // namespace wick
