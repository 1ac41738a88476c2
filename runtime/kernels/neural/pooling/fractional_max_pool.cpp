// Maximum over windows of one size at random places, as many as the output has positions; the index is the flat
// position in the input plane. The first maximum wins, NaN wins over all.
// Source: aten::fractional_max_pool2d, fractional_max_pool3d.
#include <math.h>

#include "common/float16.h"
#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {
namespace kernels {
namespace {

/// The integer part of a number; 0 if int64 cannot hold it.
template <typename T>
int64_t whole_number(T number) {
  const double wide = static_cast<double>(number);
  return fabs(wide) < 0x1p62 ? static_cast<int64_t>(wide) : 0;
}

/// Where window `o` of `out` starts along a dimension. `sample` shifts all windows but the last; it is meant to be in
/// [0, 1). Eager rounds each step to the input's dtype.
template <typename T>
int64_t window_start(T sample, int64_t in, int64_t out, int64_t kernel, int64_t o) {
  if (o + 1 >= out) return in - kernel;
  const T alpha = static_cast<T>(static_cast<T>(in - kernel) / static_cast<T>(out - 1));
  const T at = static_cast<T>(static_cast<T>(o) + sample);
  const int64_t start = whole_number(static_cast<T>(at * alpha)) - whole_number(static_cast<T>(sample * alpha));
  const int64_t last = in - kernel;
  return start < 0 ? 0 : start < last ? start : last;
}

/// `samples`: one for each dimension of the plane, [T, H, W] in three dimensions, [W, H] in two.
template <typename T>
void pool_plane(const T* in, const Planes& from, const int64_t* kernel, const T* samples, int dims, const Planes& to,
                const Planes& index, T* out, int64_t* indices) {
  const T shift[3] = {dims == 3 ? samples[0] : static_cast<T>(0), samples[1], dims == 3 ? samples[2] : samples[0]};
  for_each_position(to.size, [&](int64_t z, int64_t y, int64_t x) {
    const int64_t at[3] = {window_start(shift[0], from.size[0], to.size[0], kernel[0], z),
                           window_start(shift[1], from.size[1], to.size[1], kernel[1], y),
                           window_start(shift[2], from.size[2], to.size[2], kernel[2], x)};
    T best = static_cast<T>(-INFINITY);
    int64_t best_at = (at[0] * from.size[1] + at[1]) * from.size[2] + at[2];
    for_each_position(kernel, [&](int64_t a, int64_t b, int64_t c) {
      const T value = in[from.offset(at[0] + a, at[1] + b, at[2] + c)];
      if (!(value > best) && value == value) return;
      best = value;
      best_at = ((at[0] + a) * from.size[1] + at[1] + b) * from.size[2] + at[2] + c;
    });
    out[to.offset(z, y, x)] = best;
    indices[index.offset(z, y, x)] = best_at;
  });
}

/// A row-major tensor [batch, channels, dims]. As in eager, its batch may be larger than the input's.
bool check_samples(KernelContext& context, const Tensor& samples, const Planes& planes, int dims) {
  const bool fits = samples.rank == 3 && samples.sizes[0] >= planes.batch && samples.sizes[1] == planes.channels &&
                    samples.sizes[2] == dims && is_contiguous(samples);
  return require(context, fits, Error::InvalidArgument,
                 "fractional pooling: wanted a random number for each plane and dimension");
}

template <typename T>
void pool(KernelContext& context, const Tensor& input, const int64_t* kernel, const Tensor& samples, int dims,
          Tensor& out, Tensor& indices) {
  Planes in, to, index;
  planes_of(input, dims, &in);
  planes_of(out, dims, &to);
  planes_of(indices, dims, &index);
  if (!check_samples(context, samples, in, dims)) return;
  for_each_plane(context, to, to.positions() * 8, [&](int64_t plane) {
    pool_plane(input.as<T>() + in.plane_offset(plane), in, kernel, samples.as<T>() + plane * dims, dims, to, index,
               out.as<T>() + to.plane_offset(plane), indices.as<int64_t>() + index.plane_offset(plane));
  });
}

void fractional_max_pool(KernelContext& context, Span<EValue*> args, int dims) {
  const Tensor &input = *args[0]->tensor, &samples = *args[3]->tensor;
  Tensor &out = *args[4]->tensor, &indices = *args[5]->tensor;
  Planes in;
  int64_t kernel[3], output[3];
  if (!require(context, planes_of(input, dims, &in), Error::InvalidArgument, "fractional pooling: wrong rank")) return;
  // 8-bit floats are not supported.
  const bool known =
      input.dtype == DType::f16 || input.dtype == DType::bf16 || input.dtype == DType::f32 || input.dtype == DType::f64;
  if (!require(context,
               known && samples.dtype == input.dtype && out.dtype == input.dtype && indices.dtype == DType::i64,
               Error::InvalidType, "fractional pooling: wanted floats, and int64 indices"))
    return;
  if (!read_window(context, *args[1], dims, 1, 1, nullptr, "fractional pooling: wanted positive window sizes",
                   kernel) ||
      !read_window(context, *args[2], dims, 1, 1, nullptr, "fractional pooling: wanted positive output sizes", output))
    return;
  const int64_t beside = dims == 3 ? 0 : 1;  // in three dimensions eager needs one position more
  for (int d = 0; d < 3; ++d) {
    if (!require(context, kernel[d] <= in.size[d] && output[d] <= in.size[d] - kernel[d] + beside,
                 Error::InvalidArgument, "fractional pooling: the output is too large for the input"))
      return;
  }
  if (!resize_pooled(context, input, dims, output, out) || !resize_pooled(context, input, dims, output, indices))
    return;
  if (out.numel == 0) return;
  switch (input.dtype) {
    case DType::f16: return pool<Half>(context, input, kernel, samples, dims, out, indices);
    case DType::bf16: return pool<BFloat16>(context, input, kernel, samples, dims, out, indices);
    case DType::f64: return pool<double>(context, input, kernel, samples, dims, out, indices);
    default: return pool<float>(context, input, kernel, samples, dims, out, indices);
  }
}

}  // namespace

void fractional_max_pool2d(KernelContext& context, Span<EValue*> args) { fractional_max_pool(context, args, 2); }
void fractional_max_pool3d(KernelContext& context, Span<EValue*> args) { fractional_max_pool(context, args, 3); }

}  // namespace kernels
}  // namespace wick
