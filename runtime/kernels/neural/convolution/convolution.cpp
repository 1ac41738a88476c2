// aten::convolution: 1, 2 and 3 spatial dimensions, groups, dilation, transposed.   Source: aten, Core ATen IR.
#include <type_traits>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/linear_algebra/tiled_product.h"
#include "runtime/kernels/neural/convolution/conv_geometry.h"

namespace wick {
namespace kernels {
namespace {

/// One position in three dimensions.
struct Place {
  int64_t at[3];
};
Place place_of(int64_t flat, const int64_t* sizes) {
  return {{flat / sizes[2] / sizes[1], flat / sizes[2] % sizes[1], flat % sizes[2]}};
}

/// The convolutions of the groups of all images, in types that the GEMM of convolve_float does not take, as matmuls of
/// weights [out_channels, depth] and input [depth, positions].
template <typename T, typename Sum>
struct Convolutions {
  const ConvGeometry& g;
  const T *input, *weight, *bias;
  T* out;

  int64_t image(int64_t index) const { return index / g.groups; }
  int64_t group(int64_t index) const { return index % g.groups; }
  /// Offset of the weights of depth `i`.
  int64_t weight_offset(int64_t i) const {
    const Place tap = place_of(i % g.taps(), g.kernel);
    int64_t at = i / g.taps() * g.weight_in_stride;
    for (int d = 0; d < 3; ++d) at += tap.at[d] * g.weight_stride[d];
    return at;
  }
  const T* weights(int64_t index, int64_t row) const {
    return weight + group(index) * g.weight_group_stride() + row * g.weight_out_stride;
  }
  /// The place that tap 0 sees from an output position, before the division.
  Place origin_of(int64_t position) const {
    Place place = place_of(position, g.output);
    for (int d = 0; d < 3; ++d) place.at[d] = place.at[d] * g.out_step[d] + g.origin[d];
    return place;
  }
  const T* plane(int64_t index, int64_t i) const {
    return input + image(index) * g.input_batch_stride +
           (group(index) * g.in_channels + i / g.taps()) * g.input_channel_stride;
  }
  /// The element that a tap sees, null outside.
  const T* seen(const T* from, const Place& origin, const Place& tap) const {
    int64_t at = 0;
    for (int d = 0; d < 3; ++d) {
      int64_t x = origin.at[d] + tap.at[d] * g.tap_step[d];
      if (x < 0) return nullptr;
      if (g.divisor[d] != 1) {
        if (x % g.divisor[d] != 0) return nullptr;
        x /= g.divisor[d];
      }
      if (x >= g.input[d]) return nullptr;
      at += x * g.input_stride[d];
    }
    return from + at;
  }
  Sum element(const T* from, const Place& origin, const Place& tap) const {
    const T* const found = seen(from, origin, tap);
    return found ? static_cast<Sum>(*found) : Sum(0);
  }
  /// The sum over the taps that read an element.
  Sum sum_of_seen(int64_t index, int64_t row, int64_t position) const {
    const Place origin = origin_of(position);
    Sum sum = Sum(0);
    for (int64_t i = 0; i < g.depth(); ++i) {
      const T* const found = seen(plane(index, i), origin, place_of(i % g.taps(), g.kernel));
      if (found) sum += static_cast<Sum>(*found) * static_cast<Sum>(weights(index, row)[weight_offset(i)]);
    }
    return sum;
  }

  void pack_weights(int64_t index, int64_t row, int64_t rows, int64_t first, int64_t count, Sum* to) const {
    for (int64_t i = first; i < first + count; ++i, to += kProductRows) {
      const int64_t offset = weight_offset(i);
      for (int64_t r = 0; r < kProductRows; ++r)
        to[r] = r < rows ? static_cast<Sum>(weights(index, row + r)[offset]) : Sum(0);
    }
  }
  void pack_input(int64_t index, int64_t column, int64_t columns, int64_t width, int64_t first, int64_t count,
                  Sum* to) const {
    Place origins[kMostProductColumns];
    for (int64_t j = 0; j < columns; ++j) origins[j] = origin_of(column + j);
    for (int64_t i = first; i < first + count; ++i, to += width) {
      const Place tap = place_of(i % g.taps(), g.kernel);
      const T* from = plane(index, i);
      for (int64_t j = 0; j < width; ++j) to[j] = j < columns ? element(from, origins[j], tap) : Sum(0);
    }
  }
  void store(int64_t index, int64_t row, int64_t position, Sum sum) const {
    const int64_t channel = group(index) * g.out_channels + row;
    if constexpr (std::is_floating_point<Sum>::value) {
      // A transposed convolution has no padding: an infinite weight that meets no element does not count.
      if (g.transposed && sum != sum) sum = sum_of_seen(index, row, position);
    }
    const Place to = place_of(position, g.output);
    int64_t at = image(index) * g.output_batch_stride + channel * g.output_channel_stride;
    for (int d = 0; d < 3; ++d) at += to.at[d] * g.output_stride[d];
    out[at] = static_cast<T>(sum + (bias ? static_cast<Sum>(bias[channel]) : Sum(0)));
  }
};

/// Integers wrap.
template <typename T>
void convolve_any(KernelContext& context, const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                  const Tensor* bias, Tensor& out) {
  using Sum = ProductSum<T>;
  const Convolutions<T, Sum> c = {g, input.as<T>(), weight.as<T>(), bias ? bias->as<T>() : nullptr, out.as<T>()};
  multiply_tiled<Sum>(
      context, g.batch * g.groups, g.out_channels, g.positions(), g.depth(),
      [&](int64_t index, int64_t row, int64_t rows, int64_t first, int64_t count, Sum* to) {
        c.pack_weights(index, row, rows, first, count, to);
      },
      [&](int64_t index, int64_t column, int64_t columns, int64_t width, int64_t first, int64_t count, Sum* to) {
        c.pack_input(index, column, columns, width, first, count, to);
      },
      [&](int64_t index, int64_t row, int64_t position, Sum sum) { c.store(index, row, position, sum); });
}

}  // namespace

/// out[n, o, p] = bias[o] + sum over c, t of input[n, c, p * stride - padding + t * dilation] * weight[o, c, t].
void convolution(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  const Tensor& weight = *args[1]->tensor;
  const Tensor* bias = args[2]->is_none() ? nullptr : args[2]->tensor;
  Tensor& out = *args[9]->tensor;
  ConvGeometry g;
  const ConvArguments arguments = {args[3], args[4], args[5], args[6]->boolean, args[7], args[8]->integer};
  if (!read_geometry(context, input, weight, arguments, &g)) return;
  const bool same = input.dtype == weight.dtype && input.dtype == out.dtype && (!bias || bias->dtype == input.dtype);
  if (!require(context, same, Error::InvalidType, "convolution: dtypes differ")) return;
  if (!require(context, !bias || (bias->rank == 1 && bias->sizes[0] == g.out_channels * g.groups),
               Error::InvalidArgument, "convolution: bias must have one element for each output channel"))
    return;
  int32_t sizes[5];
  const int rank = output_sizes(g, sizes);
  if (!resize_or_fail(context, out, sizes, rank, "convolution: out has a different shape")) return;
  set_output_strides(g, out);
  if (out.numel == 0) return;
  if (!require(context, g.in_channels > 0, Error::InvalidArgument, "convolution: no input channels")) return;
  if (out.dtype == DType::f32 || out.dtype == DType::f16 || out.dtype == DType::bf16)
    return convolve_float(context, g, input, weight, bias, out);
  if (out.dtype == DType::f64) return convolve_any<double>(context, g, input, weight, bias, out);
  const bool known = dispatch_integral(
      out.dtype, [&](auto zero) { convolve_any<decltype(zero)>(context, g, input, weight, bias, out); });
  require(context, known, Error::InvalidType, "convolution of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
