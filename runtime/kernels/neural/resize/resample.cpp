#include "runtime/kernels/neural/resize/resample.h"

#include "common/math/float_math.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/normalization/normalization.h"

namespace wick {
namespace {

template <typename Real>
Real absolute(Real x) {
  return x < 0 ? -x : x;
}
int64_t limit(int64_t value, int64_t low, int64_t high) { return value < low ? low : value > high ? high : value; }

/// Input steps for one output step.
template <typename Real>
Real step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<Real>(in - 1) / static_cast<Real>(out - 1) : Real(0);
  return scale > 0 ? static_cast<Real>(1.0 / scale) : static_cast<Real>(in) / static_cast<Real>(out);
}

/// Rounds toward minus infinity; positions far outside stay there.
template <typename Real>
int64_t floor_of(Real x) {
  if (!(x > Real(-1e9))) return -1000000000;
  if (!(x < Real(1e9))) return 1000000000;
  const int64_t whole = static_cast<int64_t>(x);
  return static_cast<Real>(whole) > x ? whole - 1 : whole;
}

template <typename Real>
void fill_point(Filter filter, int64_t in, int64_t o, Real step, bool align_corners, int32_t* index, double* weight) {
  if (filter == Filter::nearest || filter == Filter::nearest_exact) {
    const float place =
        static_cast<float>(step) * (static_cast<float>(o) + (filter == Filter::nearest_exact ? 0.5f : 0.0f));
    index[0] = static_cast<int32_t>(limit(floor_of(place), 0, in - 1));
    weight[0] = 1;
    return;
  }
  Real place = align_corners ? step * static_cast<Real>(o) : step * (static_cast<Real>(o) + Real(0.5)) - Real(0.5);
  if (filter == Filter::linear && place < 0) place = 0;
  const int64_t first = filter == Filter::linear   ? limit(floor_of(place), 0, in - 1)
                        : floor_of(place) < in - 1 ? floor_of(place)
                                                   : in - 1;
  Real t = place - static_cast<Real>(first);
  t = t < 0 ? Real(0) : t > 1 ? Real(1) : t;
  if (filter == Filter::linear) {
    index[0] = static_cast<int32_t>(first);
    index[1] = static_cast<int32_t>(first < in - 1 ? first + 1 : first);
    weight[0] = static_cast<double>(1 - t);
    weight[1] = static_cast<double>(t);
    return;
  }
  Real weights[4];
  cubic_weights<Real>(t, Real(-0.75), weights);
  for (int64_t i = 0; i < 4; ++i) {
    index[i] = static_cast<int32_t>(limit(first - 1 + i, 0, in - 1));
    weight[i] = static_cast<double>(weights[i]);
  }
}

template <typename Real>
Real antialias_weight(Filter filter, Real x) {
  x = absolute(x);
  if (filter == Filter::linear_antialias) return x < 1 ? 1 - x : Real(0);
  const Real a = Real(-0.5);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : Real(0);
}

/// The weights of the triangle or cubic filter, centred on the output position and widened when the image shrinks.
template <typename Real>
void fill_antialiased(Filter filter, int64_t in, int64_t o, Real step, int64_t taps, int32_t* index, double* weight) {
  const Real half = filter == Filter::linear_antialias ? Real(1) : Real(2);
  const Real support = step >= 1 ? half * step : half, inverse = step >= 1 ? 1 / step : Real(1);
  const Real center = step * (static_cast<Real>(o) + Real(0.5));
  const int64_t first = limit(floor_of(center - support + Real(0.5)), 0, in - 1);
  const int64_t count = limit(floor_of(center + support + Real(0.5)), 0, in) - first;
  Real total = 0;
  for (int64_t i = 0; i < taps; ++i) {
    const Real w =
        i < count ? antialias_weight(filter, (static_cast<Real>(i + first) - center + Real(0.5)) * inverse) : Real(0);
    index[i] = static_cast<int32_t>(limit(first + i, 0, in - 1));
    weight[i] = static_cast<double>(w);
    total += w;
  }
  for (int64_t i = 0; i < taps && total != 0; ++i)
    weight[i] = static_cast<double>(static_cast<Real>(weight[i]) / total);
}

template <typename Real>
bool fill_axis(KernelContext& context, const ResampleRequest& r, int d, int64_t in, ResampleAxis* axis) {
  const int64_t out = r.output[d];
  // Eager does not change a dimension whose size stays, whatever the scale.
  const bool stays = r.filter == Filter::linear && in == out;
  const Real step = stays ? Real(1) : step_of<Real>(in, out, r.align_corners, r.scale[d]);
  const bool antialias = r.filter == Filter::linear_antialias || r.filter == Filter::cubic_antialias;
  if (antialias) {
    const Real half = (r.filter == Filter::linear_antialias ? Real(1) : Real(2)) * (step >= 1 ? step : Real(1));
    const int64_t wanted = (floor_of(half) + 1) * 2 + 1;
    axis->taps = wanted < in + 1 ? wanted : in + 1;
    // With a scale that fits the sizes, each input contributes to few outputs.
    if (!require(context, axis->taps <= 16 * (1 + in / out), Error::InvalidArgument,
                 "upsample: the scale shrinks far more than the sizes do: wanted about output / input"))
      return false;
  } else {
    axis->taps = r.filter == Filter::linear ? 2 : r.filter == Filter::cubic ? 4 : 1;
  }
  if (d < 3 - r.dims) axis->taps = 1;
  const size_t entries = static_cast<size_t>(out) * static_cast<size_t>(axis->taps);
  axis->index = context.allocate_temp_array<int32_t>(entries);
  axis->weight = context.allocate_temp_array<double>(entries);
  if (!axis->index || !axis->weight) return false;
  for (int64_t o = 0; o < out; ++o) {
    int32_t* index = axis->index + o * axis->taps;
    double* weight = axis->weight + o * axis->taps;
    if (d < 3 - r.dims) {
      *index = 0;
      *weight = 1;
    } else if (antialias) {
      fill_antialiased<Real>(r.filter, in, o, step, axis->taps, index, weight);
    } else {
      fill_point<Real>(r.filter, in, o, step, r.align_corners, index, weight);
    }
  }
  return true;
}

template <typename T>
void copy_nearest(KernelContext& context, const Tensor& input, Tensor& out, const Planes& in, const Planes& to,
                  const ResampleAxis* axes) {
  for_each_plane(context, to, to.positions(), [&](int64_t plane) {
    const T* from = input.as<T>() + in.plane_offset(plane);
    T* target = out.as<T>() + to.plane_offset(plane);
    for_each_position(to.size, [&](int64_t z, int64_t y, int64_t x) {
      target[to.offset(z, y, x)] = from[in.offset(axes[0].index[z], axes[1].index[y], axes[2].index[x])];
    });
  });
}

template <typename T>
void interpolate(KernelContext& context, const Tensor& input, Tensor& out, const Planes& in, const Planes& to,
                 const ResampleAxis* axes) {
  using Sum = NormSum<T>;
  const ResampleAxis &az = axes[0], &ay = axes[1], &ax = axes[2];
  for_each_plane(context, to, to.positions() * 4, [&](int64_t plane) {
    const T* from = input.as<T>() + in.plane_offset(plane);
    T* target = out.as<T>() + to.plane_offset(plane);
    for_each_position(to.size, [&](int64_t z, int64_t y, int64_t x) {
      const int32_t* columns = ax.index + x * ax.taps;
      const double* weights = ax.weight + x * ax.taps;
      Sum sum = 0;
      for (int64_t i = 0; i < az.taps; ++i) {
        Sum slice = 0;
        for (int64_t j = 0; j < ay.taps; ++j) {
          const T* row = from + in.offset(az.index[z * az.taps + i], ay.index[y * ay.taps + j], 0);
          Sum line = 0;
          for (int64_t k = 0; k < ax.taps; ++k)
            line += static_cast<Sum>(weights[k]) * static_cast<Sum>(row[columns[k] * in.stride[2]]);
          slice += static_cast<Sum>(ay.weight[y * ay.taps + j]) * line;
        }
        sum += static_cast<Sum>(az.weight[z * az.taps + i]) * slice;
      }
      target[to.offset(z, y, x)] = T(sum);
    });
  });
}

// --- bytes ---

/// The weights of one axis as integers, in units of 2^-precision: so many bits that the largest fits into 15.
struct ByteAxis {
  const ResampleAxis* axis = nullptr;
  int32_t* weight = nullptr;
  int precision = 0;

  uint8_t blend(const uint8_t* from, int64_t stride, int64_t o) const {
    int64_t sum = precision > 0 ? int64_t{1} << (precision - 1) : 0;
    for (int64_t t = o * axis->taps; t < (o + 1) * axis->taps; ++t)
      sum += int64_t{weight[t]} * from[axis->index[t] * stride];
    return static_cast<uint8_t>(limit(sum >> precision, 0, 255));
  }
};

bool fill_byte_axis(KernelContext& context, const ResampleAxis& axis, int64_t out, ByteAxis* result) {
  const int64_t count = out * axis.taps;
  result->axis = &axis;
  result->weight = context.allocate_temp_array<int32_t>(static_cast<size_t>(count));
  if (!result->weight) return false;
  double largest = 0;
  for (int64_t first = 0; first < count; first += axis.taps) {  // taps that the border clamps to one position are added
    for (int64_t t = first + 1, kept = first; t < first + axis.taps; ++t) {
      if (axis.index[t] != axis.index[kept]) {
        kept = t;
        continue;
      }
      axis.weight[kept] += axis.weight[t];
      axis.weight[t] = 0;
    }
  }
  for (int64_t i = 0; i < count; ++i) largest = axis.weight[i] > largest ? axis.weight[i] : largest;
  while (result->precision < 22 && 0.5 + largest * static_cast<double>(2 << result->precision) < 32768)
    ++result->precision;
  const double unit = static_cast<double>(1 << result->precision);
  for (int64_t i = 0; i < count; ++i) {
    const double scaled = axis.weight[i] * unit;
    const double rounded = scaled < 0 ? scaled - 0.5 : scaled + 0.5;
    result->weight[i] = rounded > -32768 ? rounded < 32768 ? static_cast<int32_t>(rounded) : 32767 : -32768;
  }
  return true;
}

/// Resizes images of bytes along rows, then along columns; each pass rounds to bytes. An axis whose size stays is
/// skipped.
void interpolate_bytes(KernelContext& context, const Tensor& input, Tensor& out, const Planes& in, const Planes& to,
                       const ResampleAxis* axes) {
  const bool across = in.size[2] != to.size[2], down = in.size[1] != to.size[1];
  ByteAxis rows, columns;
  if (!fill_byte_axis(context, axes[1], to.size[1], &rows)) return;
  if (!fill_byte_axis(context, axes[2], to.size[2], &columns)) return;
  const int64_t height = in.size[1], width = to.size[2];
  uint8_t* between = nullptr;
  if (across) {
    between = context.allocate_temp_array<uint8_t>(static_cast<size_t>(in.count() * height * width));
    if (!between) return;
  }
  for_each_plane(context, to, to.positions() * 4, [&](int64_t plane) {
    const uint8_t* from = input.as<uint8_t>() + in.plane_offset(plane);
    uint8_t* target = out.as<uint8_t>() + to.plane_offset(plane);
    int64_t row = in.stride[1], column = in.stride[2];
    if (across) {
      uint8_t* middle = between + plane * height * width;
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) middle[y * width + x] = columns.blend(from + y * row, column, x);
      }
      from = middle;
      row = width;
      column = 1;
    }
    for_each_position(to.size, [&](int64_t, int64_t y, int64_t x) {
      target[to.offset(0, y, x)] = down ? rows.blend(from + x * column, row, y) : from[y * row + x * column];
    });
  });
}

}  // namespace

void resample(KernelContext& context, const ResampleRequest& r, const Tensor& input, Tensor& out) {
  Planes in, to;
  if (!require(context, input.rank == r.dims + 2 && planes_of(input, r.dims, &in), Error::InvalidArgument,
               "upsample: wrong rank"))
    return;
  if (!require(context, input.dtype == out.dtype, Error::InvalidType, "upsample: out must have the input's dtype"))
    return;
  for (int d = 0; d < 3; ++d) {
    const bool sizes = d < 3 - r.dims || (r.output[d] >= 1 && r.output[d] <= INT32_MAX && in.size[d] >= 1);
    if (!require(context, sizes, Error::InvalidArgument, "upsample: input and output sizes must be positive")) return;
  }
  if (!resize_pooled(context, input, r.dims, r.output, out) || out.numel == 0) return;
  planes_of(out, r.dims, &to);
  ResampleAxis axes[3];
  for (int d = 0; d < 3; ++d) {
    const bool wide = input.dtype == DType::f64 || input.dtype == DType::u8;
    const bool filled = wide && r.filter != Filter::nearest && r.filter != Filter::nearest_exact
                            ? fill_axis<double>(context, r, d, in.size[d], &axes[d])
                            : fill_axis<float>(context, r, d, in.size[d], &axes[d]);
    if (!filled) return;
  }
  const bool nearest = r.filter == Filter::nearest || r.filter == Filter::nearest_exact;
  if (input.dtype == DType::u8 && !nearest && r.dims == 2) return interpolate_bytes(context, input, out, in, to, axes);
  const bool known =
      nearest ? dispatch_size(input.dtype,
                              [&](auto zero) { copy_nearest<decltype(zero)>(context, input, out, in, to, axes); })
              : dispatch_floating(input.dtype,
                                  [&](auto zero) { interpolate<decltype(zero)>(context, input, out, in, to, axes); });
  require(context, known, Error::InvalidType, "upsample of this dtype is not defined");
}

}  // namespace wick
