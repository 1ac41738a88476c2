// quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype): f32 -> int8 or int16.
//   q = clamp(zero_point + round_half_even(x * (1 / scale)), quant_min, quant_max)
// The quotient saturates and NaN counts as 0, as in the conversion instructions of Arm. Source: the scalar form of
// stock's kernel; its form for MVE rounds once and wraps beyond +-32767 steps.
#include "backends/cortex_m/kernels/quantization_range.h"
#include "common/math/float_math.h"

namespace wick::cortex_m {
namespace {

template <typename T>
void quantize(const Tensor& input, float inverse, const QuantizationRange& range, Tensor& out) {
  constexpr float kLargest = 0x1p30f;  // beyond any zero point
  const float* x = input.as<const float>();
  T* q = out.as<T>();
  for (size_t i = 0; i < out.numel; ++i) {
    const float steps = math::round_even_f(x[i] * inverse);
    const float bounded = steps > kLargest ? kLargest : steps < -kLargest ? -kLargest : steps;
    const int32_t value = (bounded != bounded ? 0 : static_cast<int32_t>(bounded)) + range.zero_point;
    q[i] = static_cast<T>(value < range.min ? range.min : value > range.max ? range.max : value);
  }
}

}  // namespace

void quantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[6]->tensor;
  QuantizationRange range;
  if (!require_dtype(context, input, DType::f32, "the input is not f32") ||
      !read_range(context, args.subspan(1, 5), out, &range) ||
      !require(context, same_layout(input, out), "input and output differ in sizes or layout"))
    return;
  const float inverse = 1.0f / range.scale;
  if (out.dtype == DType::i8) return quantize<int8_t>(input, inverse, range, out);
  quantize<int16_t>(input, inverse, range, out);
}

}  // namespace wick::cortex_m
