#include "backends/cortex_m/kernels/conv2d/conv2d.h"

namespace wick::cortex_m {
namespace {

/// The least scratch that arm_convolve_wrapper_s8 needs on any instruction set.
int64_t least_scratch_bytes(const Window& window, const Image& from, int64_t inputs) {
  const int64_t taps = static_cast<int64_t>(window.kernel[0]) * window.kernel[1];
  const bool dilated = window.dilation[0] != 1 || window.dilation[1] != 1;
  const bool padded =
      window.padding[0] != 0 || window.padding[1] != 0 || window.end_padding[0] != 0 || window.end_padding[1] != 0;
  if (taps == 1 && !padded && !dilated && inputs == from.c) return 0;
  const int64_t column = taps * inputs;  // below 2^31, like the number of weights
  return from.h == 1 && window.kernel[0] == 1 ? column : 4 * ((column + 3) & ~int64_t{3});
}

}  // namespace

bool read_conv2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, Conv2d* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  if (!read_images(context, input, weights, *args[13]->tensor, sizes, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[5], Paddings::two_or_four, &c->window))
    return false;
  c->inputs = weights.sizes[3];
  int64_t groups = 0;
  if (!read_groups(context, weights, c->from, c->to, &groups) || !check_positions(context, c->window, c->from, c->to) ||
      !read_scratch(context, args, 12, least_scratch_bytes(c->window, c->from, c->inputs), &c->scratch))
    return false;
  c->outputs = quotient_of_counts(c->to.c, groups);
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  c->out = args[13]->tensor->as<int8_t>();
  return read_channels(context, *args[2], args.subspan(6, 6), c->to.c, *args[13]->tensor, &c->quantization);
}

}  // namespace wick::cortex_m
