// quantized_avg_pool2d on cores without vectors. C++17, freestanding.
#include "backends/cortex_m/kernels/avg_pool2d/avg_pool2d.h"
#include "backends/cortex_m/kernels/pooling_by_four.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {
namespace {

int8_t rounded_average(int32_t sum, int32_t count) {
  return static_cast<int8_t>((sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

void average_four(const PoolTaps& taps, int8_t* out) {
  int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  const int8_t* line = taps.x;
  for (int32_t row = taps.rows; row > 0; --row, line += taps.row_step) {
    const int8_t* x = line;
    for (int32_t column = taps.columns; column > 0; --column, x += taps.column_step) {
      s0 += x[0];
      s1 += x[1];
      s2 += x[2];
      s3 += x[3];
    }
  }
  const int32_t count = taps.rows * taps.columns;
  out[0] = rounded_average(s0, count);
  out[1] = rounded_average(s1, count);
  out[2] = rounded_average(s2, count);
  out[3] = rounded_average(s3, count);
}

void average_one(const PoolTaps& taps, int8_t* out) {
  int32_t sum = 0;
  const int8_t* line = taps.x;
  for (int32_t row = taps.rows; row > 0; --row, line += taps.row_step) {
    const int8_t* x = line;
    for (int32_t column = taps.columns; column > 0; --column, x += taps.column_step) sum += *x;
  }
  *out = rounded_average(sum, taps.rows * taps.columns);
}

void write_average_pools(KernelContext& context, Span<EValue*> args, ImageSizes sizes, KernelFn reference) {
  AvgPool2d pool;
  if (!read_avg_pool2d(context, args, sizes, &pool)) return;
  // Sums of more taps might not fit 32 bits; an image with so many has 16 MB.
  if (pool.from.h * pool.from.w >= 1 << 24) return reference(context, args);
  write_pools(pool.window, pool.from, pool.x, pool.to, pool.y, average_four, average_one);
}

}  // namespace

void quantized_avg_pool2d(KernelContext& context, Span<EValue*> args) {
  write_average_pools(context, args, ImageSizes::nchw, reference::quantized_avg_pool2d);
}

void quantized_avg_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  write_average_pools(context, args, ImageSizes::nhwc, reference::quantized_avg_pool2d_nhwc);
}

}  // namespace wick::cortex_m::plain
