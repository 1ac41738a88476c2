// The checked arguments of conv2d_int4. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"
#include "backends/cortex_m/kernels/int4.h"

namespace wick::cortex_m {

/// The weights are rows of `row_bytes`, one for each output; quantization.bias is bias or kernel_sum.
struct Conv2dInt4 : Conv2d {
  bool is_summed = false;  // whether it is kernel_sum
  int32_t terms = 0, row_bytes = 0;
};
bool read_conv2d_int4(KernelContext& context, Span<EValue*> args, Conv2dInt4* c);

}  // namespace wick::cortex_m
