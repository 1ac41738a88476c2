// quantized_depthwise_conv2d(input, weight [1, kH, kW, O], bias?, stride, padding, dilation, depth_multiplier,
// input_offset, output_offset, multipliers, shifts, activation_min, activation_max, scratch): O = C depth_multiplier.
//   y[o] = clamp(requantize(sum over taps of (x[o / depth_multiplier] + input_offset) w[tap, o] + bias[o])
//                + output_offset)
// A tap in the padding adds nothing. Scalar code needs no scratch, so its size is not checked. Source:
// arm_depthwise_conv_wrapper_s8.
// wick_cortex_m::depthwise_conv2d: the same with padding {top, left, bottom, right}.
// quantized_depthwise_conv2d_nhwc: the same on contiguous images whose sizes are NHWC.
#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace wick::cortex_m::reference {
namespace {

struct DepthwiseConvolution : DepthwiseConv2d {
  int32_t sum(int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    const int8_t* w = weights + channel;
    int32_t total = quantization.initial(channel);
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx, w += to.c) {
        const int64_t ix = x_at * window.stride[1] - window.padding[1] + kx * window.dilation[1];
        if (iy < 0 || iy >= from.h || ix < 0 || ix >= from.w) continue;
        const int8_t pixel =
            x[((n * from.h + iy) * from.w + ix) * from.c + quotient_of_counts(channel, depth_multiplier)];
        total = wrapping_add(total, (pixel + quantization.input_offset) * *w);
      }
    }
    return total;
  }
};

void convolve_channels(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  DepthwiseConvolution c;
  if (read_depthwise_conv2d(context, args, sizes, &c)) write_sums(c);
}

}  // namespace

void quantized_depthwise_conv2d(KernelContext& context, Span<EValue*> args) {
  convolve_channels(context, args, ImageSizes::nchw);
}

void quantized_depthwise_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  convolve_channels(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::reference
