// wick_cortex_m::kernel_sum(weights [N, K], bias?, input_offset, filter_offset): int32 [1, N], what the kernel_sum of a
// linear for MVE holds, for programs that do not store it.
//   y[n] = bias[n] + input_offset * sum_k (w[n][k] + filter_offset)
// Sums wrap at 32 bits. Source: arm_vector_sum_s8.
#include "backends/cortex_m/kernels/linear/linear.h"

namespace wick::cortex_m {

void kernel_sum(KernelContext& context, Span<EValue*> args) {
  const Tensor &weights = *args[0]->tensor, &out = *args[4]->tensor;
  int32_t input_offset = 0, filter_offset = 0;
  const int32_t* bias = nullptr;
  if (!require_dtype(context, weights, DType::i8, "the weights are not int8") ||
      !require(context, weights.rank == 2 && is_contiguous(weights), "wanted contiguous weights [N, K]") ||
      !check_int32_row(context, out, weights.sizes[0], "the output is not contiguous int32 with one element per row") ||
      !read_input_offset(context, *args[2], &input_offset) || !read_input_offset(context, *args[3], &filter_offset))
    return;
  if (!args[1]->is_none()) {
    if (!check_int32_row(context, *args[1]->tensor, weights.sizes[0],
                         "the bias is not a contiguous int32 tensor with one element per row of the weights"))
      return;
    bias = args[1]->tensor->as<const int32_t>();
  }
  const int64_t count = weights.sizes[1];
  const int8_t* w = weights.as<const int8_t>();
  for (int64_t n = 0; n < weights.sizes[0]; ++n, w += count) {
    int32_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum = wrapping_add(sum, w[k] + filter_offset);
    out.as<int32_t>()[n] = wrapping_add(bias ? bias[n] : 0, wrapping_mul(sum, input_offset));
  }
}

}  // namespace wick::cortex_m
