// The checked arguments of depthwise_conv2d_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d_int16/conv2d_int16.h"

namespace wick::cortex_m {

struct DepthwiseConv2dInt16 {
  Window window;
  Image from, to;
  int32_t depth_multiplier = 0;
  Int16Channels channels;
  const int16_t* x = nullptr;
  const int8_t* weights = nullptr;
  int16_t* out = nullptr;
};
bool read_depthwise_conv2d_int16(KernelContext& context, Span<EValue*> args, DepthwiseConv2dInt16* c);

/// The taps of a window along one dimension that lie on `size` elements; the window begins at `at`.
struct TapRange {
  int64_t begin, end;
};
inline TapRange taps_inside(int64_t at, int64_t size, int64_t kernel, int64_t dilation) {
  const int64_t begin = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
  const int64_t end = at >= size ? 0 : (size - at + dilation - 1) / dilation, last = end < kernel ? end : kernel;
  return {begin, last < begin ? begin : last};
}

/// The taps of one position that lie on the input, for outputs with an input channel each.
struct WindowTaps {
  int32_t rows, taps;
  const int16_t* x;               // of the first one
  const int8_t* weights;          //
  int32_t x_row, x_step;          // elements from row to row, and from tap to tap
  int32_t weights_row, channels;  // the same of the weights
};

/// Calls body(taps, out) for each position. Requires: near positions and a depth multiplier of 1.
template <typename Body>
void for_each_depthwise_window(const DepthwiseConv2dInt16& c, const Body& body) {
  const Window& w = c.window;
  const auto channels = static_cast<int32_t>(c.to.c), width = static_cast<int32_t>(c.from.w);
  WindowTaps taps = {
      0,       0, nullptr, nullptr, w.dilation[0] * width * channels, w.dilation[1] * channels, w.kernel[1] * channels,
      channels};
  int16_t* out = c.out;
  for (int64_t n = 0; n < c.from.n; ++n) {
    const int16_t* image = c.x + n * c.from.h * width * channels;
    for (int64_t y = 0; y < c.to.h; ++y) {
      const int64_t top = y * w.stride[0] - w.padding[0];
      const TapRange rows = taps_inside(top, c.from.h, w.kernel[0], w.dilation[0]);
      for (int64_t x = 0; x < c.to.w; ++x, out += channels) {
        const int64_t left = x * w.stride[1] - w.padding[1];
        const TapRange columns = taps_inside(left, width, w.kernel[1], w.dilation[1]);
        const bool any = rows.begin < rows.end && columns.begin < columns.end;
        const int64_t pixel = (top + rows.begin * w.dilation[0]) * width + left + columns.begin * w.dilation[1];
        taps.rows = any ? static_cast<int32_t>(rows.end - rows.begin) : 0;
        taps.taps = static_cast<int32_t>(columns.end - columns.begin);
        taps.x = any ? image + pixel * channels : image;
        taps.weights = any ? c.weights + (rows.begin * w.kernel[1] + columns.begin) * channels : c.weights;
        body(taps, out);
      }
    }
  }
}

}  // namespace wick::cortex_m
