// wick_cortex_m::conv2d_int16(input, weight [O, kH, kW, I], bias?, stride, padding, dilation, multipliers, shifts,
// activation_min, activation_max, scratch): int16 images, int8 weights, C = groups I, multipliers and shifts for each
// output or one of each.
//   y[o] = clamp(requantize(sum over taps and the channels of o's group of x w + bias[o]))
// A tap in the padding adds nothing. With an int32 bias or none, sums wrap at 32 bits. With an int64 bias they have 64
// bits, and the multiplier is rounded to 16 bits (requantize_wide). Scratch may have any size. Source:
// arm_convolve_s16.
#include "backends/cortex_m/kernels/conv2d_int16/conv2d_int16.h"

namespace wick::cortex_m::reference {
namespace {

int64_t products(const Conv2dInt16& c, int64_t n, int64_t y, int64_t x_at, int64_t channel) {
  const int64_t first = quotient_of_counts(channel, c.outputs) * c.inputs;
  const int8_t* w = c.weights + channel * c.window.kernel[0] * c.window.kernel[1] * c.inputs;
  int64_t total = 0;
  for (int64_t ky = 0; ky < c.window.kernel[0]; ++ky) {
    const int64_t iy = y * c.window.stride[0] - c.window.padding[0] + ky * c.window.dilation[0];
    for (int64_t kx = 0; kx < c.window.kernel[1]; ++kx, w += c.inputs) {
      const int64_t ix = x_at * c.window.stride[1] - c.window.padding[1] + kx * c.window.dilation[1];
      if (iy < 0 || iy >= c.from.h || ix < 0 || ix >= c.from.w) continue;
      const int16_t* pixel = c.x + ((n * c.from.h + iy) * c.from.w + ix) * c.from.c + first;
      for (int64_t i = 0; i < c.inputs; ++i) total += pixel[i] * w[i];
    }
  }
  return total;
}

}  // namespace

void conv2d_int16(KernelContext& context, Span<EValue*> args) {
  Conv2dInt16 c;
  if (!read_conv2d_int16(context, args, &c)) return;
  int16_t* out = c.out;
  for (int64_t n = 0; n < c.to.n; ++n) {
    for (int64_t y = 0; y < c.to.h; ++y) {
      for (int64_t x = 0; x < c.to.w; ++x) {
        for (int64_t o = 0; o < c.to.c; ++o) *out++ = c.channels.finish_products(products(c, n, y, x, o), o);
      }
    }
  }
}

}  // namespace wick::cortex_m::reference
