// A limit on window positions. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

/// Whether the positions of the window, padding included, are so small that sums of three of them fit 31 bits. Only
/// unusual files exceed this.
inline bool positions_fit_31_bits(const Window& window, const Image& from) {
  constexpr int64_t kFar = INT32_MAX / 4;
  const int64_t sizes[] = {from.h, from.w};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t steps = int64_t{window.stride[d]} + int64_t{window.dilation[d]};
    if (sizes[d] + int64_t{window.padding[d]} + int64_t{window.end_padding[d]} + steps > kFar) return false;
  }
  return true;
}

}  // namespace wick::cortex_m
