#include "backends/cortex_m/kernels/batch_matmul_int16/batch_matmul_int16.h"

namespace wick::cortex_m {
namespace {

bool check_sizes(KernelContext& context, const Tensor& lhs, const Tensor& rhs, Tensor& out) {
  settle_batch(lhs, out);
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

bool read_batch_matmul_int16(KernelContext& context, Span<EValue*> args, BatchMatmulInt16* matmul) {
  const Tensor &lhs = *args[0]->tensor, &rhs = *args[1]->tensor;
  Tensor& out = *args[6]->tensor;
  OutputStage& stage = matmul->stage;
  if (!check_sizes(context, lhs, rhs, out) ||
      !read_requantization(context, args[2]->integer, args[3]->integer, &stage) ||
      !require(context, stage.shift <= kMaxWideShift, "the requantization shift is greater than 14") ||
      !read_int16_range(context, *args[4], *args[5], &stage.min, &stage.max))
    return false;
  matmul->batch = out.sizes[0];
  matmul->rows = out.sizes[1];
  matmul->columns = out.sizes[2];
  matmul->inner = lhs.sizes[2];
  matmul->a = lhs.as<const int16_t>();
  matmul->b = rhs.as<const int16_t>();
  matmul->y = out.as<int16_t>();
  return true;
}

}  // namespace wick::cortex_m
