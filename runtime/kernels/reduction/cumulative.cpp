// cumsum and cumprod: floats accumulate in double, complex numbers in complex double, integers in int64.
#include "runtime/kernels/elementwise_convert.h"
#include "runtime/kernels/elementwise_promote.h"
#include "runtime/kernels/reduction/reduction.h"

namespace wick {
namespace kernels {
namespace {

template <typename T, bool kProduct>
T step(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(kProduct ? x * y : x + y);
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    if (!kProduct) return {a.real() + b.real(), a.imag() + b.imag()};
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return kProduct ? a * b : a + b;
  }
}

/// Lines that lie side by side in both tensors are scanned this many at a time.
constexpr int64_t kLines = 64;

/// Offsets of the line numbered `line`, the dimensions other than `dim` counted in logical order.
void line_offsets(const Tensor& in, const Tensor& out, int dim, int64_t line, int64_t* in_at, int64_t* out_at) {
  *in_at = *out_at = 0;
  for (int d = in.rank; d-- > 0;) {
    if (d == dim) continue;
    *in_at += line % in.sizes[d] * in.strides[d];
    *out_at += line % in.sizes[d] * out.strides[d];
    line /= in.sizes[d];
  }
}

/// One line that is dense in both tensors, a chunk at a time.
template <typename T, bool kProduct>
void scan_line(const uint8_t* from, uint8_t* to, int64_t in_bytes, int64_t out_bytes, int64_t length, LoadFn load,
               StoreFn store) {
  T values[kChunk];
  T sum = kProduct ? T(1) : T(0);
  for (int64_t i = 0; i < length; i += kChunk) {
    const int64_t count = length - i < kChunk ? length - i : kChunk;
    load(from + i * in_bytes, 1, values, count);
    for (int64_t k = 0; k < count; ++k) values[k] = sum = step<T, kProduct>(sum, values[k]);
    store(values, to + i * out_bytes, count);
  }
}

/// `width` lines that lie side by side, `in_stride` and `out_stride` bytes from one element to the next.
template <typename T, bool kProduct>
void scan_lines(const uint8_t* from, uint8_t* to, int64_t in_stride, int64_t out_stride, int64_t length, int64_t width,
                LoadFn load, StoreFn store) {
  T sums[kLines], values[kLines];
  for (T& sum : sums) sum = kProduct ? T(1) : T(0);
  for (int64_t i = 0; i < length; ++i) {
    load(from + i * in_stride, 1, values, width);
    for (int64_t k = 0; k < width; ++k) sums[k] = step<T, kProduct>(sums[k], values[k]);
    store(sums, to + i * out_stride, width);
  }
}

/// Lines along `dim`: in strides of the input, out strides of out, since their dim orders may differ.
template <typename T, bool kProduct>
void scan(KernelContext& context, const Tensor& in, int dim, Tensor& out) {
  const LoadFn load = load_function(in.dtype, LaneOf<T>::value);
  const StoreFn store = store_function(LaneOf<T>::value, out.dtype);
  if (!load || !store) return context.fail(Error::InvalidType, "no cumulative sum or product for these dtypes");
  const int64_t length = in.rank == 0 ? 1 : in.sizes[dim];
  if (in.numel == 0) return;
  const int64_t lines = static_cast<int64_t>(in.numel) / length;
  const int64_t in_bytes = static_cast<int64_t>(dtype_size_bytes(in.dtype));
  const int64_t out_bytes = static_cast<int64_t>(dtype_size_bytes(out.dtype));
  const int64_t in_stride = in.rank == 0 ? 1 : in.strides[dim], out_stride = in.rank == 0 ? 1 : out.strides[dim];
  const bool dense = in_stride == 1 && out_stride == 1;
  const int last = in.rank - 1;
  const bool together = !dense && last >= 0 && last != dim && in.strides[last] == 1 && out.strides[last] == 1;
  const int64_t row = together ? in.sizes[last] : 1, width = together ? kLines : 1;
  const int64_t per_row = (row + width - 1) / width, items = lines / row * per_row;
  context.parallel_for(items, 16384 / (length * width) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % per_row * width, count = row - first < width ? row - first : width;
      int64_t in_at, out_at;
      line_offsets(in, out, dim, item / per_row * row + first, &in_at, &out_at);
      const uint8_t* from = in.as<const uint8_t>() + in_at * in_bytes;
      uint8_t* to = out.as<uint8_t>() + out_at * out_bytes;
      if (dense) {
        scan_line<T, kProduct>(from, to, in_bytes, out_bytes, length, load, store);
      } else {
        scan_lines<T, kProduct>(from, to, in_stride * in_bytes, out_stride * out_bytes, length, count, load, store);
      }
    }
  });
}

/// args: self, dim, dtype, out.
template <bool kProduct>
void cumulative(KernelContext& context, Args args) {
  const Tensor& in = *args[0]->tensor;
  Tensor& out = *args[3]->tensor;
  if (!args[2]->is_none() && static_cast<DType>(args[2]->integer) != out.dtype) {
    return context.fail(Error::InvalidType, "dtype is not that of the out tensor");
  }
  const int64_t limit = in.rank == 0 ? 1 : in.rank;
  const int64_t dim = args[1]->integer + (args[1]->integer < 0 ? limit : 0);
  if (dim < 0 || dim >= limit) return context.fail(Error::InvalidArgument, "dim is out of range");
  const Error error = resize(out, in.shape());
  if (error != Error::Ok) return context.fail(error, "out tensor does not take the input's shape");
  if (is_floating(out.dtype)) return scan<double, kProduct>(context, in, static_cast<int>(dim), out);
  if (is_complex(out.dtype)) return scan<std::complex<double>, kProduct>(context, in, static_cast<int>(dim), out);
  scan<int64_t, kProduct>(context, in, static_cast<int>(dim), out);
}

}  // namespace

void cumsum_out(KernelContext& context, Args args) { cumulative<false>(context, args); }
void cumprod_out(KernelContext& context, Args args) { cumulative<true>(context, args); }

}  // namespace kernels
}  // namespace wick
