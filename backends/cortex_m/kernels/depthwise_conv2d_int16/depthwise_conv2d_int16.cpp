#include "backends/cortex_m/kernels/depthwise_conv2d_int16/depthwise_conv2d_int16.h"

namespace wick::cortex_m {

bool read_depthwise_conv2d_int16(KernelContext& context, Span<EValue*> args, DepthwiseConv2dInt16* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  if (!read_int16_images(context, input, weights, *args[11]->tensor, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[5], Paddings::two, &c->window) ||
      !read_int(context, *args[6], 1, INT32_MAX, &c->depth_multiplier, "depth_multiplier is not positive") ||
      !require(context,
               weights.sizes[0] == 1 && weights.sizes[3] == c->to.c && c->from.c * c->depth_multiplier == c->to.c,
               "wanted weights [1, kH, kW, O]: O the output's channels, depth_multiplier times the input's") ||
      !check_positions(context, c->window, c->from, c->to))
    return false;
  c->x = input.as<const int16_t>();
  c->weights = weights.as<const int8_t>();
  c->out = args[11]->tensor->as<int16_t>();
  return read_int16_channels(context, *args[2], *args[7]->tensor, *args[8]->tensor, *args[9], *args[10], c->to.c,
                             *args[11]->tensor, &c->channels);
}

}  // namespace wick::cortex_m
