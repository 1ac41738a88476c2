// The checked arguments of conv2d_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

struct Conv2dInt16 {
  Window window;
  Image from, to;
  int64_t inputs = 0, outputs = 0;  // channels of one group
  Int16Channels channels;
  const int16_t* x = nullptr;
  const int8_t* weights = nullptr;
  int16_t* out = nullptr;
  Span<uint8_t> scratch;  // of any size
};
bool read_conv2d_int16(KernelContext& context, Span<EValue*> args, Conv2dInt16* c);

/// Reads the tensors of a convolution on int16, like read_images().
bool read_int16_images(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out, Image* from,
                       Image* to);

}  // namespace wick::cortex_m
