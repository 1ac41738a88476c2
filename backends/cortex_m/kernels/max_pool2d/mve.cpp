// quantized_max_pool2d, 16 channels at a time. The equation: reference.cpp.
#include "backends/cortex_m/kernels/max_pool2d/max_pool2d.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {
namespace {

int8x16_t largest(const int8_t* x, int32_t row_bytes, int32_t channels, int32_t rows, int32_t columns,
                  mve_pred16_t live) {
  int8x16_t max = vdupq_n_s8(INT8_MIN);
  for (; rows > 0; --rows, x += row_bytes) {
    const int8_t* pixel = x;
    for (int32_t left = columns; left > 0; --left, pixel += channels) max = vmaxq_s8(max, vldrbq_z_s8(pixel, live));
  }
  return max;
}

void maximize_windows(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  MaxPool2d pool;
  if (!read_max_pool2d(context, args, sizes, &pool)) return;
  const int32_t channels = static_cast<int32_t>(pool.from.c), row_bytes = static_cast<int32_t>(pool.from.w) * channels;
  const int8x16_t min = vdupq_n_s8(static_cast<int8_t>(pool.bounds.min)),
                  max = vdupq_n_s8(static_cast<int8_t>(pool.bounds.max));
  int8_t* out = pool.y;
  for_each_window(pool.window, pool.from, pool.to, [&](int64_t image, const Extent& rows, const Extent& columns) {
    const int8_t* x =
        pool.x + image + static_cast<int32_t>(rows.begin) * row_bytes + static_cast<int32_t>(columns.begin) * channels;
    const int32_t height = static_cast<int32_t>(rows.end - rows.begin);
    const int32_t width = static_cast<int32_t>(columns.end - columns.begin);
    for (int32_t left = channels; left > 0; left -= 16, x += 16) {
      const mve_pred16_t live = vctp8q(static_cast<uint32_t>(left));
      const int8x16_t value = largest(x, row_bytes, channels, height, width, live);
      vstrbq_p_s8(out, vminq_s8(vmaxq_s8(value, min), max), live);
      out += left < 16 ? left : 16;
    }
  });
}

}  // namespace

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  maximize_windows(context, args, ImageSizes::nchw);
}

void quantized_max_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  maximize_windows(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::mve
