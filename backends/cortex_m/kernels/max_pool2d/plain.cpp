// quantized_max_pool2d on cores without vectors. C++17, freestanding.
#include <string.h>

#include "backends/cortex_m/kernels/gemm/tile.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/max_pool2d/max_pool2d.h"
#include "backends/cortex_m/kernels/pooling_by_four.h"

namespace wick::cortex_m::plain {
namespace {

uint32_t largest_four(const PoolTaps& taps) {
  uint32_t max = 0x80808080u;
  const int8_t* line = taps.x;
  for (int32_t row = taps.rows; row > 0; --row, line += taps.row_step) {
    const int8_t* x = line;
    for (int32_t column = taps.columns; column > 0; --column, x += taps.column_step)
      max = Isa::larger_bytes(max, load_word(x));
  }
  return max;
}

int32_t largest_one(const PoolTaps& taps) {
  int32_t max = INT8_MIN;
  const int8_t* line = taps.x;
  for (int32_t row = taps.rows; row > 0; --row, line += taps.row_step) {
    const int8_t* x = line;
    for (int32_t column = taps.columns; column > 0; --column, x += taps.column_step) max = *x > max ? *x : max;
  }
  return max;
}

void write_max_pools(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  MaxPool2d pool;
  if (!read_max_pool2d(context, args, sizes, &pool)) return;
  const int32_t low = pool.bounds.min, high = pool.bounds.max;
  const bool full = low == INT8_MIN && high == INT8_MAX;
  const auto bound = [&](int32_t value) {
    return static_cast<int8_t>(value < low ? low : value > high ? high : value);
  };
  write_pools(
      pool.window, pool.from, pool.x, pool.to, pool.y,
      [&](const PoolTaps& taps, int8_t* out) {
        const uint32_t max = largest_four(taps);
        memcpy(out, &max, sizeof(max));
        for (int32_t i = 0; !full && i < 4; ++i) out[i] = bound(out[i]);
      },
      [&](const PoolTaps& taps, int8_t* out) { *out = bound(largest_one(taps)); });
}

}  // namespace

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  write_max_pools(context, args, ImageSizes::nchw);
}

void quantized_max_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  write_max_pools(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::plain
