// quantized_depthwise_conv2d(input, weight [1, kH, kW, O], bias?, stride, padding, dilation, depth_multiplier,
// input_offset, output_offset, multipliers, shifts, activation_min, activation_max, scratch): O = C depth_multiplier.
//   y[o] = clamp(requantize(sum over taps of (x[o / depth_multiplier] + input_offset) w[tap, o] + bias[o])
//                + output_offset)
// A tap in the padding adds nothing. Scalar code needs no scratch, so any size of it is enough. Source:
// arm_depthwise_conv_wrapper_s8.
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {
namespace {

struct DepthwiseConvolution {
  Window window;
  Image from, to;
  int32_t depth_multiplier = 0;
  const int8_t *x, *weights;

  int32_t sum(const ChannelQuantization& quantization, int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    const int8_t* w = weights + channel;
    int32_t total = quantization.initial(channel);
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx, w += to.c) {
        const int64_t ix = x_at * window.stride[1] - window.padding[1] + kx * window.dilation[1];
        if (iy < 0 || iy >= from.h || ix < 0 || ix >= from.w) continue;
        const int8_t pixel = x[((n * from.h + iy) * from.w + ix) * from.c + channel / depth_multiplier];
        total = wrapping_add(total, (pixel + quantization.input_offset) * *w);
      }
    }
    return total;
  }
};

bool read_convolution(KernelContext& context, Span<EValue*> args, DepthwiseConvolution* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  if (!read_images(context, input, weights, *args[14]->tensor, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[5], &c->window) ||
      !read_int(context, *args[6], 1, INT32_MAX, &c->depth_multiplier, "depth_multiplier is not positive") ||
      !require(context,
               weights.sizes[0] == 1 && weights.sizes[3] == c->to.c && c->from.c * c->depth_multiplier == c->to.c,
               "wanted weights [1, kH, kW, O]: O the output's channels, depth_multiplier times the input's") ||
      !check_positions(context, c->window, c->from, c->to))
    return false;
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  return true;
}

}  // namespace

void quantized_depthwise_conv2d(KernelContext& context, Span<EValue*> args) {
  DepthwiseConvolution c;
  ChannelQuantization quantization;
  if (!read_convolution(context, args, &c) ||
      !read_channels(context, *args[2], args.subspan(7, 6), c.to.c, &quantization))
    return;
  write_sums(c, quantization, args[14]->tensor->as<int8_t>());
}

}  // namespace wick::cortex_m
