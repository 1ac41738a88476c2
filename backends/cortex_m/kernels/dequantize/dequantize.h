// The checked arguments of dequantize_per_tensor. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/quantization_range.h"

namespace wick::cortex_m {

struct Dequantize {
  QuantizationRange range;
  DType dtype;  // int8 or int16
  size_t count;
  const void* q;
  float* x;
};
bool read_dequantize(KernelContext& context, Span<EValue*> args, Dequantize* dequantize);

}  // namespace wick::cortex_m
