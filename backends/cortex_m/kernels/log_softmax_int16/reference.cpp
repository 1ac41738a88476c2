// log_softmax_int16(input, multiplier, shift, output_multiplier, output_shift, activation_min, activation_max): rows of
// int16, contiguous. The equation of log_softmax without zero points; shift is at most 14.
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/log_softmax/log_softmax.h"

namespace wick::cortex_m::reference {

void log_softmax_int16(KernelContext& context, Span<EValue*> args) {
  constexpr int32_t kLargestShift = 14;
  const Tensor &x = *args[0]->tensor, &y = *args[7]->tensor;
  LogSoftmax rows;
  if (!require_int16(context, x, y) || !read_log_softmax(context, args, y, kLargestShift, &rows) ||
      !read_requantization(context, args[3]->integer, args[4]->integer, &rows.stage) ||
      !read_int16_range(context, *args[5], *args[6], &rows.stage.min, &rows.stage.max))
    return;
  write_log_softmax_rows<int16_t>(rows, x, y);
}

}  // namespace wick::cortex_m::reference
