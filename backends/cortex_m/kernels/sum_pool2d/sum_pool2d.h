// The checked arguments of sum_pool2d, and its walk over positions. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {

struct SumPool2d {
  Window window;
  Image from, to;
  int32_t input_offset = 0;
  OutputStage stage;
  const int8_t* x = nullptr;
  int8_t* y = nullptr;
};
bool read_sum_pool2d(KernelContext& context, Span<EValue*> args, SumPool2d* pool);

/// With at most so many taps, a sum of elements fits 16 bits.
constexpr int32_t kMostSmallTaps = 255;

/// The taps of one position: `rows` rows of `columns` pixels, more than 0 each.
struct SumTaps {
  const int8_t* x;
  int32_t rows, columns, row_bytes, pixel_bytes;

  bool has_small_sums() const { return rows * columns <= kMostSmallTaps; }
};

/// Outputs with equally many taps: `lanes` neighbors at each of `positions` positions. From position to position the
/// taps advance by `step` bytes, the outputs by `channels` bytes.
struct SumRun {
  SumTaps taps;  // of the first one
  int32_t lanes, positions, step, channels;
  int32_t initial;  // input_offset times the number of taps
  int8_t* out;

  /// All whole blocks of `width` lanes, as positions. Requires: one position.
  SumRun blocks(int32_t width) const { return {taps, width, lanes / width, width, width, initial, out}; }
};

/// Calls body(run) for all outputs. Windows that span whole rows, or a single column, count as one row of taps. If
/// positions are one pixel apart, their channels follow one another as lanes.
template <typename Body>
void for_each_run(const SumPool2d& pool, const Body& body) {
  if (pool.to.n == 0 || pool.to.h == 0 || pool.to.w == 0 || pool.to.c == 0) return;
  // The end of a window in an image; neither difference nor sum overflows.
  const auto end = [](int32_t begin, int32_t kernel, int32_t size) {
    if (begin < 0) return begin + kernel < size ? begin + kernel : size;
    return kernel < size - begin ? begin + kernel : size;
  };
  const Window& w = pool.window;
  const int32_t height = static_cast<int32_t>(pool.from.h), width = static_cast<int32_t>(pool.from.w);
  const int32_t channels = static_cast<int32_t>(pool.from.c), row_bytes = width * channels;
  const int32_t outputs = static_cast<int32_t>(pool.to.w);
  const int8_t* image = pool.x;
  int8_t* out = pool.y;
  for (int32_t n = static_cast<int32_t>(pool.to.n); n > 0; --n, image += height * row_bytes) {
    int32_t top = -w.padding[0];
    for (int32_t row = static_cast<int32_t>(pool.to.h); row > 0; --row, top = wrapping_add(top, w.stride[0])) {
      const int32_t first = top < 0 ? 0 : top, rows = end(top, w.kernel[0], height) - first;
      int32_t left = -w.padding[1];
      for (int32_t column = 0; column < outputs;) {
        const int32_t begin = left < 0 ? 0 : left;
        const int32_t columns = end(left, w.kernel[1], width) - begin;
        int32_t positions = 1;
        if (columns == w.kernel[1] && column + 1 < outputs) {
          const int32_t whole = (width - left - columns) / w.stride[1] + 1;
          positions = whole < outputs - column ? whole : outputs - column;
        }
        const bool follow = positions > 1 && w.stride[1] == 1;
        SumRun run = {{image + first * row_bytes + begin * channels, rows, columns, row_bytes, channels},
                      follow ? positions * channels : channels,
                      follow ? 1 : positions,
                      positions > 1 ? w.stride[1] * channels : 0,
                      channels,
                      wrapping_mul(rows * columns, pool.input_offset),
                      out};
        if (columns == width) run.taps.rows = 1, run.taps.columns = rows * columns;
        if (columns == 1) run.taps.rows = 1, run.taps.columns = rows, run.taps.pixel_bytes = row_bytes;
        body(run);
        out += positions * channels;
        column += positions;
        left = wrapping_add(left, wrapping_mul(positions, w.stride[1]));
      }
    }
  }
}

/// Calls tap(pixel) for each tap; `x`: the first one.
template <typename Tap>
inline void for_each_tap(const int8_t* x, const SumTaps& taps, const Tap& tap) {
  const int32_t columns = taps.columns, row_bytes = taps.row_bytes, pixel_bytes = taps.pixel_bytes;
  if (columns == 2 || columns == 3) {  // without a loop along rows
    for (int32_t rows = taps.rows; rows > 0; --rows, x += row_bytes) {
      tap(x);
      tap(x + pixel_bytes);
      if (columns == 3) tap(x + 2 * pixel_bytes);
    }
    return;
  }
  for (int32_t rows = taps.rows; rows > 0; --rows, x += row_bytes) {
    const int8_t* pixel = x;
    for (int32_t left = columns; left > 0; --left, pixel += pixel_bytes) tap(pixel);
  }
}

/// Calls body(part) for parts that have small sums.
template <typename Body>
void for_each_small_part(const SumTaps& taps, const Body& body) {
  const auto least = [](int32_t a, int32_t b) { return a < b ? a : b; };
  const int32_t width = least(taps.columns, kMostSmallTaps), height = kMostSmallTaps / width;
  for (int32_t row = 0; row < taps.rows; row += height) {
    for (int32_t column = 0; column < taps.columns; column += width)
      body(SumTaps{taps.x + row * taps.row_bytes + column * taps.pixel_bytes, least(height, taps.rows - row),
                   least(width, taps.columns - column), taps.row_bytes, taps.pixel_bytes});
  }
}

}  // namespace wick::cortex_m
