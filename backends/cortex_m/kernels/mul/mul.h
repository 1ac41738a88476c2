// The checked arguments of quantized_mul. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/operands.h"

namespace wick::cortex_m {

struct Mul {
  Operands operands;
  int32_t zero_a = 0, zero_b = 0;  // the differences fit 16 bits
  OutputStage stage;
  size_t count = 0;
  const int8_t *a = nullptr, *b = nullptr;
  int8_t* y = nullptr;
};
bool read_mul(KernelContext& context, Span<EValue*> args, Mul* mul);

}  // namespace wick::cortex_m
