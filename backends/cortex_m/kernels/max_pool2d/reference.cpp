// quantized_max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, input_zero_point, output_zero_point,
// activation_min, activation_max): y = clamp(max of the taps on the input, activation_min, activation_max).
// As in stock, dilation is 1, there is no ceil mode, and both zero points are equal. Source: arm_max_pool_s8.
// quantized_max_pool2d_nhwc: the same on contiguous images whose sizes are NHWC.
#include "backends/cortex_m/kernels/max_pool2d/max_pool2d.h"

namespace wick::cortex_m::reference {
namespace {

int8_t largest(const int8_t* x, const Image& from, const Extent& rows, const Extent& columns) {
  int8_t max = INT8_MIN;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t i = columns.begin; i < columns.end; ++i) {
      const int8_t value = x[(y * from.w + i) * from.c];
      max = value > max ? value : max;
    }
  }
  return max;
}

void maximize_windows(KernelContext& context, Span<EValue*> args, ImageSizes sizes) {
  MaxPool2d pool;
  if (!read_max_pool2d(context, args, sizes, &pool)) return;
  write_windows(pool.window, pool.from, pool.x, pool.to, pool.y,
                [&](const int8_t* x, const Extent& rows, const Extent& columns) {
                  const int32_t max = largest(x, pool.from, rows, columns);
                  return static_cast<int8_t>(max < pool.bounds.min   ? pool.bounds.min
                                             : max > pool.bounds.max ? pool.bounds.max
                                                                     : max);
                });
}

}  // namespace

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  maximize_windows(context, args, ImageSizes::nchw);
}

void quantized_max_pool2d_nhwc(KernelContext& context, Span<EValue*> args) {
  maximize_windows(context, args, ImageSizes::nhwc);
}

}  // namespace wick::cortex_m::reference
