#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace wick::cortex_m {

bool read_depthwise_conv2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, DepthwiseConv2d* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  if (!read_images(context, input, weights, *args[14]->tensor, sizes, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[5], Paddings::two_or_four, &c->window) ||
      !read_int(context, *args[6], 1, INT32_MAX, &c->depth_multiplier, "depth_multiplier is not positive") ||
      !require(context,
               weights.sizes[0] == 1 && weights.sizes[3] == c->to.c && c->from.c * c->depth_multiplier == c->to.c,
               "wanted weights [1, kH, kW, O]: O the output's channels, depth_multiplier times the input's") ||
      !check_positions(context, c->window, c->from, c->to) || !read_scratch(context, args, 13, 0, &c->scratch))
    return false;
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  c->out = args[14]->tensor->as<int8_t>();
  return read_channels(context, *args[2], args.subspan(7, 6), c->to.c, *args[14]->tensor, &c->quantization);
}

}  // namespace wick::cortex_m
