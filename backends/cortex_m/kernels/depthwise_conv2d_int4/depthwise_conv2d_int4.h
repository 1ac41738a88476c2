// The checked arguments of depthwise_conv2d_int4. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "backends/cortex_m/kernels/int4.h"

namespace wick::cortex_m {

/// A row of packed weights for each tap, one weight for each output.
struct DepthwiseConv2dInt4 : DepthwiseConv2d {
  int32_t row_bytes = 0;

  int32_t weight(int64_t tap, int64_t channel) const { return int4_weight(weights + tap * row_bytes, channel); }
};
bool read_depthwise_conv2d_int4(KernelContext& context, Span<EValue*> args, DepthwiseConv2dInt4* c);

}  // namespace wick::cortex_m
