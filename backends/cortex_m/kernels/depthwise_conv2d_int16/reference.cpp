// wick_cortex_m::depthwise_conv2d_int16(input, weight [1, kH, kW, O], bias?, stride, padding, dilation,
// depth_multiplier, multipliers, shifts, activation_min, activation_max): int16 images, int8 weights, O = C
// depth_multiplier; multipliers and shifts for each output or one of each.
//   y[o] = clamp(requantize(sum over taps of x[o / depth_multiplier] w[tap, o] + bias[o]))
// A tap in the padding adds nothing. Sums and biases as in conv2d_int16. Source: arm_depthwise_conv_s16.
#include "backends/cortex_m/kernels/depthwise_conv2d_int16/depthwise_conv2d_int16.h"

namespace wick::cortex_m::reference {
namespace {

int64_t products(const DepthwiseConv2dInt16& c, const int16_t* image, int64_t y, int64_t x, int64_t channel) {
  const int64_t top = y * c.window.stride[0] - c.window.padding[0], left = x * c.window.stride[1] - c.window.padding[1];
  const TapRange rows = taps_inside(top, c.from.h, c.window.kernel[0], c.window.dilation[0]);
  const TapRange taps = taps_inside(left, c.from.w, c.window.kernel[1], c.window.dilation[1]);
  int64_t total = 0;
  for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
    for (int64_t kx = taps.begin; kx < taps.end; ++kx) {
      const int64_t pixel = (top + ky * c.window.dilation[0]) * c.from.w + left + kx * c.window.dilation[1];
      total += image[pixel * c.from.c + quotient_of_counts(channel, c.depth_multiplier)] *
               c.weights[(ky * c.window.kernel[1] + kx) * c.to.c + channel];
    }
  }
  return total;
}

}  // namespace

void depthwise_conv2d_int16(KernelContext& context, Span<EValue*> args) {
  DepthwiseConv2dInt16 c;
  if (!read_depthwise_conv2d_int16(context, args, &c)) return;
  int16_t* out = c.out;
  for (int64_t n = 0; n < c.to.n; ++n) {
    const int16_t* image = c.x + n * c.from.h * c.from.w * c.from.c;
    for (int64_t y = 0; y < c.to.h; ++y) {
      for (int64_t x = 0; x < c.to.w; ++x) {
        for (int64_t o = 0; o < c.to.c; ++o) *out++ = c.channels.finish_products(products(c, image, y, x, o), o);
      }
    }
  }
}

}  // namespace wick::cortex_m::reference
