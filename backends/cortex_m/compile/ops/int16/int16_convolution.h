// Calls of the int16 convolution kernels. C++20.
#pragma once
#include "backends/cortex_m/compile/convolution/convolution.h"
#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/ops/int16/sums.h"

namespace wick::cortex_m {

/// Calls conv2d_int16, or depthwise_conv2d_int16 where each group has one channel, on an image `x`. Only the geometry,
/// the filter and the result's range of `convolution` are used.
compiler::Value* int16_convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
                                   const Int16Sums& sums, Isa isa);

}  // namespace wick::cortex_m
