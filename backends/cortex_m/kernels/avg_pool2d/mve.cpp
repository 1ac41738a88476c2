// quantized_avg_pool2d, eight channels at a time. Division by the window's size is multiplication by its reciprocal.
// The equation: reference.cpp.
#include "backends/cortex_m/kernels/avg_pool2d/avg_pool2d.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

/// With at most so many taps, a sum of elements plus half the number of taps fits 16 bits.
constexpr int32_t kMostTaps = 255;

struct Taps {
  const int8_t* x;
  int32_t row_bytes, channels, rows, columns;
};

/// round_half_away(sum / count): floor((|sum| + count / 2) / count) with the sign of the sum. The dividend is below
/// 2^15 and count at most 255. The reciprocal is 2^32 / count, rounded up: its error, less than 1, times the dividend
/// is less than 2^32 / count, so the quotient is exact.
int16x8_t average(int16x8_t sum, int32_t half, int32_t reciprocal) {
  const uint16x8_t size = vreinterpretq_u16_s16(vaddq_n_s16(vabsq_s16(sum), static_cast<int16_t>(half)));
  const uint32x4_t factor = vdupq_n_u32(static_cast<uint32_t>(reciprocal));
  const uint32x4_t even = vmulhq_u32(vmovlbq_u16(size), factor), odd = vmulhq_u32(vmovltq_u16(size), factor);
  const uint16x8_t quotient = vmovntq_u32(vmovnbq_u32(vdupq_n_u16(0), even), odd);
  const int16x8_t result = vreinterpretq_s16_u16(quotient);
  return vnegq_m_s16(result, result, vcmpltq_n_s16(sum, 0));
}

void average_channels(const Taps& taps, int8_t* out) {
  const int32_t count = taps.rows * taps.columns;
  // 2^32 / count, rounded up. For 1 it would not fit, but then no division is needed.
  const int32_t reciprocal = static_cast<int32_t>(UINT32_MAX / static_cast<uint32_t>(count) + 1);
  const int8_t* x = taps.x;
  for (int32_t left = taps.channels; left > 0; left -= 8, x += 8, out += 8) {
    const mve_pred16_t live = vctp16q(static_cast<uint32_t>(left));
    int16x8_t sum = vdupq_n_s16(0);
    const int8_t* row = x;
    for (int32_t y = taps.rows; y > 0; --y, row += taps.row_bytes) {
      const int8_t* pixel = row;
      for (int32_t i = taps.columns; i > 0; --i, pixel += taps.channels)
        sum = vaddq_s16(sum, vldrbq_z_s16(pixel, live));
    }
    const int16x8_t result = count == 1 ? sum : average(sum, count / 2, reciprocal);
    vstrbq_p_s16(out, result, live);
  }
}

void average_windows(KernelContext& context, Span<EValue*> args, ImageSizes sizes, KernelFn reference) {
  AvgPool2d pool;
  if (!read_avg_pool2d(context, args, sizes, &pool)) return;
  if (int64_t{pool.window.kernel[0]} * pool.window.kernel[1] > kMostTaps) return reference(context, args);
  Taps taps = {};
  taps.channels = static_cast<int32_t>(pool.from.c);
  taps.row_bytes = static_cast<int32_t>(pool.from.w) * taps.channels;
  int8_t* out = pool.y;
  for_each_window(pool.window, pool.from, pool.to, [&](int64_t image, const Extent& rows, const Extent& columns) {
    taps.x = pool.x + image + static_cast<int32_t>(rows.begin) * taps.row_bytes +
             static_cast<int32_t>(columns.begin) * taps.channels;
    taps.rows = static_cast<int32_t>(rows.end - rows.begin);
    taps.columns = static_cast<int32_t>(columns.end - columns.begin);
    average_channels(taps, out);
    out += taps.channels;
  });
}

}  // namespace

void quantized_avg_pool2d(KernelContext& context, Span<EValue*> args) {
  average_windows(context, args, ImageSizes::nchw, reference::quantized_avg_pool2d);
}

void quantized_avg_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  average_windows(context, args, ImageSizes::nhwc, reference::quantized_avg_pool2d_nhwc);
}

}  // namespace wick::cortex_m::mve
