// The checked arguments of quantized_mul and wick_cortex_m::mul. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/operands.h"
#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

struct Mul {
  Operands operands;
  int32_t zero_a = 0, zero_b = 0;  // differences to them fit 16 bits
  OutputStage stage;
  size_t count = 0;
  const int8_t *a = nullptr, *b = nullptr;
  int8_t* y = nullptr;
};
bool read_mul(KernelContext& context, Span<EValue*> args, Mul* mul);

/// The arguments of wick_cortex_m::mul; `mul.operands` is not used.
struct BroadcastMul {
  Mul mul;
  Broadcast broadcast;
};
bool read_broadcast_mul(KernelContext& context, Span<EValue*> args, BroadcastMul* c);

}  // namespace wick::cortex_m
