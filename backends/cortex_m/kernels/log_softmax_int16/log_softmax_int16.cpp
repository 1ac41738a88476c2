#include "backends/cortex_m/kernels/log_softmax_int16/log_softmax_int16.h"

namespace wick::cortex_m {

bool read_log_softmax_int16(KernelContext& context, Span<EValue*> args, LogSoftmax* rows) {
  constexpr int32_t kLargestShift = 14;
  const Tensor& x = *args[0]->tensor;
  Tensor& y = *args[7]->tensor;
  return require_int16(context, x, y) && read_log_softmax_rows(context, args, y, kLargestShift, rows) &&
         read_requantization(context, args[3]->integer, args[4]->integer, &rows->stage) &&
         read_int16_range(context, *args[5], *args[6], &rows->stage.min, &rows->stage.max);
}

}  // namespace wick::cortex_m
