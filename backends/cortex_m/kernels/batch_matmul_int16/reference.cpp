// batch_matmul_int16(lhs [B, M, K], rhs_transposed [B, N, K], multiplier, shift, activation_min, activation_max):
// int16, contiguous.
//   y[b][m][n] = clamp(requantize_wide(sum_k lhs[b][m][k] rhs[b][n][k]))
// Sums are exact in 64 bits. Source: arm_batch_matmul_s16.
#include "backends/cortex_m/kernels/batch_matmul_int16/batch_matmul_int16.h"

namespace wick::cortex_m::reference {

void batch_matmul_int16(KernelContext& context, Span<EValue*> args) {
  batch_matmul_int16_with(context, args, dot_int16);
}

}  // namespace wick::cortex_m::reference
