// resize2d_int16(input, rows, columns, multiplier, shift, activation_min, activation_max): int16 images, channels last.
// rows and columns hold taps as those of resize2d, whose weights have 20 bits:
//   y[i][j] = clamp(requantize(round(2^-24 sum of w x over 4 pixels)))
// Sums are exact in 64 bits. Weights are off by half a unit of 2^-20, the sum by half a unit of 2^-16 of a step.
#include "backends/cortex_m/kernels/resize2d_int16/resize2d_int16.h"

namespace wick::cortex_m::reference {
namespace {

/// 2^20 times the interpolation between two neighbors.
int64_t between(int32_t first, int32_t second, int32_t weight) {
  return int64_t{first} * (1 << kWideTapBits) + int64_t{second - first} * weight;
}

int16_t element(const ResizeInt16& r, int64_t sum) {
  const auto rounded = static_cast<int32_t>((sum + (1 << (kWideSumShift - 1))) >> kWideSumShift);
  return clamp_int16(requantize(rounded, r.stage.multiplier, r.stage.shift), r.stage.min, r.stage.max);
}

}  // namespace

void resize2d_int16(KernelContext& context, Span<EValue*> args) {
  ResizeInt16 r;
  if (!read_resize2d_int16(context, args, &r)) return;
  for_each_neighbourhood(r, [&](const Neighbourhood& pixels, int16_t* y) {
    const auto below = static_cast<uint32_t>(pixels.below);
    for (int64_t c = 0; c < r.to.c; ++c) {
      const int64_t top = between(pixels.at[0][c], pixels.at[1][c], pixels.right);
      const int64_t bottom = between(pixels.at[2][c], pixels.at[3][c], pixels.right);
      y[c] = element(r, top * (1 << kWideTapBits) + (bottom - top) * int64_t{below});
    }
  });
}

}  // namespace wick::cortex_m::reference
