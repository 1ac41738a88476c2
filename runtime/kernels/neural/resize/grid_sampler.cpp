// Samples the input at grid positions in [-1, 1].   Source: aten::grid_sampler_2d, aten::grid_sampler_3d.
#include "common/math/math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/normalization/normalization.h"
#include "runtime/kernels/neural/resize/resample.h"

namespace wick {
namespace kernels {
namespace {

enum class Mode : int64_t { bilinear = 0, nearest = 1, bicubic = 2 };
enum class Padding : int64_t { zeros = 0, border = 1, reflection = 2 };

/// Up to four input positions along one axis; -1: outside, counts as 0.
template <typename Real>
struct Taps {
  int count = 1;
  int64_t index[4] = {0, 0, 0, 0};
  Real weight[4] = {1, 0, 0, 0};
};

template <typename Real>
Real bounded(Real x, int64_t size) {
  const Real high = static_cast<Real>(size - 1);
  return x > 0 ? (x < high ? x : high) : x != x ? high : Real(0);
}

template <typename Real>
Real reflected(Real x, Real twice_low, Real twice_high) {
  if (twice_low == twice_high) return 0;
  const Real low = twice_low / 2, span = (twice_high - twice_low) / 2;
  const Real distance = x - low < 0 ? low - x : x - low;
  const double turns = math::floor(static_cast<double>(distance / span));
  const Real rest = static_cast<Real>(static_cast<double>(distance) - turns * static_cast<double>(span));
  const bool even = turns - 2 * math::floor(turns / 2) == 0;
  return even ? rest + low : span - rest + low;
}

template <typename Real>
Real padded(Real x, int64_t size, Padding padding, bool align_corners) {
  if (padding == Padding::reflection)
    x = align_corners ? reflected<Real>(x, 0, static_cast<Real>(2 * (size - 1)))
                      : reflected<Real>(x, -1, static_cast<Real>(2 * size - 1));
  return padding == Padding::zeros ? x : bounded(x, size);
}

/// An index inside [0, size), or -1.
template <typename Real>
int64_t index_of(Real x, int64_t size) {
  return x >= 0 && x < static_cast<Real>(size) ? static_cast<int64_t>(x) : -1;
}

template <typename Real>
Taps<Real> taps_of(Real grid, int64_t size, Mode mode, Padding padding, bool align_corners) {
  Real x =
      align_corners ? (grid + 1) / 2 * static_cast<Real>(size - 1) : ((grid + 1) * static_cast<Real>(size) - 1) / 2;
  if (mode != Mode::bicubic) x = padded(x, size, padding, align_corners);
  Taps<Real> taps;
  if (!(x > Real(-1e9) && x < Real(1e9))) {
    x = mode == Mode::bicubic && padding != Padding::zeros ? Real(0) : Real(-100);
  }
  if (mode == Mode::nearest) {
    taps.index[0] = index_of(static_cast<Real>(math::round_even(static_cast<double>(x))), size);
    return taps;
  }
  const Real base = static_cast<Real>(math::floor(static_cast<double>(x)));
  const Real t = x - base;
  if (mode == Mode::bilinear) {
    taps.count = 2;
    taps.index[0] = index_of(base, size);
    taps.index[1] = index_of(base + 1, size);
    taps.weight[0] = 1 - t;
    taps.weight[1] = t;
    return taps;
  }
  taps.count = 4;
  cubic_weights<Real>(t, Real(-0.75), taps.weight);
  for (int i = 0; i < 4; ++i) {
    const Real place = padded(base - 1 + static_cast<Real>(i), size, padding, align_corners);
    taps.index[i] = index_of(static_cast<Real>(math::round_even(static_cast<double>(place))), size);
  }
  return taps;
}

struct Request {
  int dims;
  Mode mode;
  Padding padding;
  bool align_corners;
};

constexpr int kMostTaps = 64;
constexpr int64_t kChunk = 16;

/// Input offsets and weights of up to kChunk output positions in a row; tap by tap, in the order in which they are
/// summed. Taps outside have the offset -1 and count as 0.
template <typename Real>
struct Samples {
  int taps = 0;
  bool all_inside = true;
  int64_t offset[kMostTaps][kChunk];
  Real weight[kMostTaps][kChunk];

  void set(int64_t at, const Taps<Real> (&along)[3], const Planes& in) {
    taps = 0;
    for (int i = 0; i < along[0].count; ++i)
      for (int j = 0; j < along[1].count; ++j)
        for (int k = 0; k < along[2].count; ++k, ++taps) {
          const int64_t a = along[0].index[i], b = along[1].index[j], c = along[2].index[k];
          const bool exists = a >= 0 && b >= 0 && c >= 0;
          offset[taps][at] = exists ? in.offset(a, b, c) : -1;
          weight[taps][at] = along[0].weight[i] * along[1].weight[j] * along[2].weight[k];
          all_inside = all_inside && exists;
        }
  }

  template <typename T>
  void sum(const T* from, int64_t count, Real* sums) const {
    for (int64_t j = 0; j < count; ++j) sums[j] = 0;
    for (int k = 0; k < taps; ++k) {
      if (all_inside) {
        for (int64_t j = 0; j < count; ++j) sums[j] += static_cast<Real>(from[offset[k][j]]) * weight[k][j];
      } else {
        for (int64_t j = 0; j < count; ++j) {
          const int64_t at = offset[k][j];
          sums[j] += (at < 0 ? Real(0) : static_cast<Real>(from[at])) * weight[k][j];
        }
      }
    }
  }
};

template <typename T>
void sample(KernelContext& context, const Request& r, const Tensor& input, const Tensor& grid, Tensor& out,
            const Planes& in, const Planes& to) {
  using Real = NormSum<T>;
  const int64_t last = grid.strides[grid.rank - 1];
  const int64_t chunks = (to.size[2] + kChunk - 1) / kChunk, lines = to.size[0] * to.size[1];
  context.parallel_for(to.batch * lines * chunks, 2, [&](int64_t begin, int64_t end) {
    Samples<Real> samples;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % chunks * kChunk, line = item / chunks % lines, image = item / chunks / lines;
      const int64_t z = line / to.size[1], y = line % to.size[1];
      const int64_t count = to.size[2] - first < kChunk ? to.size[2] - first : kChunk;
      samples.all_inside = true;
      for (int64_t x = 0; x < count; ++x) {
        int64_t at =
            image * grid.strides[0] + (first + x) * grid.strides[grid.rank - 2] + y * grid.strides[grid.rank - 3];
        if (r.dims == 3) at += z * grid.strides[1];
        Taps<Real> taps[3];  // z, y, x; the grid stores x first
        for (int d = 3 - r.dims; d < 3; ++d)
          taps[d] = taps_of<Real>(static_cast<Real>(grid.as<T>()[at + (2 - d) * last]), in.size[d], r.mode, r.padding,
                                  r.align_corners);
        samples.set(x, taps, in);
      }
      for (int64_t c = 0; c < in.channels; ++c) {
        Real sums[kChunk];
        samples.sum(input.as<T>() + image * in.batch_stride + c * in.channel_stride, count, sums);
        T* result = out.as<T>() + image * to.batch_stride + c * to.channel_stride + to.offset(z, y, first);
        const int64_t step = to.offset(0, 0, 1);
        for (int64_t x = 0; x < count; ++x) result[x * step] = T(sums[x]);
      }
    }
  });
}

void grid_sampler(KernelContext& context, Span<EValue*> args, int dims) {
  const Tensor &input = *args[0]->tensor, &grid = *args[1]->tensor;
  Tensor& out = *args[5]->tensor;
  const int64_t mode = args[2]->integer, padding = args[3]->integer;
  const Request r = {dims, static_cast<Mode>(mode), static_cast<Padding>(padding), args[4]->boolean};
  Planes in, to;
  const bool ranks = input.rank == dims + 2 && grid.rank == dims + 2 && planes_of(input, dims, &in) &&
                     grid.sizes[0] == input.sizes[0] && grid.sizes[dims + 1] == dims && in.positions() > 0;
  if (!require(context, ranks, Error::InvalidArgument,
               "grid sampler: wanted input [n, c, ..] and grid [n, .., dimensions]"))
    return;
  if (!require(context, mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2, Error::InvalidArgument,
               "grid sampler: unknown interpolation or padding mode"))
    return;
  if (!require(context, input.dtype == grid.dtype && input.dtype == out.dtype, Error::InvalidType,
               "grid sampler: dtypes differ"))
    return;
  int64_t output[3] = {1, 1, 1};
  for (int d = 0; d < dims; ++d) output[3 - dims + d] = grid.sizes[1 + d];
  if (!resize_pooled(context, input, dims, output, out) || out.numel == 0) return;
  planes_of(out, dims, &to);
  require(
      context,
      dispatch_floating(input.dtype, [&](auto zero) { sample<decltype(zero)>(context, r, input, grid, out, in, to); }),
      Error::InvalidType, "grid sampler of this dtype is not defined");
}

}  // namespace

void grid_sampler_2d(KernelContext& context, Span<EValue*> args) { grid_sampler(context, args, 2); }
void grid_sampler_3d(KernelContext& context, Span<EValue*> args) { grid_sampler(context, args, 3); }

}  // namespace kernels
}  // namespace wick
