// cummax, cummin and logcumsumexp along one dimension.
#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/indexing/accumulate.h"
#include "runtime/kernels/movement/arguments.h"
#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

/// The last of equal extremes wins; from the first NaN on, NaN.
template <typename T, typename Better>
void scan(const T* in, T* values, int64_t* indices, const DimSplit& split, const Better& better) {
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t i = 0; i < split.inner; ++i) {
      const int64_t base = o * split.size * split.inner + i;
      int64_t best = 0;
      for (int64_t k = 0; k < split.size; ++k) {
        const T value = in[base + k * split.inner], so_far = in[base + best * split.inner];
        if (k == 0 || is_nan_element(value) || (!is_nan_element(so_far) && better(value, so_far))) best = k;
        values[base + k * split.inner] = in[base + best * split.inner];
        indices[base + k * split.inner] = best;
      }
    }
  }
}

void cumulative_extreme(KernelContext& context, Span<EValue*> args, bool largest) {
  const Tensor& self = *args[0]->tensor;
  Tensor& values = *args[2]->tensor;
  Tensor& indices = *args[3]->tensor;
  const View shape = view_of(self);
  const DType dtype = self.dtype;
  int dim;
  if (!wrap_dim(context, args[1]->integer, shape.rank, &dim)) return;
  if (!require_real(context, self, "only real dtypes have an order")) return;
  if (!require_dtype(context, values, dtype, "values has a different dtype than self")) return;
  if (!require_dtype(context, indices, DType::i64, "indices must be i64")) return;
  const DimSplit split = split_at(shape, dim);
  const size_t numel = self.numel;
  const void* in = contiguous_data(context, self);
  void* best = context.allocate_temp(self.nbytes());
  int64_t* where = context.allocate_temp_array<int64_t>(numel);
  if (!in || !best || !where) return;
  dispatch_real(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (largest) {
      scan(static_cast<const T*>(in), static_cast<T*>(best), where, split, [](T a, T b) { return a >= b; });
    } else {
      scan(static_cast<const T*>(in), static_cast<T*>(best), where, split, [](T a, T b) { return a <= b; });
    }
  });
  if (!resize_out(context, values, shape.sizes, shape.rank) || !resize_out(context, indices, shape.sizes, shape.rank))
    return;
  copy_view(context, dtype_size_bytes(dtype), view_of(values), contiguous_view(best, shape.sizes, shape.rank));
  copy_view(context, sizeof(int64_t), view_of(indices), contiguous_view(where, shape.sizes, shape.rank));
}

}  // namespace

void cummax_out(KernelContext& context, Span<EValue*> args) { cumulative_extreme(context, args, true); }
void cummin_out(KernelContext& context, Span<EValue*> args) { cumulative_extreme(context, args, false); }

/// out_k = log(sum_{i <= k} exp(x_i)), in double.
void logcumsumexp_out(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  const View shape = view_of(self);
  int dim;
  if (!wrap_dim(context, args[1]->integer, shape.rank, &dim)) return;
  if (!require(context, is_floating(self.dtype), "logcumsumexp takes floating values")) return;
  if (!require_dtype(context, out, self.dtype, "out has a different dtype than self")) return;
  const DimSplit split = split_at(shape, dim);
  double* x = context.allocate_temp_array<double>(self.numel);
  if (!x) return;
  const View wide = contiguous_view(x, shape.sizes, shape.rank);
  convert_view(context, wide, DType::f64, shape, self.dtype);
  for (int64_t o = 0; o < split.outer; ++o) {
    for (int64_t i = 0; i < split.inner; ++i) {
      double sum = -math::kInfinity;
      for (int64_t k = 0; k < split.size; ++k) {
        double& at = x[(o * split.size + k) * split.inner + i];
        const double high = at > sum ? at : sum, low = at > sum ? sum : at;
        sum = math::is_nan(at) || math::is_nan(sum) ? at + sum
              : math::is_inf(high)                  ? high
                                                    : high + math::log1p(math::exp(low - high));
        at = sum;
      }
    }
  }
  if (!resize_out(context, out, shape.sizes, shape.rank)) return;
  convert_view(context, view_of(out), out.dtype, wide, DType::f64);
}

}  // namespace kernels
}  // namespace wick
