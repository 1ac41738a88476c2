// quantized_mul(a, zero_point, b, zero_point, output zero_point, multiplier, shift):
//   y = clamp(requantize((a - zero_point) * (b - zero_point)) + output zero_point, -128, 127)
// The product in a decomposed hardswish moves the zero point of b by 3 / scale, beyond int8; CMSIS-NN needs differences
// that fit 16 bits. Source: arm_elementwise_mul_s8. wick_cortex_m::mul takes the same arguments, and operands of any
// layout that broadcast as in NumPy, rank 4 at most.
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

void broadcast_mul(KernelContext& context, Span<EValue*> args) {
  BroadcastMul c;
  if (!read_broadcast_mul(context, args, &c)) return;
  const Mul& mul = c.mul;
  c.broadcast.for_each([&](int64_t i, int64_t j, int64_t k) {
    mul.y[k] = mul.stage((mul.a[i] - mul.zero_a) * (mul.b[j] - mul.zero_b));
  });
}

}  // namespace wick::cortex_m::reference
