// cumsum and cumprod: floats accumulate in double, integers in int64.
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
  } else {
    return kProduct ? a * b : a + b;
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
  context.parallel_for(lines, 16384 / length + 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t rest = line, in_at = 0, out_at = 0;
      for (int d = in.rank; d-- > 0;) {
        if (d == dim) continue;
        const int64_t index = rest % in.sizes[d];
        rest /= in.sizes[d];
        in_at += index * in.strides[d];
        out_at += index * out.strides[d];
      }
      T sum = kProduct ? T(1) : T(0);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t in_stride = in.rank == 0 ? 0 : in.strides[dim], out_stride = in.rank == 0 ? 0 : out.strides[dim];
        T value;
        load(in.as<const uint8_t>() + (in_at + i * in_stride) * in_bytes, 0, &value, 1);
        sum = step<T, kProduct>(sum, value);
        store(&sum, out.as<uint8_t>() + (out_at + i * out_stride) * out_bytes, 1);
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
  if (is_complex(out.dtype)) return context.fail(Error::NotSupported, "cumulative kernels take real tensors");
  scan<int64_t, kProduct>(context, in, static_cast<int>(dim), out);
}

}  // namespace

void cumsum_out(KernelContext& context, Args args) { cumulative<false>(context, args); }
void cumprod_out(KernelContext& context, Args args) { cumulative<true>(context, args); }

}  // namespace kernels
}  // namespace wick
