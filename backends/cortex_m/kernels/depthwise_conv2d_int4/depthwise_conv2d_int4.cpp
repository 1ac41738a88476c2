#include "backends/cortex_m/kernels/depthwise_conv2d_int4/depthwise_conv2d_int4.h"

namespace wick::cortex_m {

bool read_depthwise_conv2d_int4(KernelContext& context, Span<EValue*> args, DepthwiseConv2dInt4* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor, &out = *args[14]->tensor;
  if (!require_int8(context, input, out) || !read_image(context, input, &c->from) ||
      !read_image(context, out, &c->to) ||
      !require(context, c->from.n == c->to.n, "input and output differ in batch") ||
      !require_dtype(context, weights, DType::u8, "the packed weights are not uint8") ||
      !require(context, weights.rank == 4 && is_contiguous(weights) && weights.numel > 0,
               "the packed weights are not contiguous with 4 dimensions, or empty") ||
      !read_window(context, weights, *args[3], *args[4], *args[5], Paddings::two_or_four, &c->window) ||
      !read_int(context, *args[6], 1, INT32_MAX, &c->depth_multiplier, "depth_multiplier is not positive") ||
      !require(context,
               weights.sizes[0] == 1 && c->from.c * c->depth_multiplier == c->to.c &&
                   int4_row_bytes(c->to.c) == weights.sizes[3],
               "wanted weights [1, kH, kW, 4 ceil(O / 8)]: O the output's channels, depth_multiplier times the "
               "input's") ||
      !check_positions(context, c->window, c->from, c->to) || !read_scratch(context, args, 13, 0, &c->scratch))
    return false;
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  c->row_bytes = weights.sizes[3];
  c->out = out.as<int8_t>();
  return read_channels(context, *args[2], args.subspan(7, 6), c->to.c, out, &c->quantization);
}

}  // namespace wick::cortex_m
