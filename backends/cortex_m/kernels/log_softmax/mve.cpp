#include "backends/cortex_m/kernels/log_softmax/log_softmax_mve.h"

namespace wick::cortex_m::mve {

void log_softmax(KernelContext& context, Span<EValue*> args) {
  LogSoftmax rows;
  if (read_log_softmax(context, args, &rows)) write_rows_of_four<int8_t>(rows, *args[0]->tensor, *args[8]->tensor);
}

}  // namespace wick::cortex_m::mve
