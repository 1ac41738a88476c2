// The window of the pooling kernels. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

/// Reads kernel, stride and padding from lists of one or two; there is no dilation. Input and output are int8 images
/// with the same channels; the output takes the batch of the input, and its sizes are the positions of the window. A
/// padding must be smaller than its kernel, so that each window covers at least one pixel.
bool read_pooling(KernelContext& context, Span<EValue*> lists, bool ceil_mode, const Tensor& input, Tensor& out,
                  ImageSizes sizes, Window* window, Image* from, Image* to);

/// The part of the window at output position `at` that lies on the input.
struct Extent {
  int64_t begin, end;
};
inline Extent extent(const Window& window, size_t axis, int64_t at, int64_t size) {
  const int64_t first = at * window.stride[axis] - window.padding[axis], last = first + window.kernel[axis];
  return {first < 0 ? 0 : first, last > size ? size : last};
}

/// Calls body(image, rows, columns) for each position of the window in order: `image` is the index of the image's first
/// element, rows and columns are the part of the window on the image.
template <typename Body>
void for_each_window(const Window& window, const Image& from, const Image& to, const Body& body) {
  const int64_t image = from.h * from.w * from.c;
  for (int64_t n = 0; n < to.n; ++n) {
    for (int64_t row = 0; row < to.h; ++row) {
      const Extent rows = extent(window, 0, row, from.h);
      int64_t first = -int64_t{window.padding[1]};
      for (int64_t column = 0; column < to.w; ++column, first += window.stride[1]) {
        const int64_t last = first + window.kernel[1];
        body(n * image, rows, Extent{first < 0 ? 0 : first, last > from.w ? from.w : last});
      }
    }
  }
}

/// Writes value(plane, rows, columns) to every element: `plane` is the channel's first pixel in the image, rows and
/// columns are the part of the window on it. Requires: `x` has the sizes `from`, `out` the sizes `to`.
template <typename Value>
void write_windows(const Window& window, const Image& from, const int8_t* x, const Image& to, int8_t* out,
                   const Value& value) {
  for (int64_t n = 0; n < to.n; ++n, x += from.h * from.w * from.c) {
    for (int64_t row = 0; row < to.h; ++row) {
      for (int64_t column = 0; column < to.w; ++column) {
        const Extent rows = extent(window, 0, row, from.h), columns = extent(window, 1, column, from.w);
        for (int64_t c = 0; c < to.c; ++c) *out++ = value(x + c, rows, columns);
      }
    }
  }
}

}  // namespace wick::cortex_m
