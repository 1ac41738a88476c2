// The convolution of mve.cpp, for operators that are convolutions in another form. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"

namespace wick::cortex_m::mve {

/// Writes the output. Requires: near positions, scratch as read_conv2d() wants it.
void convolve(const Conv2d& c);

}  // namespace wick::cortex_m::mve
