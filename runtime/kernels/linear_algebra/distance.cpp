// p-norm distances between rows.   Source: aten::_cdist_forward, aten::_pdist_forward.
#include <type_traits>

#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {
namespace {

bool require(KernelContext& context, bool condition, Error error, const char* message) {
  if (!condition) context.fail(error, message);
  return condition;
}

/// Distance of two rows of `count` elements; sums in double.
template <typename T>
double distance(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t count, double p) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = math::abs(static_cast<double>(a[i * a_step]) - static_cast<double>(b[i * b_step]));
    if (p == 0) {
      sum += d != 0 ? 1 : 0;
    } else if (p == 1) {
      sum += d;
    } else if (p == 2) {
      sum += d * d;
    } else if (p == math::kInfinity) {
      sum = d > sum || d != d ? d : sum;
    } else {
      sum += math::pow(d, p);
    }
  }
  return p == 2 ? math::sqrt(sum) : p == 0 || p == 1 || p == math::kInfinity ? sum : math::pow(sum, 1 / p);
}

}  // namespace

/// out[.., i, j] = || x1[.., i, :] - x2[.., j, :] ||_p.
void cdist_forward(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor;
  const double p = args[2]->real;
  Tensor& out = *args[4]->tensor;
  const int rank = a.rank;
  if (!require(context, rank >= 2 && b.rank == rank && a.sizes[rank - 1] == b.sizes[rank - 1] && p >= 0,
               Error::InvalidArgument, "cdist: wanted [.., m, k] and [.., n, k], p not negative"))
    return;
  int32_t sizes[kMaxRank];
  int64_t batch = 1;
  for (int d = 0; d + 2 < rank; ++d) {
    if (!require(context, a.sizes[d] == b.sizes[d], Error::InvalidArgument, "cdist: leading sizes differ")) return;
    batch *= sizes[d] = a.sizes[d];
  }
  const int64_t m = sizes[rank - 2] = a.sizes[rank - 2], n = sizes[rank - 1] = b.sizes[rank - 2], k = a.sizes[rank - 1];
  const Error error = resize(out, Span<const int32_t>(sizes, static_cast<size_t>(rank)));
  if (!require(context, error == Error::Ok, error, "cdist: out has another shape") || out.numel == 0) return;
  if (!require(context, a.dtype == b.dtype && a.dtype == out.dtype, Error::InvalidType, "cdist: dtypes differ") ||
      !require(context, is_contiguous(a) && is_contiguous(b) && is_contiguous(out), Error::NotSupported,
               "cdist: tensors must be row-major"))
    return;
  const bool known = dispatch_floating(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    context.parallel_for(batch * m, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t j = 0; j < n; ++j)
          out.as<T>()[row * n + j] = T(static_cast<std::conditional_t<std::is_same<T, double>::value, double, float>>(
              distance(a.as<T>() + row * k, 1, b.as<T>() + (row / m * n + j) * k, 1, k, p)));
    });
  });
  require(context, known, Error::InvalidType, "cdist of this dtype is not defined");
}

/// Distances of the rows i < j of [n, k], in the order (0, 1), (0, 2) .. (n - 2, n - 1).
void pdist_forward(KernelContext& context, Span<EValue*> args) {
  const Tensor& a = *args[0]->tensor;
  const double p = args[1]->real;
  Tensor& out = *args[2]->tensor;
  if (!require(context, a.rank == 2 && p >= 0, Error::InvalidArgument, "pdist: wanted [n, k], p not negative")) return;
  const int64_t n = a.sizes[0], pairs = n * (n - 1) / 2;
  if (!require(context, pairs <= INT32_MAX, Error::InvalidArgument, "pdist: too many rows")) return;
  const int32_t size = static_cast<int32_t>(pairs < 0 ? 0 : pairs);
  const Error error = resize(out, Span<const int32_t>(&size, 1));
  if (!require(context, error == Error::Ok, error, "pdist: out has another shape") || out.numel == 0) return;
  if (!require(context, a.dtype == out.dtype, Error::InvalidType, "pdist: dtypes differ")) return;
  const bool known = dispatch_floating(a.dtype, [&](auto zero) {
    using T = decltype(zero);
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j, ++at)
        out.as<T>()[at] = T(static_cast<std::conditional_t<std::is_same<T, double>::value, double, float>>(distance(
            a.as<T>() + i * a.strides[0], a.strides[1], a.as<T>() + j * a.strides[0], a.strides[1], a.sizes[1], p)));
  });
  require(context, known, Error::InvalidType, "pdist of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
