// The checked arguments of quantized_depthwise_conv2d. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

struct DepthwiseConv2d {
  Window window;
  Image from, to;
  int32_t depth_multiplier = 0;
  ChannelQuantization quantization;
  const int8_t *x, *weights;
  int8_t* out;
  Span<uint8_t> scratch;  // of any size
};
bool read_depthwise_conv2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, DepthwiseConv2d* c);

}  // namespace wick::cortex_m
