// batch_matmul_int16(lhs [B, M, K], rhs_transposed [B, N, K], multiplier, shift, activation_min, activation_max):
// int16, contiguous.
//   y[b][m][n] = clamp(requantize_wide(sum_k lhs[b][m][k] rhs[b][n][k]))
// Sums are exact in 64 bits. Source: arm_batch_matmul_s16.
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m::reference {
namespace {

bool check_sizes(KernelContext& context, const Tensor& lhs, const Tensor& rhs, const Tensor& out) {
  return require_int16(context, lhs, out) && require_int16(context, rhs, out) &&
         require(context,
                 lhs.rank == 3 && rhs.rank == 3 && out.rank == 3 && is_contiguous(lhs) && is_contiguous(rhs) &&
                     is_contiguous(out),
                 "operands and output are not all contiguous with 3 dimensions") &&
         require(context,
                 lhs.sizes[0] == rhs.sizes[0] && lhs.sizes[0] == out.sizes[0] && lhs.sizes[1] == out.sizes[1] &&
                     rhs.sizes[1] == out.sizes[2] && lhs.sizes[2] == rhs.sizes[2],
                 "wanted operands [B, M, K] and [B, N, K] and an output [B, M, N]");
}

}  // namespace

void batch_matmul_int16(KernelContext& context, Span<EValue*> args) {
  const Tensor &lhs = *args[0]->tensor, &rhs = *args[1]->tensor, &out = *args[6]->tensor;
  OutputStage scale;
  int32_t min = 0, max = 0;
  if (!check_sizes(context, lhs, rhs, out) ||
      !read_requantization(context, args[2]->integer, args[3]->integer, &scale) ||
      !require(context, scale.shift <= kMaxWideShift, "the requantization shift is greater than 14") ||
      !read_int16_range(context, *args[4], *args[5], &min, &max))
    return;
  const int64_t rows = out.sizes[1], columns = out.sizes[2], inner = lhs.sizes[2];
  auto* y = out.as<int16_t>();
  for (int64_t row = 0; row < out.sizes[0] * rows; ++row) {
    const int16_t* a = lhs.as<const int16_t>() + row * inner;
    const int16_t* b = rhs.as<const int16_t>() + row / rows * columns * inner;
    for (int64_t n = 0; n < columns; ++n, b += inner) {
      int64_t sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += a[k] * b[k];
      *y++ = clamp_int16(requantize_wide(sum, scale.multiplier, scale.shift), min, max);
    }
  }
}

}  // namespace wick::cortex_m::reference
