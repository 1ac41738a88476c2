// Mean over windows.   Source: aten::avg_pool2d, avg_pool3d, _adaptive_avg_pool2d, _adaptive_avg_pool3d.
#include <type_traits>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {
namespace kernels {
namespace {

/// doubles are summed in double, floats in float, integers in int64 (wrapping).
template <typename T>
using SumOf = std::conditional_t<std::is_same<T, double>::value, double,
                                 std::conditional_t<std::is_integral<T>::value, uint64_t, float>>;

/// Input positions [begin, end) of one window along one dimension, and their count in the divisor.
struct CountedWindow {
  int64_t begin, end, counted;
};

template <typename T, typename Ranges>
void average_planes(KernelContext& context, const Tensor& input, Tensor& out, const Planes& in, const Planes& to,
                    int64_t divisor, Ranges&& ranges) {
  using Sum = SumOf<T>;
  for_each_plane(context, to, in.positions() + to.positions(), [&](int64_t plane) {
    const T* from = input.as<T>() + in.plane_offset(plane);
    T* mean = out.as<T>() + to.plane_offset(plane);
    for_each_position(to.size, [&](int64_t oz, int64_t oy, int64_t ox) {
      const CountedWindow r[3] = {ranges(0, oz), ranges(1, oy), ranges(2, ox)};
      Sum sum = 0;
      for (int64_t z = r[0].begin; z < r[0].end; ++z)
        for (int64_t y = r[1].begin; y < r[1].end; ++y)
          for (int64_t x = r[2].begin; x < r[2].end; ++x) sum += static_cast<Sum>(from[in.offset(z, y, x)]);
      const int64_t by = divisor != 0 ? divisor : r[0].counted * r[1].counted * r[2].counted;
      T& element = mean[to.offset(oz, oy, ox)];
      if (r[0].begin >= r[0].end || r[1].begin >= r[1].end || r[2].begin >= r[2].end || by == 0) {
        element = T(0.0f);
      } else if constexpr (std::is_integral<T>::value) {
        element = static_cast<T>(by == -1 ? static_cast<int64_t>(0 - sum) : static_cast<int64_t>(sum) / by);
      } else {
        element = T(sum / static_cast<Sum>(by));
      }
    });
  });
}

void avg_pool(KernelContext& context, Span<EValue*> args, int dims) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[7]->tensor;
  const bool count_padding = args[5]->boolean;
  const int64_t divisor = args[6]->is_none() ? 0 : args[6]->integer;
  Planes in, to;
  Pool pool;
  if (!require(context, planes_of(input, dims, &in), Error::InvalidArgument, "average pooling: wrong rank")) return;
  if (!require(context, out.dtype == input.dtype, Error::InvalidType,
               "average pooling: out must have the input's dtype"))
    return;
  if (!require(context, args[6]->is_none() || divisor != 0, Error::InvalidArgument,
               "average pooling: divisor must not be 0"))
    return;
  if (!read_pool(context, in, dims, *args[1], *args[2], *args[3], nullptr, args[4]->boolean, &pool)) return;
  if (!resize_pooled(context, input, dims, pool.output, out) || out.numel == 0) return;
  planes_of(out, dims, &to);
  const auto range = [&](int d, int64_t o) {
    const int64_t begin = o * pool.stride[d] - pool.padding[d];
    const int64_t end =
        begin + pool.kernel[d] < in.size[d] + pool.padding[d] ? begin + pool.kernel[d] : in.size[d] + pool.padding[d];
    const CountedWindow inside = {begin < 0 ? 0 : begin, end < in.size[d] ? end : in.size[d], 0};
    return CountedWindow{inside.begin, inside.end, count_padding ? end - begin : inside.end - inside.begin};
  };
  const auto run = [&](auto zero) { average_planes<decltype(zero)>(context, input, out, in, to, divisor, range); };
  require(context, dispatch_floating(input.dtype, run) || dispatch_integral(input.dtype, run), Error::InvalidType,
          "average pooling of this dtype is not defined");
}

void adaptive_avg_pool(KernelContext& context, Span<EValue*> args, int dims) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[2]->tensor;
  Planes in, to;
  int64_t output[3];
  if (!require(context, planes_of(input, dims, &in), Error::InvalidArgument, "average pooling: wrong rank")) return;
  if (!require(context, out.dtype == input.dtype, Error::InvalidType,
               "average pooling: out must have the input's dtype"))
    return;
  if (!read_window(context, *args[1], dims, 0, 1, nullptr, "adaptive pooling: output sizes must not be negative",
                   output))
    return;
  if (!require(context, in.positions() > 0, Error::InvalidArgument, "adaptive pooling: empty input plane")) return;
  if (!resize_pooled(context, input, dims, output, out) || out.numel == 0) return;
  planes_of(out, dims, &to);
  const auto range = [&](int d, int64_t o) {
    const int64_t begin = o * in.size[d] / to.size[d], end = ((o + 1) * in.size[d] + to.size[d] - 1) / to.size[d];
    return CountedWindow{begin, end, end - begin};
  };
  const auto run = [&](auto zero) { average_planes<decltype(zero)>(context, input, out, in, to, 0, range); };
  require(context, dispatch_floating(input.dtype, run) || dispatch_integral(input.dtype, run), Error::InvalidType,
          "average pooling of this dtype is not defined");
}

}  // namespace

void avg_pool2d(KernelContext& context, Span<EValue*> args) { avg_pool(context, args, 2); }
void avg_pool3d(KernelContext& context, Span<EValue*> args) { avg_pool(context, args, 3); }
void adaptive_avg_pool2d(KernelContext& context, Span<EValue*> args) { adaptive_avg_pool(context, args, 2); }
void adaptive_avg_pool3d(KernelContext& context, Span<EValue*> args) { adaptive_avg_pool(context, args, 3); }

}  // namespace kernels
}  // namespace wick
