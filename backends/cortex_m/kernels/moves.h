// Moves elements between layouts; shared by pad and transpose. C++17, freestanding.
#pragma once
#include <string.h>

#include "backends/cortex_m/kernels/positions.h"

namespace wick::cortex_m {

/// Elements at constant distances in both layouts.
struct Run {
  int32_t count, from, to;  // distances in elements
};

/// The positions below `sizes` as runs of equal length, in the memory order of `to`. Dimensions of size 1 are left out,
/// and dimensions that are adjacent in both layouts are merged.
class Runs {
 public:
  Runs(const Sizes& sizes, const Steps& from, const Steps& to) {
    Dimension sorted[kMaxMovedRank];
    size_t count = 0;
    for (size_t d = 0; d < kMaxMovedRank; ++d) {
      if (sizes.sizes[d] == 1) continue;
      size_t at = count++;
      for (; at > 0 && sorted[at - 1].to < to.steps[d]; --at) sorted[at] = sorted[at - 1];
      sorted[at] = {static_cast<int32_t>(sizes.sizes[d]), static_cast<int32_t>(from.steps[d]),
                    static_cast<int32_t>(to.steps[d])};
    }
    size_t begin = kMaxMovedRank;
    while (count-- > 0) {
      if (begin == kMaxMovedRank || !merge(sorted[count], &dimensions_[begin])) dimensions_[--begin] = sorted[count];
    }
  }

  /// Exchanges the dimension of the runs and the one around them, if the runs are shorter and not contiguous in both
  /// layouts.
  void lengthen() {
    const Dimension inner = dimensions_[3], outer = dimensions_[2];
    if ((inner.from == 1 && inner.to == 1) || inner.size >= outer.size) return;
    dimensions_[3] = outer;
    dimensions_[2] = inner;
  }

  Run run() const { return {dimensions_[3].size, dimensions_[3].from, dimensions_[3].to}; }

  /// Calls body(offset by `from`, offset by `to`) for each run.
  template <typename Body>
  void for_each(const Body& body) const {
    const Dimension a = dimensions_[0], b = dimensions_[1], c = dimensions_[2];
    if (dimensions_[3].size == 0) return;
    for (int32_t i = 0; i < a.size; ++i) {
      for (int32_t j = 0; j < b.size; ++j) {
        int32_t from = i * a.from + j * b.from, to = i * a.to + j * b.to;
        for (int32_t k = 0; k < c.size; ++k, from += c.from, to += c.to) body(from, to);
      }
    }
  }

 private:
  struct Dimension {
    int32_t size = 1, from = 0, to = 0;
  };
  static bool merge(const Dimension& outer, Dimension* inner) {
    if (outer.from != inner->size * inner->from || outer.to != inner->size * inner->to) return false;
    inner->size *= outer.size;
    return true;
  }

  Dimension dimensions_[kMaxMovedRank];  // outermost first
};

inline void move_run(const Run& run, const int8_t* x, int8_t* y) {
  if (run.from == 1 && run.to == 1) {
    memcpy(y, x, static_cast<size_t>(run.count));
    return;
  }
  const int32_t from = run.from, to = run.to;
  int32_t left = run.count;
  for (; left >= 4; left -= 4, x += 4 * from, y += 4 * to) {
    const int8_t a = x[0], b = x[from], c = x[2 * from], d = x[3 * from];
    y[0] = a;
    y[to] = b;
    y[2 * to] = c;
    y[3 * to] = d;
  }
  for (; left > 0; --left, x += from, y += to) *y = *x;
}

/// y[position by `to`] = x[position by `from`], in no particular order: short runs that are not contiguous are
/// exchanged with the dimension around them if that is longer.
inline void move_elements(Runs runs, const int8_t* x, int8_t* y) {
  runs.lengthen();
  const Run run = runs.run();
  runs.for_each([&](int32_t from, int32_t to) { move_run(run, x + from, y + to); });
}

}  // namespace wick::cortex_m
