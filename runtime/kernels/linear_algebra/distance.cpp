// p-norm distances between rows.   Source: aten::_cdist_forward, aten::_pdist_forward.
#include <type_traits>

#include "common/math/float_math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/movement/strided.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {
namespace {

bool require(KernelContext& context, bool condition, Error error, const char* message) {
  if (!condition) context.fail(error, message);
  return condition;
}

constexpr int64_t kLanes = 8, kBlock = 64;

float magnitude(float x) { return math::abs_f(x); }
double magnitude(double x) { return math::abs(x); }

// A norm: fold() adds one difference to a partial result, join() joins two partial results, root() turns the result
// into a distance.
struct Sum {
  template <typename T>
  static T join(T a, T b) {
    return a + b;
  }
  static double root(double sum, double) { return sum; }
};
struct CountNonzero : Sum {
  template <typename T>
  static T fold(T sum, T d, double) {
    return sum + (d != 0 ? T(1) : T(0));
  }
};
struct SumMagnitudes : Sum {
  template <typename T>
  static T fold(T sum, T d, double) {
    return sum + magnitude(d);
  }
};
struct SumSquares : Sum {
  template <typename T>
  static T fold(T sum, T d, double) {
    return sum + d * d;
  }
  static double root(double sum, double) { return math::sqrt(sum); }
};
struct SumPowers : Sum {
  static double fold(double sum, double d, double p) { return sum + math::pow(math::abs(d), p); }
  static double root(double sum, double p) { return math::pow(sum, 1 / p); }
};
struct Maximum {
  template <typename T>
  static T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
  template <typename T>
  static T fold(T top, T d, double) {
    return join(top, magnitude(d));
  }
  static double root(double top, double) { return top; }
};

/// out[j] = the p-norm distance of the row a and row j of b, j < rows; rows of `count` elements.
using RowDistances = void (*)(const void* a, const void* b, int64_t rows, int64_t count, double p, void* out);

/// Computes in W: eight partial results over a block, joined in double.
template <typename W, typename T, typename Norm>
double row_distance(const T* a, const T* b, int64_t count, double p) {
  double result = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = count - begin < kBlock ? count : begin + kBlock;
    W part[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l)
        part[l] = Norm::fold(part[l], static_cast<W>(a[i + l]) - static_cast<W>(b[i + l]), p);
    for (; i < end; ++i) part[0] = Norm::fold(part[0], static_cast<W>(a[i]) - static_cast<W>(b[i]), p);
    for (int64_t width = kLanes / 2; width > 0; width /= 2)
      for (int64_t l = 0; l < width; ++l) part[l] = Norm::join(part[l], part[l + width]);
    result = Norm::join(result, static_cast<double>(part[0]));
  }
  return Norm::root(result, p);
}

template <typename W, typename T, typename Norm>
void row_distances(const void* a, const void* b, int64_t rows, int64_t count, double p, void* out) {
  using Float = std::conditional_t<std::is_same<T, double>::value, double, float>;
  const T *from = static_cast<const T*>(a), *to = static_cast<const T*>(b);
  for (int64_t j = 0; j < rows; ++j)
    static_cast<T*>(out)[j] = T(static_cast<Float>(row_distance<W, T, Norm>(from, to + j * count, count, p)));
}

/// Null if `dtype` is not floating.
RowDistances row_distances_of(DType dtype, double p) {
  RowDistances result = nullptr;
  dispatch_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = std::conditional_t<std::is_same<T, double>::value, double, float>;
    result = p == 0                 ? row_distances<W, T, CountNonzero>
             : p == 1               ? row_distances<W, T, SumMagnitudes>
             : p == 2               ? row_distances<W, T, SumSquares>
             : p == math::kInfinity ? row_distances<W, T, Maximum>
                                    : row_distances<double, T, SumPowers>;
  });
  return result;
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
  if (!require(context, error == Error::Ok, error, "cdist: out has a different shape") || out.numel == 0) return;
  if (!require(context, a.dtype == b.dtype && a.dtype == out.dtype, Error::InvalidType, "cdist: dtypes differ") ||
      !require(context, is_contiguous(a) && is_contiguous(b) && is_contiguous(out), Error::NotSupported,
               "cdist: tensors must be row-major"))
    return;
  const RowDistances distances = row_distances_of(a.dtype, p);
  if (!require(context, distances, Error::InvalidType, "cdist of this dtype is not defined")) return;
  const int64_t element_bytes = static_cast<int64_t>(dtype_size_bytes(a.dtype)), row_bytes = k * element_bytes;
  context.parallel_for(batch * m, 4096 / (n * k + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      distances(a.as<const uint8_t>() + row * row_bytes, b.as<const uint8_t>() + row / m * n * row_bytes, n, k, p,
                out.as<uint8_t>() + row * n * element_bytes);
  });
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
  if (!require(context, error == Error::Ok, error, "pdist: out has a different shape") || out.numel == 0) return;
  if (!require(context, a.dtype == out.dtype, Error::InvalidType, "pdist: dtypes differ")) return;
  const RowDistances distances = row_distances_of(a.dtype, p);
  if (!require(context, distances, Error::InvalidType, "pdist of this dtype is not defined")) return;
  const auto* rows = static_cast<const uint8_t*>(contiguous_data(context, a));
  if (!rows) return;
  const int64_t element_bytes = static_cast<int64_t>(dtype_size_bytes(a.dtype)), row_bytes = a.sizes[1] * element_bytes;
  uint8_t* to = out.as<uint8_t>();
  for (int64_t i = 0; i + 1 < n; ++i) {
    distances(rows + i * row_bytes, rows + (i + 1) * row_bytes, n - i - 1, a.sizes[1], p, to);
    to += (n - i - 1) * element_bytes;
  }
}

}  // namespace kernels
}  // namespace wick
