// pad in memory order: contiguous parts of the input are copied, and the gaps between them filled.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/pad/pad.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

void pad_in(PadOrder order, KernelContext& context, Span<EValue*> args, KernelFn reference) {
  Pad c;
  if (!read_pad(context, args, order, &c)) return;
  const RunPlan runs = plan_runs(c.sizes, c.from, Steps(), c.to);
  const int32_t run = runs.sizes[0];
  if (run > 1 && (runs.a[0] != 1 || runs.to[0] != 1)) return reference(context, args);
  int8_t *at = c.y, *const first = c.y + c.first;
  for_each_run(runs, [&](int32_t from, int32_t, int32_t to) {
    int8_t* place = first + to;
    fill_bytes(at, c.value, static_cast<int32_t>(place - at));
    copy_bytes(place, c.x + from, run);
    at = place + run;
  });
  fill_bytes(at, c.value, static_cast<int32_t>(c.y + c.count - at));
}

}  // namespace

void pad(KernelContext& context, Span<EValue*> args) { pad_in(PadOrder::any, context, args, reference::pad); }

void pad_contiguous(KernelContext& context, Span<EValue*> args) {
  pad_in(PadOrder::contiguous, context, args, reference::pad_contiguous);
}

}  // namespace wick::cortex_m::mve
