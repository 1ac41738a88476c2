// The depthwise convolution of mve.cpp, for weights of any form. C++17, freestanding.
#pragma once
#include <arm_mve.h>

#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace wick::cortex_m::mve {

/// The weights of a tap for 16 input channels: that of output `channel`, and of each depth_multiplier-th one after it.
/// There are `count` such channels; what the lanes behind them hold is never used.
using LoadWeights = int8x16_t (*)(const DepthwiseConv2d& c, int32_t tap, int32_t channel, int32_t count);

/// Writes the output. False, with nothing written, if the window does not fit any memory. Requires: near positions.
bool convolve_depthwise(const DepthwiseConv2d& c, LoadWeights load);

}  // namespace wick::cortex_m::mve
