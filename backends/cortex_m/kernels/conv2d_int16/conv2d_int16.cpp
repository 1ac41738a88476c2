#include "backends/cortex_m/kernels/conv2d_int16/conv2d_int16.h"

namespace wick::cortex_m {

bool read_int16_images(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out, Image* from,
                       Image* to) {
  return require_int16(context, input, out) &&
         read_images_of_any_dtype(context, input, weights, out, ImageSizes::nchw, from, to);
}

bool read_conv2d_int16(KernelContext& context, Span<EValue*> args, Conv2dInt16* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  if (!read_int16_images(context, input, weights, *args[11]->tensor, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[5], Paddings::two, &c->window))
    return false;
  c->inputs = weights.sizes[3];
  int64_t groups = 0;
  if (!read_groups(context, weights, c->from, c->to, &groups) || !check_positions(context, c->window, c->from, c->to) ||
      !read_scratch(context, args, 10, 0, &c->scratch))
    return false;
  c->outputs = quotient_of_counts(c->to.c, groups);
  c->x = input.as<const int16_t>();
  c->weights = weights.as<const int8_t>();
  c->out = args[11]->tensor->as<int16_t>();
  return read_int16_channels(context, *args[2], *args[6]->tensor, *args[7]->tensor, *args[8], *args[9], c->to.c,
                             *args[11]->tensor, &c->channels);
}

}  // namespace wick::cortex_m
