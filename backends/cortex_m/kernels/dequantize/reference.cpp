// dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype of input): int8 or int16 -> f32.
//   x = (q - zero_point) * scale, in f32
#include "backends/cortex_m/kernels/quantization_range.h"

namespace wick::cortex_m {
namespace {

template <typename T>
void dequantize(const Tensor& input, const QuantizationRange& range, Tensor& out) {
  const T* q = input.as<const T>();
  float* x = out.as<float>();
  for (size_t i = 0; i < out.numel; ++i) x[i] = static_cast<float>(q[i] - range.zero_point) * range.scale;
}

}  // namespace

void dequantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[6]->tensor;
  QuantizationRange range;
  if (!require_dtype(context, out, DType::f32, "the output is not f32") ||
      !read_range(context, args.subspan(1, 5), input, &range) ||
      !require(context, same_layout(input, out), "input and output differ in sizes or layout"))
    return;
  if (input.dtype == DType::i8) return dequantize<int8_t>(input, range, out);
  dequantize<int16_t>(input, range, out);
}

}  // namespace wick::cortex_m
