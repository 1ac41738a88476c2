// quantized_batch_matmul(lhs [B, M, K], lhs_zero_point, rhs_transposed [B, N, K], rhs_zero_point, output_zero_point,
// multiplier, shift, scratch): the zero points of the operands come negated, as offsets.
//   y[b, m, n] = clamp(requantize(sum_k (lhs[b, m, k] + lhs_offset) (rhs[b, n, k] + rhs_offset)) + output_zero_point)
// On MVE the scratch tensor takes the sums of rhs, anew for each batch; other code needs none. Source:
// arm_batch_matmul_s8.
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {
namespace {

struct Product {
  int32_t lhs_offset = 0, rhs_offset = 0;
  OutputStage stage;
};

bool check_sizes(KernelContext& context, const Tensor& lhs, const Tensor& rhs, const Tensor& out) {
  if (!require_int8(context, lhs, out) || !require_int8(context, rhs, out) ||
      !require(context, lhs.rank == 3 && rhs.rank == 3 && out.rank == 3, "a tensor does not have 3 dimensions") ||
      !require(context, is_contiguous(lhs) && is_contiguous(rhs) && is_contiguous(out),
               "operands and output are not all contiguous"))
    return false;
  return require(context,
                 lhs.sizes[0] == rhs.sizes[0] && lhs.sizes[0] == out.sizes[0] && lhs.sizes[1] == out.sizes[1] &&
                     rhs.sizes[1] == out.sizes[2] && lhs.sizes[2] == rhs.sizes[2],
                 "wanted operands [B, M, K] and [B, N, K] and an output [B, M, N]");
}

int8_t dot(const Product& product, const int8_t* x, const int8_t* w, int64_t count) {
  int32_t sum = 0;
  for (int64_t k = 0; k < count; ++k)
    sum = wrapping_add(sum, (x[k] + product.lhs_offset) * (w[k] + product.rhs_offset));
  return product.stage(sum);
}

}  // namespace

void quantized_batch_matmul(KernelContext& context, Span<EValue*> args) {
  const Tensor &lhs = *args[0]->tensor, &rhs = *args[2]->tensor;
  Tensor& out = *args[8]->tensor;
  Product product;
  if (!check_sizes(context, lhs, rhs, out) || !read_input_offset(context, *args[1], &product.lhs_offset) ||
      !read_input_offset(context, *args[3], &product.rhs_offset) ||
      !read_zero_point(context, *args[4], &product.stage.offset) ||
      !read_requantization(context, args[5]->integer, args[6]->integer, &product.stage))
    return;
  const int64_t batch = out.sizes[0], rows = out.sizes[1], columns = out.sizes[2], inner = lhs.sizes[2];
  const int8_t *x = lhs.as<const int8_t>(), *w = rhs.as<const int8_t>();
  int8_t* y = out.as<int8_t>();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t m = 0; m < rows; ++m) {
      for (int64_t n = 0; n < columns; ++n)
        *y++ = dot(product, x + (b * rows + m) * inner, w + (b * columns + n) * inner, inner);
    }
  }
}

}  // namespace wick::cortex_m
