// pad(input, pre_pad, post_pad, pad_value): int8, rank 1 to 4. The lists have 4 numbers, aligned right, in memory
// order: NHWC for a channels-last input. Stock treats a tensor with one channel or one pixel as channels-last whatever
// its dim order; if that does not give the output's sizes, the other order is used. Source: arm_pad_s8. pad_contiguous:
// the same for contiguous tensors alone, whose dimensions are in memory order.
#include "backends/cortex_m/kernels/pad/pad.h"

namespace wick::cortex_m::reference {
namespace {

void pad_in(PadOrder order, KernelContext& context, Span<EValue*> args) {
  Pad c;
  if (!read_pad(context, args, order, &c)) return;
  for (size_t i = 0; i < c.count; ++i) c.y[i] = c.value;
  for_each_position(c.sizes, c.from, c.to, Steps(), [&](int64_t i, int64_t j, int64_t) { c.y[c.first + j] = c.x[i]; });
}

}  // namespace

void pad(KernelContext& context, Span<EValue*> args) { pad_in(PadOrder::any, context, args); }

void pad_contiguous(KernelContext& context, Span<EValue*> args) { pad_in(PadOrder::contiguous, context, args); }

}  // namespace wick::cortex_m::reference
