// conv2d_int4(input, weight, bias?, kernel_sum?, kernel_size, groups, stride, padding, dilation, input_offset,
// output_offset, multipliers, shifts, activation_min, activation_max, scratch): as quantized_conv2d, with weights in
// [-8, 7] that are packed, uint8 [O, 4 ceil(K / 8)] for the K = kH kW C / groups weights [kH, kW, I] of an output.
//   y[o] = clamp(requantize(sum over taps and i of (x + input_offset) w[o, tap, i] + bias[o]) + output_offset)
// A program for MVE has kernel_sum instead of the bias: bias[o] + input_offset * sum of w[o]. Then x is used without
// the offset, and taps in the padding count as -input_offset, which gives the same number. The padding has one entry
// for both ends of each dimension, or is {top, left, bottom, right}.
#include "backends/cortex_m/kernels/conv2d_int4/conv2d_int4.h"

namespace wick::cortex_m::reference {
namespace {

struct Convolution : Conv2dInt4 {
  int32_t sum(int64_t n, int64_t y, int64_t x_at, int64_t channel) const {
    const int64_t first = quotient_of_counts(channel, outputs) * inputs;
    const int8_t* row = weights + channel * row_bytes;
    const int32_t offset = is_summed ? 0 : quantization.input_offset, padding = -quantization.input_offset;
    int32_t total = quantization.initial(channel);
    int64_t k = 0;
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t iy = y * window.stride[0] - window.padding[0] + ky * window.dilation[0];
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx) {
        const int64_t ix = x_at * window.stride[1] - window.padding[1] + kx * window.dilation[1];
        const bool inside = iy >= 0 && iy < from.h && ix >= 0 && ix < from.w;
        const int8_t* pixel = inside ? x + ((n * from.h + iy) * from.w + ix) * from.c + first : nullptr;
        for (int64_t i = 0; i < inputs; ++i, ++k)
          total = wrapping_add(total, ((inside ? pixel[i] : padding) + offset) * int4_weight(row, k));
      }
    }
    return total;
  }
};

}  // namespace

void conv2d_int4(KernelContext& context, Span<EValue*> args) {
  Convolution c;
  if (read_conv2d_int4(context, args, &c)) write_sums(c);
}

}  // namespace wick::cortex_m::reference
