// The checked arguments of quantized_batch_matmul. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

struct BatchMatmul {
  int64_t batch, rows, columns, inner;
  int32_t lhs_offset = 0, rhs_offset = 0;
  OutputStage stage;
  const int8_t *lhs, *rhs;  // [batch, rows, inner], [batch, columns, inner]
  int8_t* y;
  Span<uint8_t> scratch;  // of any size
};
bool read_batch_matmul(KernelContext& context, Span<EValue*> args, BatchMatmul* matmul);

}  // namespace wick::cortex_m
