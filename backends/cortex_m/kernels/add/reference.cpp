// quantized_add(a, zero_point, multiplier, shift, b, zero_point, multiplier, shift, output zero_point, multiplier,
// shift, activation_min, activation_max):
//   A = requantize((a - zero_point) * 2^20), B alike; y = clamp(requantize(A + B) + output zero_point)
// Source: arm_elementwise_add_s8 with a left shift of 20.
#include "backends/cortex_m/kernels/add/add.h"

namespace wick::cortex_m::reference {

void quantized_add(KernelContext& context, Span<EValue*> args) {
  Add add;
  if (!read_add(context, args, &add)) return;
  for (size_t i = 0; i < add.count; ++i) {
    const int32_t a = add.first(add.a[i % add.operands.period_a]), b = add.second(add.b[i % add.operands.period_b]);
    add.y[i] = add.stage(wrapping_add(a, b));
  }
}

}  // namespace wick::cortex_m::reference
