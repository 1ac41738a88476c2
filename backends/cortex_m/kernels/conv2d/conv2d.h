// The checked arguments of quantized_conv2d. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

struct Conv2d {
  Window window;
  Image from, to;
  int64_t inputs, outputs;  // channels of one group
  ChannelQuantization quantization;
  const int8_t *x, *weights;
  int8_t* out;
  Span<uint8_t> scratch;
  int64_t all_outputs = 0;  // channels of a position of `out`, if they are more than the outputs computed here

  int64_t out_step() const { return all_outputs > 0 ? all_outputs : to.c; }
};
bool read_conv2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, Conv2d* c);

}  // namespace wick::cortex_m
