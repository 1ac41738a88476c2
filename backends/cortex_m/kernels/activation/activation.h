// The checked arguments of quantized_activation. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

struct Activation {
  size_t count = 0;
  const int8_t *x = nullptr, *table = nullptr;  // table: 256 elements
  int8_t* y = nullptr;
};
bool read_activation_table(KernelContext& context, Span<EValue*> args, Activation* activation);

}  // namespace wick::cortex_m
