// quantized_add(a, zero_point, multiplier, shift, b, zero_point, multiplier, shift, output zero_point, multiplier,
// shift, activation_min, activation_max):
//   A = requantize((a - zero_point) * 2^20), B alike; y = clamp(requantize(A + B) + output zero_point)
// Source: arm_elementwise_add_s8 with a left shift of 20. wick_cortex_m::add takes the same arguments and operands that
// broadcast as NumPy does, in any layouts, rank 4 at most.
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

void broadcast_add(KernelContext& context, Span<EValue*> args) {
  BroadcastAdd c;
  if (!read_broadcast_add(context, args, &c)) return;
  const Add& add = c.add;
  c.broadcast.for_each([&](int64_t i, int64_t j, int64_t k) {
    add.y[k] = add.stage(wrapping_add(add.first(add.a[i]), add.second(add.b[j])));
  });
}

}  // namespace wick::cortex_m::reference
