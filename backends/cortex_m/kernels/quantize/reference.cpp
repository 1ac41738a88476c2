// quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype): f32 -> int8 or int16.
//   q = clamp(zero_point + round_half_even(x * (1 / scale)), quant_min, quant_max)
// The quotient saturates, and NaN counts as 0, as in Arm's conversion instructions. Source: the scalar form of stock's
// kernel; its form for MVE rounds once, and wraps beyond +-32767 steps.
#include "backends/cortex_m/kernels/quantize/quantize.h"
#include "common/math/float_math.h"

namespace wick::cortex_m::reference {
namespace {

template <typename T>
void quantize(const Quantize& c) {
  constexpr float kLargest = 0x1p30f;  // beyond any zero point
  const float inverse = 1.0f / c.range.scale;
  T* q = static_cast<T*>(c.q);
  for (size_t i = 0; i < c.count; ++i) {
    const float steps = math::round_even_f(c.x[i] * inverse);
    const float bounded = steps > kLargest ? kLargest : steps < -kLargest ? -kLargest : steps;
    const int32_t value = (bounded != bounded ? 0 : static_cast<int32_t>(bounded)) + c.range.zero_point;
    q[i] = static_cast<T>(value < c.range.min ? c.range.min : value > c.range.max ? c.range.max : value);
  }
}

}  // namespace

void quantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  Quantize c;
  if (!read_quantize(context, args, &c)) return;
  if (c.dtype == DType::i8) return quantize<int8_t>(c);
  quantize<int16_t>(c);
}

}  // namespace wick::cortex_m::reference
