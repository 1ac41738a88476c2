// quantized_transpose_conv2d(input, weight [O, kH, kW, C], bias?, stride, padding, output_padding, dilation,
// input_offset, output_offset, multipliers, shifts, activation_min, activation_max, scratch, output_scratch).
// Input pixel (iy, ix) adds (x + input_offset) w[o, ky, kx] to output pixel (iy stride - padding + ky, ..): this kernel
// collects what arrives at each output pixel, so it needs neither scratch tensor. It refuses those that are too small
// for CMSIS-NN on any instruction set, and what CMSIS-NN does not compute: dilation and output padding. Source:
// arm_transpose_conv_wrapper_s8.
#include "backends/cortex_m/kernels/convolution.h"
#include "common/checked.h"

namespace wick::cortex_m {
namespace {

struct TransposedConvolution {
  Window window;
  Image from, to;
  const int8_t *x, *weights;

  /// The input position from which tap k reaches an output position, or -1.
  static int64_t source(int64_t at, int64_t k, int64_t stride, int64_t padding, int64_t size) {
    const int64_t reach = at + padding - k;
    return reach < 0 || reach % stride != 0 || reach / stride >= size ? -1 : reach / stride;
  }
  int32_t sum(const ChannelQuantization& quantization, int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    const int8_t* w = weights + channel * window.kernel[0] * window.kernel[1] * from.c;
    int32_t total = quantization.initial(channel);
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t iy = source(y, ky, window.stride[0], window.padding[0], from.h);
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx, w += from.c) {
        const int64_t ix = source(x_at, kx, window.stride[1], window.padding[1], from.w);
        if (iy < 0 || ix < 0) continue;
        const int8_t* pixel = x + ((n * from.h + iy) * from.w + ix) * from.c;
        for (int64_t i = 0; i < from.c; ++i) total = wrapping_add(total, (pixel[i] + quantization.input_offset) * w[i]);
      }
    }
    return total;
  }
};

/// (input - 1) stride - 2 padding + kernel
int64_t output_size(const Window& window, int64_t input, size_t axis) {
  return (input - 1) * window.stride[axis] - 2 * int64_t{window.padding[axis]} + window.kernel[axis];
}

/// CMSIS-NN turns the filter around and convolves if strides are at most 2 and there are more than 16 channels, and
/// otherwise keeps int32 rows of output that are not complete yet.
bool check_scratch(KernelContext& context, const TransposedConvolution& c, const Tensor& rows, const Tensor& filter) {
  const int32_t *kernel = c.window.kernel, *stride = c.window.stride;
  const int64_t column = int64_t{kernel[0]} * kernel[1] * c.from.c;  // at most as many as there are weights
  const bool turned = stride[0] <= 2 && stride[1] <= 2 && c.from.c > 16;
  int64_t rows_bytes = 4 * ((column + 3) / 4 * 4), filter_bytes = turned ? column * c.to.c : 0;
  if (!turned) {
    const int64_t width = (c.from.w - 1) * stride[1] + (kernel[1] > stride[0] ? kernel[1] : stride[0]);
    const int64_t height = kernel[0] > stride[0] ? kernel[0] : stride[0];
    if (!checked_mul(width, height, &rows_bytes) || !checked_mul(rows_bytes, 4 * c.to.c, &rows_bytes))
      return require(context, false, "the size of the scratch tensor overflows");
  }
  return require(
      context,
      static_cast<int64_t>(rows.nbytes()) >= rows_bytes && static_cast<int64_t>(filter.nbytes()) >= filter_bytes,
      "a scratch tensor is smaller than any instruction set needs");
}

bool read_convolution(KernelContext& context, Span<EValue*> args, TransposedConvolution* c) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  int32_t output_padding[2];
  if (!read_images(context, input, weights, *args[15]->tensor, &c->from, &c->to) ||
      !read_window(context, weights, *args[3], *args[4], *args[6], &c->window) ||
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
      !check_scratch(context, *c, *args[13]->tensor, *args[14]->tensor))
    return false;
  c->x = input.as<const int8_t>();
  c->weights = weights.as<const int8_t>();
  return true;
}

}  // namespace

void quantized_transpose_conv2d(KernelContext& context, Span<EValue*> args) {
  TransposedConvolution c;
  ChannelQuantization quantization;
  if (!read_convolution(context, args, &c) ||
      !read_channels(context, *args[2], args.subspan(7, 6), c.to.c, &quantization))
    return;
  write_sums(c, quantization, args[15]->tensor->as<int8_t>());
}

}  // namespace wick::cortex_m
