// log_softmax_int16(input, multiplier, shift, output_multiplier, output_shift, activation_min, activation_max): rows of
// int16, contiguous. The equation of log_softmax without zero points; shift is at most 14.
#include "backends/cortex_m/kernels/log_softmax_int16/log_softmax_int16.h"

namespace wick::cortex_m::reference {

void log_softmax_int16(KernelContext& context, Span<EValue*> args) {
  LogSoftmax rows;
  if (read_log_softmax_int16(context, args, &rows))
    write_log_softmax_rows<int16_t>(rows, *args[0]->tensor, *args[7]->tensor);
}

}  // namespace wick::cortex_m::reference
