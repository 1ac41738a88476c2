#include "backends/cortex_m/kernels/operands.h"

namespace wick::cortex_m {
namespace {

/// Whether `row` is [1, C, 1, 1] and `image` a channels-last tensor with C channels.
bool is_channel_row(const Tensor& row, const Tensor& image) {
  return row.rank == 4 && image.rank == 4 && row.sizes[0] == 1 && row.sizes[2] == 1 && row.sizes[3] == 1 &&
         row.sizes[1] == image.sizes[1] && is_nhwc(image);
}

}  // namespace

bool read_operands(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Operands* operands) {
  settle_broadcast(a, b, out);
  if (!require_int8(context, a, out) || !require_int8(context, b, out)) return false;
  const bool a_fits = same_layout(a, out), b_fits = same_layout(b, out);
  if (a_fits && b_fits) return true;
  const bool a_is_row = b_fits && is_channel_row(a, out), b_is_row = a_fits && is_channel_row(b, out);
  if (a_is_row) operands->period_a = a.numel;
  if (b_is_row) operands->period_b = b.numel;
  return require(context, a_is_row || b_is_row,
                 "wanted operands and an output of equal sizes and layout, or one operand [1, C, 1, 1] beside "
                 "channels-last tensors with C channels");
}

}  // namespace wick::cortex_m
