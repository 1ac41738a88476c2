// The checked arguments of quantized_avg_pool2d. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {

struct AvgPool2d {
  Window window;
  Image from, to;
  const int8_t* x;
  int8_t* y;
  Span<uint8_t> scratch;  // of any size
};
bool read_avg_pool2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, AvgPool2d* pool);

}  // namespace wick::cortex_m
