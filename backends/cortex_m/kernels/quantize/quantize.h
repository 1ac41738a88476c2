// The checked arguments of quantize_per_tensor. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/quantization_range.h"

namespace wick::cortex_m {

struct Quantize {
  QuantizationRange range;
  DType dtype;  // int8 or int16
  size_t count;
  const float* x;
  void* q;
};
bool read_quantize(KernelContext& context, Span<EValue*> args, Quantize* quantize);

}  // namespace wick::cortex_m
