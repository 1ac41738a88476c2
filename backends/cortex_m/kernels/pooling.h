// The window of the pooling kernels. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

/// Kernel, stride and padding from lists of one or two, no dilation. Input and output are int8 images of equal batch
/// and channels; the output has the positions of the window. A padding is smaller than its kernel, so that each
/// position covers at least one pixel.
bool read_pooling(KernelContext& context, Span<EValue*> lists, bool ceil_mode, const Tensor& input, const Tensor& out,
                  Window* window, Image* from, Image* to);

/// The part of the window at output position `at` that lies on the input.
struct Extent {
  int64_t begin, end;
};
inline Extent extent(const Window& window, size_t axis, int64_t at, int64_t size) {
  const int64_t first = at * window.stride[axis] - window.padding[axis], last = first + window.kernel[axis];
  return {first < 0 ? 0 : first, last > size ? size : last};
}

}  // namespace wick::cortex_m
