// The checked arguments of quantized_transpose_conv2d. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

struct TransposeConv2d {
  Window window;
  Image from, to;
  ChannelQuantization quantization;
  const int8_t *x, *weights;
  int8_t* out;
  Span<uint8_t> row_scratch, filter_scratch;
};
bool read_transpose_conv2d(KernelContext& context, Span<EValue*> args, TransposeConv2d* c);

}  // namespace wick::cortex_m
