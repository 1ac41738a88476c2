// The convolution on MVE in tiles of three windows. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"

namespace wick::cortex_m::mve {

/// Writes the output: copies windows to scratch, three at a time, and computes all channels for them. Requires: scratch
/// has room for that (mve_forms.h).
void convolve_tiles(const Conv2d& c);

}  // namespace wick::cortex_m::mve
