// C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"

namespace wick::cortex_m::mve {

/// Writes the output: windows are copied to scratch by threes, and all channels computed for them. Requires: room for
/// that (mve_forms.h).
void convolve_tiles(const Conv2d& c);

}  // namespace wick::cortex_m::mve
