// quantized_conv2d(input, weight [O, kH, kW, I], bias?, stride, padding, dilation, input_offset, output_offset,
// multipliers, shifts, activation_min, activation_max, scratch): I is per group, and groups = C / I.
//   y[o] = clamp(requantize(sum over taps and i of (x + input_offset) w[o, tap, i] + bias[o]) + output_offset)
// A tap in the padding adds nothing. The scratch tensor is for the im2col of other instruction sets; this kernel
// needs none, but refuses one that is too small for all of them. Source: arm_convolve_wrapper_s8.
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {
namespace {

/// What arm_convolve_wrapper_s8 needs at least, whatever the instruction set.
int64_t least_scratch_bytes(const Window& window, const Image& from, int64_t inputs) {
  const int64_t taps = static_cast<int64_t>(window.kernel[0]) * window.kernel[1];
  const bool dilated = window.dilation[0] != 1 || window.dilation[1] != 1;
  const bool padded = window.padding[0] != 0 || window.padding[1] != 0;
  if (taps == 1 && !padded && !dilated && inputs == from.c) return 0;
  const int64_t column = taps * inputs;  // below 2^31: the weights have as many
  return from.h == 1 && window.kernel[0] == 1 ? column : 4 * ((column + 3) / 4 * 4);
}

struct Convolution {
  Window window;
  Image from, to;
  int64_t inputs, outputs;  // channels of a group
  const int8_t *x, *weights;

  /// Sum over the taps of output channel `channel` at one position.
  int32_t sum(const ChannelQuantization& quantization, int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    const int64_t first = channel / outputs * inputs;
    const int8_t* w = weights + channel * window.kernel[0] * window.kernel[1] * inputs;
    int32_t total = quantization.initial(channel);
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx, w += inputs) {
        const int64_t ix = x_at * window.stride[1] - window.padding[1] + kx * window.dilation[1];
        if (iy < 0 || iy >= from.h || ix < 0 || ix >= from.w) continue;
        const int8_t* pixel = x + ((n * from.h + iy) * from.w + ix) * from.c + first;
        for (int64_t i = 0; i < inputs; ++i) total = wrapping_add(total, (pixel[i] + quantization.input_offset) * w[i]);
      }
    }
    return total;
  }
};

bool read_convolution(KernelContext& context, Span<EValue*> args, Convolution* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor, &scratch = *args[12]->tensor;
  if (!read_images(context, input, weights, *args[13]->tensor, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[5], &c->window))
    return false;
  c->inputs = weights.sizes[3];
  const int64_t groups = c->from.c / c->inputs;
  if (!require(context,
               groups > 0 && groups * c->inputs == c->from.c && weights.sizes[0] == c->to.c && c->to.c % groups == 0,
               "wanted weights [O, kH, kW, I]: O the output's channels, I a divisor of the input's, as many groups a "
               "divisor of O") ||
      !check_positions(context, c->window, c->from, c->to) ||
      !require(context, static_cast<int64_t>(scratch.nbytes()) >= least_scratch_bytes(c->window, c->from, c->inputs),
               "the scratch tensor is smaller than any instruction set needs"))
    return false;
  c->outputs = c->to.c / groups;
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  return true;
}

}  // namespace

void quantized_conv2d(KernelContext& context, Span<EValue*> args) {
  Convolution c;
  ChannelQuantization quantization;
  if (!read_convolution(context, args, &c) ||
      !read_channels(context, *args[2], args.subspan(6, 6), c.to.c, &quantization))
    return;
  write_sums(c, quantization, args[13]->tensor->as<int8_t>());
}

}  // namespace wick::cortex_m
