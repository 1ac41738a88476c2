// resize2d_int16(input, rows, columns, multiplier, shift, activation_min, activation_max): int16 images, channels last.
// rows and columns hold taps as those of resize2d, whose weights have 20 bits:
//   y[i][j] = clamp(requantize(round(2^-24 sum of w x over 4 pixels)))
// Sums are exact in 64 bits. Weights are off by half a unit of 2^-20, and the sum by half a unit of 2^-16 of a step.
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int32_t kWideTapBits = 20, kSumShift = 24;

/// What lies between two neighbours, with kWideTapBits more bits.
int64_t between(Tap tap, int64_t first, int64_t second) {
  return first * ((1 << kWideTapBits) - tap.weight) + second * tap.weight;
}

struct ResizeInt16 : ResizedImages {
  OutputStage stage;

  /// Of the four pixels around position (row, column), the first one at `x`.
  void write_pixel(const int16_t* x, Tap row, Tap column, int16_t* y) const {
    const int64_t below = row.weight == 0 ? 0 : from.w * from.c, right = column.weight == 0 ? 0 : from.c;
    for (int64_t c = 0; c < from.c; ++c, ++x) {
      const int64_t sum = between(row, between(column, x[0], x[right]), between(column, x[below], x[below + right]));
      const auto rounded = static_cast<int32_t>((sum + (1 << (kSumShift - 1))) >> kSumShift);
      y[c] = clamp_int16(requantize(rounded, stage.multiplier, stage.shift), stage.min, stage.max);
    }
  }
  void write_image(const int16_t* x, int16_t* y) const {
    for (int64_t i = 0; i < to.h; ++i) {
      for (int64_t j = 0; j < to.w; ++j, y += to.c)
        write_pixel(x + (rows[i].first * from.w + columns[j].first) * from.c, rows[i], columns[j], y);
    }
  }
};

}  // namespace

void resize2d_int16(KernelContext& context, Span<EValue*> args) {
  const Tensor &x = *args[0]->tensor, &y = *args[7]->tensor;
  ResizeInt16 resize;
  if (!require_int16(context, x, y) || !read_resized_images(context, args, y, kWideTapBits, &resize) ||
      !read_requantization(context, args[3]->integer, args[4]->integer, &resize.stage) ||
      !read_int16_range(context, *args[5], *args[6], &resize.stage.min, &resize.stage.max))
    return;
  const int64_t from = resize.from.h * resize.from.w * resize.from.c, to = resize.to.h * resize.to.w * resize.to.c;
  for (int64_t n = 0; n < resize.from.n; ++n)
    resize.write_image(x.as<const int16_t>() + n * from, y.as<int16_t>() + n * to);
}

}  // namespace wick::cortex_m::reference
