#include "backends/cortex_m/kernels/conv2d_int4/conv2d_int4.h"

namespace wick::cortex_m {
namespace {

/// Reads the packed weights: a row for each output, tap by tap, with the inputs of a tap next to one another.
bool read_filter(KernelContext& context, const Tensor& weights, const EValue& kernel_size, const EValue& groups,
                 Conv2dInt4* c) {
  int32_t count = 0;
  if (!require_dtype(context, weights, DType::u8, "the packed weights are not uint8") ||
      !require(context, weights.rank == 2 && is_contiguous(weights) && weights.numel > 0,
               "the packed weights are not contiguous with 2 dimensions, or empty") ||
      !read_pair(context, kernel_size, 1, false, c->window.kernel, "kernel_size is not two numbers of at least 1") ||
      !read_int(context, groups, 1, INT32_MAX, &count, "groups is not a number of at least 1") ||
      !require(context, c->from.c > 0 && c->from.c % count == 0 && c->to.c % count == 0 && weights.sizes[0] == c->to.c,
               "groups do not divide the channels, or there is not a row of weights for each output"))
    return false;
  c->inputs = c->from.c / count;
  c->outputs = c->to.c / count;
  const int64_t taps = int64_t{c->window.kernel[0]} * c->window.kernel[1];
  const int64_t terms = taps <= INT32_MAX ? taps * c->inputs : INT64_MAX;
  if (!require(context, terms <= INT32_MAX && int4_row_bytes(terms) == weights.sizes[1],
               "wanted 4 ceil(K / 8) bytes for the K weights of an output"))
    return false;
  c->terms = static_cast<int32_t>(terms);
  c->row_bytes = weights.sizes[1];
  c->weights = weights.as<const int8_t>();
  return true;
}

}  // namespace

bool read_conv2d_int4(KernelContext& context, Span<EValue*> args, Conv2dInt4* c) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[16]->tensor;
  c->is_summed = !args[3]->is_none();
  settle_batch(input, out);
  if (!require_int8(context, input, out) || !read_image(context, input, &c->from) ||
      !read_image(context, out, &c->to) ||
      !require(context, c->from.n == c->to.n, "input and output differ in batch") ||
      !read_filter(context, *args[1]->tensor, *args[4], *args[5], c) ||
      !read_steps(context, *args[6], *args[7], *args[8], Paddings::two_or_four, &c->window) ||
      !check_positions(context, c->window, c->from, c->to) ||
      !require(context, !c->is_summed || args[2]->is_none(), "wanted bias or kernel_sum, not both") ||
      !read_scratch(context, args, 15, 0, &c->scratch))
    return false;
  c->x = input.as<const int8_t>();
  c->out = out.as<int8_t>();
  return read_channels(context, c->is_summed ? *args[3] : *args[2], args.subspan(9, 6), c->to.c, out, &c->quantization);
}

}  // namespace wick::cortex_m
