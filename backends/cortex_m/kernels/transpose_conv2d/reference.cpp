// quantized_transpose_conv2d(input, weight [O, kH, kW, C], bias?, stride, padding, output_padding, dilation,
// input_offset, output_offset, multipliers, shifts, activation_min, activation_max, scratch, output_scratch).
// Input pixel (iy, ix) adds (x + input_offset) w[o, ky, kx] to output pixel (iy stride - padding + ky, ..). This kernel
// gathers the contributions to each output pixel, so it needs neither scratch tensor. It refuses those that are too
// small for CMSIS-NN on any instruction set, and what CMSIS-NN does not compute: dilation and output padding. Source:
// arm_transpose_conv_wrapper_s8.
// quantized_transpose_conv2d_nhwc: the same on contiguous images whose sizes are NHWC.
#include "backends/cortex_m/kernels/transpose_conv2d/transpose_conv2d.h"

namespace wick::cortex_m::reference {
namespace {

struct TransposedConvolution : TransposeConv2d {
  /// The input position from which tap k contributes to an output position, or -1.
  static int64_t source(int64_t at, int64_t k, int64_t stride, int64_t padding, int64_t size) {
    const int64_t reach = at + padding - k;
    return reach < 0 || reach % stride != 0 || reach / stride >= size ? -1 : reach / stride;
  }
  int32_t sum(int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
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

void transpose_convolve_images(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  TransposedConvolution c;
  if (read_transpose_conv2d(context, args, sizes, &c)) write_sums(c);
}

}  // namespace

void quantized_transpose_conv2d(KernelContext& context, Span<EValue*> args) {
  transpose_convolve_images(context, args, ImageSizes::nchw);
}

void quantized_transpose_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  transpose_convolve_images(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::reference
