// quantized_batch_matmul(lhs [B, M, K], lhs_zero_point, rhs_transposed [B, N, K], rhs_zero_point, output_zero_point,
// multiplier, shift, scratch): the operands' zero points are passed negated, as offsets.
//   y[b, m, n] = clamp(requantize(sum_k (lhs[b, m, k] + lhs_offset) (rhs[b, n, k] + rhs_offset)) + output_zero_point)
// On MVE the scratch tensor holds the sums of rhs, recomputed for each batch; other code needs none. Source:
// arm_batch_matmul_s8.
#include "backends/cortex_m/kernels/batch_matmul/batch_matmul.h"

namespace wick::cortex_m::reference {
namespace {

int8_t dot(const BatchMatmul& matmul, const int8_t* x, const int8_t* w, int64_t count) {
  int32_t sum = 0;
  for (int64_t k = 0; k < count; ++k) sum = wrapping_add(sum, (x[k] + matmul.lhs_offset) * (w[k] + matmul.rhs_offset));
  return matmul.stage(sum);
}

}  // namespace

void quantized_batch_matmul(KernelContext& context, Span<EValue*> args) {
  BatchMatmul c;
  if (!read_batch_matmul(context, args, &c)) return;
  int8_t* y = c.y;
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t m = 0; m < c.rows; ++m) {
      for (int64_t n = 0; n < c.columns; ++n)
        *y++ = dot(c, c.lhs + (b * c.rows + m) * c.inner, c.rhs + (b * c.columns + n) * c.inner, c.inner);
    }
  }
}

}  // namespace wick::cortex_m::reference
