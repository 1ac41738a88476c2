// pad as runs of the input. C++17, freestanding.
#include <string.h>

#include "backends/cortex_m/kernels/moves.h"
#include "backends/cortex_m/kernels/pad/pad.h"

namespace wick::cortex_m::plain {
namespace {

void pad_by_runs(KernelContext& context, Span<EValue*> args, PadOrder order) {
  Pad c;
  if (!read_pad(context, args, order, &c)) return;
  const Runs runs(c.sizes, c.from, c.to);
  const Run run = runs.run();
  if (run.to > 1) {  // runs contain values of the padding, too
    memset(c.y, c.value, c.count);
    return move_elements(runs, c.x, c.y + c.first);
  }
  int8_t *end = c.y, *const first = c.y + c.first;  // end of what has been written
  runs.for_each([&](int32_t from, int32_t to) {
    int8_t* target = first + to;
    if (target != end) memset(end, c.value, static_cast<size_t>(target - end));
    move_run(run, c.x + from, target);
    end = target + run.count;
  });
  memset(end, c.value, static_cast<size_t>(c.y + c.count - end));
}

}  // namespace

void pad(KernelContext& context, Span<EValue*> args) { pad_by_runs(context, args, PadOrder::any); }

void pad_contiguous(KernelContext& context, Span<EValue*> args) { pad_by_runs(context, args, PadOrder::contiguous); }

}  // namespace wick::cortex_m::plain
