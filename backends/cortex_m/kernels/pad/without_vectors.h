// pad and its input as runs. C++17, freestanding.
#pragma once
#include <string.h>

#include "backends/cortex_m/kernels/moves.h"
#include "backends/cortex_m/kernels/pad/pad.h"

namespace wick::cortex_m {

inline void pad_by_runs(KernelContext& context, Span<EValue*> args) {
  Pad c;
  if (!read_pad(context, args, &c)) return;
  size_t moved = 1;
  for (const int64_t size : c.sizes.sizes) moved *= static_cast<size_t>(size);
  if (moved != c.count) memset(c.y, c.value, c.count);
  move_elements(c.sizes, c.from, c.to, c.x, c.y + c.first);
}

}  // namespace wick::cortex_m
