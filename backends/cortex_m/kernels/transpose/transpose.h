// The checked arguments of transpose. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

/// Element by element: position p of the output (sizes, to) is position p of the input with the steps `from`.
struct Transpose {
  Sizes sizes;
  Steps from, to;
  const int8_t* x = nullptr;
  int8_t* y = nullptr;
};
bool read_transpose(KernelContext& context, Span<EValue*> args, Transpose* transpose);

}  // namespace wick::cortex_m
