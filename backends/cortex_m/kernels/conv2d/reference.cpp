// quantized_conv2d(input, weight [O, kH, kW, I], bias?, stride, padding, dilation, input_offset, output_offset,
// multipliers, shifts, activation_min, activation_max, scratch): I is per group, and groups = C / I.
//   y[o] = clamp(requantize(sum over taps and i of (x + input_offset) w[o, tap, i] + bias[o]) + output_offset)
// A tap in the padding adds nothing. The scratch tensor is for the im2col of other instruction sets; this kernel does
// not use it, but refuses one that would be too small on any of them. Source: arm_convolve_wrapper_s8.
// wick_cortex_m::conv2d: the same with padding {top, left, bottom, right}.
// quantized_conv2d_nhwc: the same on contiguous images whose sizes are NHWC.
#include "backends/cortex_m/kernels/conv2d/conv2d.h"

namespace wick::cortex_m::reference {
namespace {

struct Convolution : Conv2d {
  /// Sum over the taps of output channel `channel` at one position.
  int32_t sum(int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    const int64_t first = quotient_of_counts(channel, outputs) * inputs;
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

void convolve_images(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  Convolution c;
  if (read_conv2d(context, args, sizes, &c)) write_sums(c);
}

}  // namespace

void quantized_conv2d(KernelContext& context, Span<EValue*> args) { convolve_images(context, args, ImageSizes::nchw); }

void quantized_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  convolve_images(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::reference
