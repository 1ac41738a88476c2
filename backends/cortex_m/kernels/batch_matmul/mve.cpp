// quantized_batch_matmul, as one matmul for each batch. The equation: reference.cpp.
#include "backends/cortex_m/kernels/batch_matmul/batch_matmul.h"
#include "backends/cortex_m/kernels/mve/gemm.h"

namespace wick::cortex_m::mve {

void quantized_batch_matmul(KernelContext& context, Span<EValue*> args) {
  BatchMatmul c;
  if (!read_batch_matmul(context, args, &c)) return;
  if (c.batch * c.rows * c.columns == 0) return;
  Gemm gemm;
  gemm.terms = static_cast<int32_t>(c.inner);
  gemm.channels = static_cast<int32_t>(c.columns);
  gemm.input_offset = c.lhs_offset;
  gemm.filter_offset = c.rhs_offset;
  gemm.stage = c.stage;
  for (int64_t b = 0; b < c.batch; ++b) {
    gemm.weights = c.rhs + b * c.columns * c.inner;
    multiply_rows(gemm, c.lhs + b * c.rows * c.inner, static_cast<int32_t>(c.rows), c.y + b * c.rows * c.columns);
  }
}

}  // namespace wick::cortex_m::mve
