// The checked arguments of batch_matmul_int16, and the loops that all variants share. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

struct BatchMatmulInt16 {
  int32_t batch = 0, rows = 0, columns = 0, inner = 0;
  OutputStage stage;
  const int16_t *a = nullptr, *b = nullptr;
  int16_t* y = nullptr;
};
bool read_batch_matmul_int16(KernelContext& context, Span<EValue*> args, BatchMatmulInt16* matmul);

/// `dot` is dot_int16() of int16.h.
template <typename Dot>
void batch_matmul_int16_with(KernelContext& context, Span<EValue*> args, const Dot& dot) {
  BatchMatmulInt16 m;
  if (!read_batch_matmul_int16(context, args, &m)) return;
  const OutputStage stage = m.stage;
  int16_t* y = m.y;
  for (int32_t n = 0; n < m.batch; ++n, m.b += m.columns * m.inner) {
    for (int32_t row = 0; row < m.rows; ++row, m.a += m.inner) {
      const int16_t* b = m.b;
      for (int32_t column = 0; column < m.columns; ++column, b += m.inner)
        *y++ = clamp_int16(requantize_wide(dot(m.a, b, m.inner), stage.multiplier, stage.shift), stage.min, stage.max);
    }
  }
}

}  // namespace wick::cortex_m
