#include "backends/cortex_m/kernels/moves.h"

#include <string.h>

namespace wick::cortex_m {
namespace {

struct Dimension {
  int64_t size = 1, from = 0, to = 0;
};

/// Outermost first by `to`, the last ones filled; dimensions of size 1 left out, the others merged where possible.
struct Walk {
  Dimension dimensions[kMaxMovedRank];

  Walk(const Sizes& sizes, const Steps& from, const Steps& to) {
    Dimension sorted[kMaxMovedRank];
    size_t count = 0;
    for (size_t d = 0; d < kMaxMovedRank; ++d) {
      if (sizes.sizes[d] == 1) continue;
      size_t at = count++;
      for (; at > 0 && sorted[at - 1].to < to.steps[d]; --at) sorted[at] = sorted[at - 1];
      sorted[at] = {sizes.sizes[d], from.steps[d], to.steps[d]};
    }
    size_t begin = kMaxMovedRank;
    while (count-- > 0) {
      const Dimension& outer = sorted[count];
      if (begin < kMaxMovedRank) {
        Dimension& inner = dimensions[begin];
        if (outer.from == inner.size * inner.from && outer.to == inner.size * inner.to) {
          inner.size *= outer.size;
          continue;
        }
      }
      dimensions[--begin] = outer;
    }
  }
};

void move_run(const int8_t* x, int8_t* y, int32_t count, int32_t from, int32_t to) {
  if (from == 1 && to == 1) {
    memcpy(y, x, static_cast<size_t>(count));
    return;
  }
  for (; count >= 4; count -= 4, x += 4 * from, y += 4 * to) {
    const int8_t a = x[0], b = x[from], c = x[2 * from], d = x[3 * from];
    y[0] = a;
    y[to] = b;
    y[2 * to] = c;
    y[3 * to] = d;
  }
  for (; count > 0; --count, x += from, y += to) *y = *x;
}

}  // namespace

void move_elements(const Sizes& sizes, const Steps& from, const Steps& to, const int8_t* x, int8_t* y) {
  for (const int64_t size : sizes.sizes) {
    if (size == 0) return;
  }
  const Walk walk(sizes, from, to);
  const Dimension &a = walk.dimensions[0], &b = walk.dimensions[1], &c = walk.dimensions[2], &run = walk.dimensions[3];
  for (int64_t i = 0; i < a.size; ++i) {
    for (int64_t j = 0; j < b.size; ++j) {
      const int8_t* source = x + i * a.from + j * b.from;
      int8_t* target = y + i * a.to + j * b.to;
      for (int64_t k = 0; k < c.size; ++k, source += c.from, target += c.to)
        move_run(source, target, static_cast<int32_t>(run.size), static_cast<int32_t>(run.from),
                 static_cast<int32_t>(run.to));
    }
  }
}

}  // namespace wick::cortex_m
