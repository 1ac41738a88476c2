// Pools on cores without vectors, four channels at a time. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {

/// The taps of one output pixel: `rows` times `columns` pixels (more than 0 each) from `x` on, `column_step` and
/// `row_step` bytes apart.
struct PoolTaps {
  const int8_t* x;
  int32_t rows, columns, column_step, row_step;
};

/// Calls one(taps, out) for the channels of each output pixel if there are fewer than four, otherwise four(taps, out)
/// for four channels at a time; the last four may overlap those before.
template <typename Four, typename One>
__attribute__((noinline)) void write_pools(const Window& window, const Image& from, const int8_t* x, const Image& to,
                                           int8_t* out, const Four& four, const One& one) {
  const int32_t channels = static_cast<int32_t>(from.c);
  PoolTaps taps;
  taps.column_step = channels;
  taps.row_step = static_cast<int32_t>(from.w) * channels;
  for (int64_t n = 0; n < to.n; ++n, x += from.h * taps.row_step) {
    for (int64_t row = 0; row < to.h; ++row) {
      const Extent rows = extent(window, 0, row, from.h);
      taps.rows = static_cast<int32_t>(rows.end - rows.begin);
      for (int64_t column = 0; column < to.w; ++column, out += channels) {
        const Extent columns = extent(window, 1, column, from.w);
        taps.columns = static_cast<int32_t>(columns.end - columns.begin);
        const int8_t* first = x + rows.begin * taps.row_step + columns.begin * channels;
        for (int32_t c = 0; c < channels; c += channels < 4 ? 1 : 4) {
          const int32_t at = channels < 4 || c + 4 <= channels ? c : channels - 4;
          taps.x = first + at;
          channels < 4 ? one(taps, out + at) : four(taps, out + at);
        }
      }
    }
  }
}

}  // namespace wick::cortex_m
