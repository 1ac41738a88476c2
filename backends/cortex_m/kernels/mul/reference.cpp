// quantized_mul(a, zero_point, b, zero_point, output zero_point, multiplier, shift):
//   y = clamp(requantize((a - zero_point) * (b - zero_point)) + output zero_point, -128, 127)
// The product of a decomposed hardswish moves the zero point of b by 3 / scale, beyond int8; CMSIS-NN needs the
// differences to fit 16 bits. Source: arm_elementwise_mul_s8.
#include "backends/cortex_m/kernels/mul/mul.h"

namespace wick::cortex_m::reference {

void quantized_mul(KernelContext& context, Span<EValue*> args) {
  Mul mul;
  if (!read_mul(context, args, &mul)) return;
  for (size_t i = 0; i < mul.count; ++i) {
    const int32_t a = mul.a[i % mul.operands.period_a] - mul.zero_a, b = mul.b[i % mul.operands.period_b] - mul.zero_b;
    mul.y[i] = mul.stage(a * b);
  }
}

}  // namespace wick::cortex_m::reference
