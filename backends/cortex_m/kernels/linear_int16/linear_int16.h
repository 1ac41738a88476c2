// The checked arguments of linear_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

struct LinearInt16 {
  int64_t rows = 0, num_inputs = 0, num_outputs = 0;
  Int16Channels channels;
  const int16_t* x = nullptr;
  const int8_t* weights = nullptr;
  int16_t* y = nullptr;
};
bool read_linear_int16(KernelContext& context, Span<EValue*> args, LinearInt16* linear);

}  // namespace wick::cortex_m
