// The depthwise convolution of mve.cpp, for weights in any format. C++17, freestanding.
#pragma once
#include <arm_mve.h>

#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace wick::cortex_m::mve {

/// Loads the weights of tap `tap` for 16 input channels: those of output `channel`, and of each depth_multiplier-th
/// output after it. Only the first `count` lanes are used.
using LoadWeights = int8x16_t (*)(const DepthwiseConv2d& c, int32_t tap, int32_t channel, int32_t count);

/// Writes the output. Returns false, with nothing written, if no memory can hold the window. Requires: near positions.
bool convolve_depthwise(const DepthwiseConv2d& c, LoadWeights load);

}  // namespace wick::cortex_m::mve
