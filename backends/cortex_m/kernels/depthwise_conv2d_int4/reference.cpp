// depthwise_conv2d_int4(input, weight [1, kH, kW, 4 ceil(O / 8)], bias?, stride, padding, dilation, depth_multiplier,
// input_offset, output_offset, multipliers, shifts, activation_min, activation_max, scratch): as
// quantized_depthwise_conv2d, with weights in [-8, 7] that are packed, uint8, the O weights of a tap in a row.
//   y[o] = clamp(requantize(sum over taps of (x[o / depth_multiplier] + input_offset) w[tap, o] + bias[o])
//                + output_offset)
// A tap in the padding adds nothing. The padding has one entry for both ends of each dimension, or is {top, left,
// bottom, right}. Source of the equation: arm_depthwise_conv_s4, whose weights are packed without gaps.
#include "backends/cortex_m/kernels/depthwise_conv2d_int4/depthwise_conv2d_int4.h"

namespace wick::cortex_m::reference {
namespace {

struct DepthwiseConvolution : DepthwiseConv2dInt4 {
  int32_t sum(int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    int32_t total = quantization.initial(channel);
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx) {
        const int64_t ix = x_at * window.stride[1] - window.padding[1] + kx * window.dilation[1];
        if (iy < 0 || iy >= from.h || ix < 0 || ix >= from.w) continue;
        const int8_t pixel =
            x[((n * from.h + iy) * from.w + ix) * from.c + quotient_of_counts(channel, depth_multiplier)];
        total = wrapping_add(total, (pixel + quantization.input_offset) * weight(ky * window.kernel[1] + kx, channel));
      }
    }
    return total;
  }
};

}  // namespace

void depthwise_conv2d_int4(KernelContext& context, Span<EValue*> args) {
  DepthwiseConvolution c;
  if (read_depthwise_conv2d_int4(context, args, &c)) write_sums(c);
}

}  // namespace wick::cortex_m::reference
