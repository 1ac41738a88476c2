// The checked arguments of log_softmax_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/log_softmax/log_softmax.h"

namespace wick::cortex_m {

bool read_log_softmax_int16(KernelContext& context, Span<EValue*> args, LogSoftmax* rows);

}  // namespace wick::cortex_m
