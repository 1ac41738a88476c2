// quantized_avg_pool2d(input, kernel_size, stride, padding, ceil_mode, zero_point, multiplier, shift, scratch):
//   y = round_half_away(sum of the taps on the input / their number)
// Padding never counts. Like stock's kernel, this one ignores zero_point, multiplier and shift, which only stock's
// reference in Python reads. Only DSP code needs the scratch tensor. Source: arm_avgpool_s8.
// quantized_avg_pool2d_nhwc: the same on contiguous images whose sizes are NHWC.
#include "backends/cortex_m/kernels/avg_pool2d/avg_pool2d.h"

namespace wick::cortex_m::reference {
namespace {

int8_t average(const int8_t* x, const Image& from, const Extent& rows, const Extent& columns) {
  int64_t sum = 0;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t i = columns.begin; i < columns.end; ++i) sum += x[(y * from.w + i) * from.c];
  }
  const int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
  // Computes a quotient of at most 128 bit by bit: dividing int64 takes a large function on a 32-bit core.
  int64_t rest = (sum > 0 ? sum : -sum) + (count >> 1);
  int32_t mean = 0;
  for (int bit = 7; bit >= 0; --bit) {
    if (rest < count << bit) continue;
    rest -= count << bit;
    mean += 1 << bit;
  }
  return static_cast<int8_t>(sum > 0 ? mean : -mean);
}

void average_windows(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  AvgPool2d pool;
  if (!read_avg_pool2d(context, args, sizes, &pool)) return;
  write_windows(
      pool.window, pool.from, pool.x, pool.to, pool.y,
      [&](const int8_t* x, const Extent& rows, const Extent& columns) { return average(x, pool.from, rows, columns); });
}

}  // namespace

void quantized_avg_pool2d(KernelContext& context, Span<EValue*> args) {
  average_windows(context, args, ImageSizes::nchw);
}

void quantized_avg_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  average_windows(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::reference
