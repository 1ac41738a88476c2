// Calls of the kernels for convolutions on int16. C++20.
#pragma once
#include "backends/cortex_m/compile/convolution/convolution.h"
#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/ops/int16/sums.h"

namespace wick::cortex_m {

/// conv2d_int16, or depthwise_conv2d_int16 where each group has one channel, on an image `x`. Of `convolution` its
/// geometry, its filter and the range of its result count.
compiler::Value* int16_convolution(compiler::Builder& builder, compiler::Value* x, const Convolution& convolution,
                                   const Int16Sums& sums, Isa isa);

}  // namespace wick::cortex_m
