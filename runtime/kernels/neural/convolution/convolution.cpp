// aten::convolution: 1, 2 and 3 spatial dimensions, groups, dilation, transposed.   Source: aten, Core ATen IR.
#include <type_traits>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/neural/convolution/conv_geometry.h"

namespace wick {
namespace kernels {
namespace {

/// Plain loops in logical order for types the blocked product does not take. Integers wrap.
template <typename T, typename Sum>
void convolve_any(KernelContext& context, const ConvGeometry& g, const Tensor& input, const Tensor& weight,
                  const Tensor* bias, Tensor& out) {
  const int64_t channels = g.groups * g.out_channels;
  const auto element = [&](const T* in, const T* w, const int64_t* o) {
    Sum sum = Sum(0);
    for (int64_t c = 0; c < g.in_channels; ++c, in += g.input_channel_stride, w += g.weight_in_stride) {
      int64_t t[3];
      for (t[0] = 0; t[0] < g.kernel[0]; ++t[0])
        for (t[1] = 0; t[1] < g.kernel[1]; ++t[1])
          for (t[2] = 0; t[2] < g.kernel[2]; ++t[2]) {
            int64_t from = 0, tap = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const int64_t x = o[d] * g.out_step[d] + g.origin[d] + t[d] * g.tap_step[d];
              inside = inside && x >= 0 && x % g.divisor[d] == 0 && x / g.divisor[d] < g.input[d];
              if (inside) from += x / g.divisor[d] * g.input_stride[d];
              tap += t[d] * g.weight_stride[d];
            }
            if (inside) sum += static_cast<Sum>(in[from]) * static_cast<Sum>(w[tap]);
          }
    }
    return sum;
  };
  context.parallel_for(g.batch * channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / channels, channel = item % channels, group = channel / g.out_channels;
      const T* in = input.as<T>() + image * g.input_batch_stride + group * g.in_channels * g.input_channel_stride;
      const T* w = weight.as<T>() + channel % g.out_channels * g.weight_out_stride + group * g.weight_group_stride();
      T* to = out.as<T>() + image * g.output_batch_stride + channel * g.output_channel_stride;
      const Sum start = bias ? static_cast<Sum>(bias->as<T>()[channel]) : Sum(0);
      int64_t o[3];
      for (o[0] = 0; o[0] < g.output[0]; ++o[0])
        for (o[1] = 0; o[1] < g.output[1]; ++o[1])
          for (o[2] = 0; o[2] < g.output[2]; ++o[2])
            to[o[0] * g.output_stride[0] + o[1] * g.output_stride[1] + o[2] * g.output_stride[2]] =
                static_cast<T>(element(in, w, o) + start);
    }
  });
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
  if (out.dtype == DType::f64) return convolve_any<double, double>(context, g, input, weight, bias, out);
  const bool known = dispatch_integral(
      out.dtype, [&](auto zero) { convolve_any<decltype(zero), uint64_t>(context, g, input, weight, bias, out); });
  require(context, known, Error::InvalidType, "convolution of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
