#include "backends/cortex_m/kernels/batch_matmul/batch_matmul.h"

namespace wick::cortex_m {
namespace {

bool check_sizes(KernelContext& context, const Tensor& lhs, const Tensor& rhs, Tensor& out) {
  settle_batch(lhs, out);
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

}  // namespace

bool read_batch_matmul(KernelContext& context, Span<EValue*> args, BatchMatmul* matmul) {
  const Tensor &lhs = *args[0]->tensor, &rhs = *args[2]->tensor;
  Tensor& out = *args[8]->tensor;
  if (!check_sizes(context, lhs, rhs, out) || !read_input_offset(context, *args[1], &matmul->lhs_offset) ||
      !read_input_offset(context, *args[3], &matmul->rhs_offset) ||
      !read_zero_point(context, *args[4], &matmul->stage.offset) ||
      !read_requantization(context, args[5]->integer, args[6]->integer, &matmul->stage) ||
      !read_scratch(context, args, 7, 0, &matmul->scratch))
    return false;
  matmul->batch = out.sizes[0];
  matmul->rows = out.sizes[1];
  matmul->columns = out.sizes[2];
  matmul->inner = lhs.sizes[2];
  matmul->lhs = lhs.as<const int8_t>();
  matmul->rhs = rhs.as<const int8_t>();
  matmul->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
