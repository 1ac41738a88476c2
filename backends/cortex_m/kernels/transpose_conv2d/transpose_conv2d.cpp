#include "backends/cortex_m/kernels/transpose_conv2d/transpose_conv2d.h"

#include "common/checked.h"

namespace wick::cortex_m {
namespace {

/// (input - 1) stride - 2 padding + kernel
int64_t output_size(const Window& window, int64_t input, size_t axis) {
  return (input - 1) * window.stride[axis] - 2 * int64_t{window.padding[axis]} + window.kernel[axis];
}

/// CMSIS-NN reverses the filter and convolves if strides are at most 2 and there are more than 16 channels. Otherwise
/// it keeps int32 rows of incomplete outputs.
bool read_both_scratch(KernelContext& context, Span<EValue*> args, TransposeConv2d* c) {
  const int32_t *kernel = c->window.kernel, *stride = c->window.stride;
  const int64_t column = int64_t{kernel[0]} * kernel[1] * c->from.c;  // at most as many as there are weights
  const bool turned = stride[0] <= 2 && stride[1] <= 2 && c->from.c > 16;
  int64_t rows_bytes = 4 * ((column + 3) / 4 * 4), filter_bytes = turned ? column * c->to.c : 0;
  if (!turned) {
    const int64_t width = (c->from.w - 1) * stride[1] + (kernel[1] > stride[0] ? kernel[1] : stride[0]);
    const int64_t height = kernel[0] > stride[0] ? kernel[0] : stride[0];
    if (!checked_mul(width, height, &rows_bytes) || !checked_mul(rows_bytes, 4 * c->to.c, &rows_bytes))
      return require(context, false, "the size of the scratch tensor overflows");
  }
  return read_scratch(context, args, 13, rows_bytes, &c->row_scratch) &&
         read_scratch(context, args, 14, filter_bytes, &c->filter_scratch);
}

}  // namespace

bool read_transpose_conv2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, TransposeConv2d* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  int32_t output_padding[2];
  if (!read_images(context, input, weights, *args[15]->tensor, sizes, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[6], Paddings::two, &c->window) ||
      !read_pair(context, *args[5], 0, false, output_padding, "output_padding is not two numbers of at least 0") ||
      !require(
          context,
          output_padding[0] == 0 && output_padding[1] == 0 && c->window.dilation[0] == 1 && c->window.dilation[1] == 1,
          "CMSIS-NN has no transposed convolution with dilation or output padding") ||
      !require(context, weights.sizes[0] == c->to.c && weights.sizes[3] == c->from.c,
               "wanted weights [O, kH, kW, C]: O the output's channels, C the input's") ||
      !require(context,
               c->from.h > 0 && c->from.w > 0 && output_size(c->window, c->from.h, 0) == c->to.h &&
                   output_size(c->window, c->from.w, 1) == c->to.w,
               "the output's height and width are not those that the input reaches") ||
      !read_both_scratch(context, args, c))
    return false;
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  c->out = args[15]->tensor->as<int8_t>();
  return read_channels(context, *args[2], args.subspan(7, 6), c->to.c, *args[15]->tensor, &c->quantization);
}

}  // namespace wick::cortex_m
