#include "backends/cortex_m/kernels/log_softmax/log_softmax_mve.h"
#include "backends/cortex_m/kernels/log_softmax_int16/log_softmax_int16.h"

namespace wick::cortex_m::mve {

void log_softmax_int16(KernelContext& context, Span<EValue*> args) {
  LogSoftmax rows;
  if (read_log_softmax_int16(context, args, &rows))
    write_rows_of_four<int16_t>(rows, *args[0]->tensor, *args[7]->tensor);
}

}  // namespace wick::cortex_m::mve
