// Maximum over windows; the index is the flat position in the input plane. The first maximum wins, NaN wins over all.
// Source: aten::max_pool2d_with_indices, max_pool3d_with_indices, adaptive_max_pool2d / 3d, max_unpool2d.
#include <math.h>
#include <string.h>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/hot/hot_kernels.h"
#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {
namespace kernels {
namespace {

/// Input positions first + i * step, i < count, of one window along one dimension.
struct SteppedWindow {
  int64_t first, step, count;
};

SteppedWindow window_range(const Pool& pool, const Planes& in, int d, int64_t o) {
  int64_t first = o * pool.stride[d] - pool.padding[d];
  int64_t end = first + (pool.kernel[d] - 1) * pool.dilation[d] + 1;
  if (end > in.size[d]) end = in.size[d];
  if (first < 0) first += (-first + pool.dilation[d] - 1) / pool.dilation[d] * pool.dilation[d];
  const int64_t count = end > first ? (end - first + pool.dilation[d] - 1) / pool.dilation[d] : 0;
  return {first < in.size[d] ? first : in.size[d] - 1, pool.dilation[d], count};
}

SteppedWindow adaptive_range(int64_t in, int64_t out, int64_t o) {
  const int64_t first = o * in / out;
  return {first, 1, ((o + 1) * in + out - 1) / out - first};
}

template <typename T>
void max_of_window(const T* in, const Planes& p, const SteppedWindow* r, T* out, int64_t* index) {
  int64_t best_at = (r[0].first * p.size[1] + r[1].first) * p.size[2] + r[2].first;
  T best = T();
  bool any = false;
  for (int64_t a = 0; a < r[0].count; ++a)
    for (int64_t b = 0; b < r[1].count; ++b)
      for (int64_t c = 0; c < r[2].count; ++c) {
        const int64_t z = r[0].first + a * r[0].step, y = r[1].first + b * r[1].step, x = r[2].first + c * r[2].step;
        const T value = in[p.offset(z, y, x)];
        if (!any || value > best || value != value) {
          best = value;
          best_at = (z * p.size[1] + y) * p.size[2] + x;
          any = true;
        }
      }
  *out = best;
  *index = best_at;
}

/// `ranges(d, o)` gives the window of output o along dimension d.
template <typename T, typename Ranges>
void max_planes(KernelContext& context, const Tensor& input, Tensor& out, Tensor& indices, const Planes& in,
                const Planes& to, const Planes& index, Ranges&& ranges) {
  for_each_plane(context, to, to.positions() * 8, [&](int64_t plane) {
    const T* from = input.as<T>() + in.plane_offset(plane);
    T* best = out.as<T>() + to.plane_offset(plane);
    int64_t* best_at = indices.as<int64_t>() + index.plane_offset(plane);
    for_each_position(to.size, [&](int64_t z, int64_t y, int64_t x) {
      const SteppedWindow r[3] = {ranges(0, z), ranges(1, y), ranges(2, x)};
      max_of_window(from, in, r, best + to.offset(z, y, x), best_at + index.offset(z, y, x));
    });
  });
}

bool rows_contiguous(const Planes& p) { return p.size[2] == 1 || p.stride[2] == 1; }

/// One output row in two dimensions, tap by tap over whole rows.
void max_pool_row(const HotKernels& kernels, const Pool& pool, const Planes& in, const float* from, int64_t y,
                  float* out, int64_t* index) {
  const int64_t width = pool.output[2], step = pool.stride[2];
  const SteppedWindow rows = window_range(pool, in, 1, y);
  for (int64_t x = 0; x < width; ++x) {
    out[x] = -INFINITY;
    index[x] = rows.first * in.size[2] + window_range(pool, in, 2, x).first;
  }
  for (int64_t b = 0; b < rows.count; ++b) {
    const int64_t row = rows.first + b * rows.step;
    // The taps that may reach the input: from the last output, and from the first.
    const int64_t early = (pool.padding[2] - (width - 1) * step) / pool.dilation[2];
    const int64_t late = (pool.padding[2] + in.size[2] - 1) / pool.dilation[2] + 1;
    for (int64_t tap = early > 0 ? early : 0; tap < pool.kernel[2] && tap < late; ++tap) {
      const int64_t shift = tap * pool.dilation[2] - pool.padding[2];  // input column of output 0
      int64_t begin = shift < 0 ? (-shift + step - 1) / step : 0;
      int64_t end = shift < in.size[2] ? (in.size[2] - shift + step - 1) / step : 0;
      if (end > width) end = width;
      if (begin >= end) continue;
      const int64_t column = shift + begin * step;
      kernels.max_pool_row(from + row * in.stride[1] + column, step, row * in.size[2] + column, out + begin,
                           index + begin, end - begin);
    }
  }
}

void max_pool_f32(KernelContext& context, const Pool& pool, const Tensor& input, Tensor& out, Tensor& indices,
                  const Planes& in, const Planes& to, const Planes& index) {
  const HotKernels& kernels = hot(context.isa());
  for_each_plane(context, to, to.positions() * 4, [&](int64_t plane) {
    for (int64_t y = 0; y < to.size[1]; ++y)
      max_pool_row(kernels, pool, in, input.as<float>() + in.plane_offset(plane), y,
                   out.as<float>() + to.plane_offset(plane) + y * to.stride[1],
                   indices.as<int64_t>() + index.plane_offset(plane) + y * index.stride[1]);
  });
}

bool check_types(KernelContext& context, const Tensor& input, const Tensor& out, const Tensor& indices) {
  return require(context, out.dtype == input.dtype && indices.dtype == DType::i64, Error::InvalidType,
                 "max pooling: out must have the input's dtype, indices i64");
}

void max_pool(KernelContext& context, Span<EValue*> args, int dims) {
  const Tensor& input = *args[0]->tensor;
  Tensor &out = *args[6]->tensor, &indices = *args[7]->tensor;
  Planes in, to, index;
  Pool pool;
  if (!require(context, planes_of(input, dims, &in), Error::InvalidArgument, "max pooling: wrong rank")) return;
  if (!check_types(context, input, out, indices)) return;
  if (!read_pool(context, in, dims, *args[1], *args[2], *args[3], args[4], args[5]->boolean, &pool)) return;
  if (!resize_pooled(context, input, dims, pool.output, out) ||
      !resize_pooled(context, input, dims, pool.output, indices))
    return;
  if (out.numel == 0) return;
  planes_of(out, dims, &to);
  planes_of(indices, dims, &index);
  if (input.dtype == DType::f32 && dims == 2 && rows_contiguous(in) && rows_contiguous(to) && rows_contiguous(index))
    return max_pool_f32(context, pool, input, out, indices, in, to, index);
  const bool known =
      dispatch_floating(input.dtype,
                        [&](auto zero) {
                          max_planes<decltype(zero)>(context, input, out, indices, in, to, index,
                                                     [&](int d, int64_t o) { return window_range(pool, in, d, o); });
                        }) ||
      dispatch_integral(input.dtype, [&](auto zero) {
        max_planes<decltype(zero)>(context, input, out, indices, in, to, index,
                                   [&](int d, int64_t o) { return window_range(pool, in, d, o); });
      });
  require(context, known, Error::InvalidType, "max pooling of this dtype is not defined");
}

void adaptive_max_pool(KernelContext& context, Span<EValue*> args, int dims) {
  const Tensor& input = *args[0]->tensor;
  Tensor &out = *args[2]->tensor, &indices = *args[3]->tensor;
  Planes in, to, index;
  int64_t output[3];
  if (!require(context, planes_of(input, dims, &in), Error::InvalidArgument, "max pooling: wrong rank")) return;
  if (!check_types(context, input, out, indices)) return;
  if (!read_window(context, *args[1], dims, 0, 1, nullptr, "adaptive pooling: output sizes must not be negative",
                   output))
    return;
  if (!require(context, in.positions() > 0, Error::InvalidArgument, "adaptive pooling: empty input plane")) return;
  if (!resize_pooled(context, input, dims, output, out) || !resize_pooled(context, input, dims, output, indices))
    return;
  if (out.numel == 0) return;
  planes_of(out, dims, &to);
  planes_of(indices, dims, &index);
  const bool known = dispatch_floating(input.dtype, [&](auto zero) {
    max_planes<decltype(zero)>(context, input, out, indices, in, to, index,
                               [&](int d, int64_t o) { return adaptive_range(in.size[d], to.size[d], o); });
  });
  require(context, known, Error::InvalidType, "adaptive max pooling of this dtype is not defined");
}

/// out[index[i]] op= in[i] for each plane; fails on an index outside the plane.
template <typename T, bool Add>
void scatter_planes(KernelContext& context, const Tensor& values, const Tensor& indices, Tensor& out,
                    const Planes& from, const Planes& index, const Planes& to) {
  memset(out.data, 0, out.nbytes());
  for (int64_t plane = 0; plane < from.count(); ++plane) {
    const T* in = values.as<T>() + from.plane_offset(plane);
    const int64_t* at = indices.as<int64_t>() + index.plane_offset(plane);
    T* target = out.as<T>() + to.plane_offset(plane);
    for_each_position(from.size, [&](int64_t z, int64_t y, int64_t x) {
      const int64_t flat = at[index.offset(z, y, x)];
      if (flat < 0 || flat >= to.positions())
        return context.fail(Error::InvalidArgument, "pooling: index outside the plane");
      T& element = target[to.offset(flat / to.size[2] / to.size[1], flat / to.size[2] % to.size[1], flat % to.size[2])];
      const T value = in[from.offset(z, y, x)];
      if constexpr (Add) {
        element = T(element + value);
      } else {
        element = value;
      }
    });
  }
}

bool same_sizes(const Tensor& a, const Tensor& b) {
  return a.rank == b.rank && memcmp(a.sizes, b.sizes, a.rank * sizeof a.sizes[0]) == 0;
}

}  // namespace

void max_pool2d_with_indices(KernelContext& context, Span<EValue*> args) { max_pool(context, args, 2); }
void max_pool3d_with_indices(KernelContext& context, Span<EValue*> args) { max_pool(context, args, 3); }
void adaptive_max_pool2d(KernelContext& context, Span<EValue*> args) { adaptive_max_pool(context, args, 2); }
void adaptive_max_pool3d(KernelContext& context, Span<EValue*> args) { adaptive_max_pool(context, args, 3); }

void max_pool2d_with_indices_backward(KernelContext& context, Span<EValue*> args) {
  const Tensor &gradient = *args[0]->tensor, &input = *args[1]->tensor, &indices = *args[7]->tensor;
  Tensor& out = *args[8]->tensor;
  Planes in, from, index, to;
  Pool pool;
  bool fits = planes_of(input, 2, &in) && planes_of(gradient, 2, &from) && planes_of(indices, 2, &index) &&
              same_sizes(gradient, indices) && gradient.rank == input.rank;
  if (!require(context, fits, Error::InvalidArgument, "max pooling backward: shapes do not fit")) return;
  if (!read_pool(context, in, 2, *args[2], *args[3], *args[4], args[5], args[6]->boolean, &pool)) return;
  fits = from.size[1] == pool.output[1] && from.size[2] == pool.output[2];
  if (!require(context, fits, Error::InvalidArgument,
               "max pooling backward: grad_output has not the shape of the output"))
    return;
  if (!check_types(context, input, out, indices) ||
      !require(context, gradient.dtype == input.dtype, Error::InvalidType, "dtypes differ"))
    return;
  if (!resize_or_fail(context, out, input.sizes, input.rank, "max pooling backward: out has a different shape")) return;
  planes_of(out, 2, &to);
  if (!require(context, to.count() == from.count(), Error::InvalidArgument, "max pooling backward: shapes do not fit"))
    return;
  if (out.numel == 0) return;
  const bool known = dispatch_floating(input.dtype, [&](auto zero) {
    scatter_planes<decltype(zero), true>(context, gradient, indices, out, from, index, to);
  });
  require(context, known, Error::InvalidType, "max pooling backward of this dtype is not defined");
}

void max_unpool2d(KernelContext& context, Span<EValue*> args) {
  const Tensor &input = *args[0]->tensor, &indices = *args[1]->tensor;
  Tensor& out = *args[3]->tensor;
  Planes from, index, to;
  int64_t output[3];
  const bool fits = planes_of(input, 2, &from) && planes_of(indices, 2, &index) && same_sizes(input, indices);
  if (!require(context, fits, Error::InvalidArgument,
               "max unpooling: input and indices must have equal rank 3 or 4 and sizes"))
    return;
  if (!check_types(context, input, out, indices)) return;
  if (!read_window(context, *args[2], 2, 0, 1, nullptr, "max unpooling: wanted two output sizes", output)) return;
  if (!resize_pooled(context, input, 2, output, out)) return;
  planes_of(out, 2, &to);
  if (out.numel == 0) return;
  const bool known =
      dispatch_floating(
          input.dtype,
          [&](auto zero) { scatter_planes<decltype(zero), false>(context, input, indices, out, from, index, to); }) ||
      dispatch_integral(input.dtype, [&](auto zero) {
        scatter_planes<decltype(zero), false>(context, input, indices, out, from, index, to);
      });
  require(context, known, Error::InvalidType, "max unpooling of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
