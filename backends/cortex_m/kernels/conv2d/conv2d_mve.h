// The convolution of mve.cpp, for operators that are computed as convolutions. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"

namespace wick::cortex_m::mve {

/// Writes the output. Requires: near positions, and scratch that read_conv2d() accepts.
void convolve(const Conv2d& c);

}  // namespace wick::cortex_m::mve
