// The checked arguments of minimum and maximum. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

struct Extremum {
  Broadcast broadcast;
  const int8_t *a = nullptr, *b = nullptr;
  int8_t* y = nullptr;
};
bool read_extremum(KernelContext& context, Span<EValue*> args, Extremum* extremum);

}  // namespace wick::cortex_m
