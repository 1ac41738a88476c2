// The checked arguments of quantized_max_pool2d. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {

struct MaxPool2d {
  Window window;
  Image from, to;
  OutputStage bounds;  // only min and max are used
  const int8_t* x;
  int8_t* y;
};
bool read_max_pool2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, MaxPool2d* pool);

}  // namespace wick::cortex_m
