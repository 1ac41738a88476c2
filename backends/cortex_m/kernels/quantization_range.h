// The arguments that quantize_per_tensor and dequantize_per_tensor share. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

struct QuantizationRange {
  float scale = 0;
  int32_t zero_point = 0, min = 0, max = 0;
};

/// From scale, zero_point, quant_min, quant_max, dtype. The dtype must be that of `quantized`, int8 or int16, and the
/// numbers must lie in it; the scale must be finite and positive as f32.
bool read_range(KernelContext& context, Span<EValue*> args, const Tensor& quantized, QuantizationRange* range);

}  // namespace wick::cortex_m
