// sum_pool2d(input, kernel_size, stride, padding, input_offset, output_offset, multiplier, shift, activation_min,
// activation_max):
//   y = clamp(requantize(sum of (x + input_offset) over the taps on the input) + output_offset)
// Padding adds nothing. Sums wrap at 32 bits. With multiplier and shift for input scale / output scale / number of
// taps, it is an average that rounds once. Stock has no such operator.
#include "backends/cortex_m/kernels/sum_pool2d/sum_pool2d.h"

namespace wick::cortex_m::reference {

void sum_pool2d(KernelContext& context, Span<EValue*> args) {
  SumPool2d pool;
  if (!read_sum_pool2d(context, args, &pool)) return;
  write_windows(pool.window, pool.from, pool.x, pool.to, pool.y,
                [&](const int8_t* x, const Extent& rows, const Extent& columns) {
                  int32_t sum = 0;
                  for (int64_t y = rows.begin; y < rows.end; ++y) {
                    for (int64_t i = columns.begin; i < columns.end; ++i)
                      sum = wrapping_add(sum, x[(y * pool.from.w + i) * pool.from.c] + pool.input_offset);
                  }
                  return pool.stage(sum);
                });
}

}  // namespace wick::cortex_m::reference
