// resize2d(input, rows, columns, input_zero_point, multiplier, shift, output_zero_point, activation_min,
// activation_max): int8 images, channels last. rows holds {first, weight} for each output row, columns for each column:
//   y[i][j] = clamp(requantize(sum of w (x - input_zero_point) over 4 pixels) + output_zero_point)
// for the pixels in rows first, first + 1 and columns first, first + 1. A weight w is the product of those of its row
// and its column, each {2^11 - weight, weight}. If a weight is 0, the second pixel is not read. Sums are exact; weights
// are off by half a unit of 2^-11.
#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m::reference {

void resize2d(KernelContext& context, Span<EValue*> args) {
  Resize r;
  if (!read_resize2d(context, args, &r)) return;
  const int32_t initial = r.offset * (1 << 2 * kTapBits);
  for_each_pixel(r, [&](const Corners& corners, int8_t* y) {
    for (int64_t c = 0; c < r.to.c; ++c) {
      int32_t sum = initial;
      for (int32_t k = 0; k < 4; ++k) sum += corners.weights[k] * corners.pixels[k][c];
      y[c] = r.stage(sum);
    }
  });
}

}  // namespace wick::cortex_m::reference
