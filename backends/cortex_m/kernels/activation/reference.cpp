// quantized_activation(input, lut): y = lut[x + 128]. The table holds the function (sigmoid, tanh, silu, gelu) for all
// values of int8, with both quantizations in it.
#include "backends/cortex_m/kernels/activation/activation.h"

namespace wick::cortex_m::reference {

void quantized_activation(KernelContext& context, Span<EValue*> args) {
  Activation a;
  if (!read_activation_table(context, args, &a)) return;
  for (size_t i = 0; i < a.count; ++i) a.y[i] = a.table[a.x[i] + 128];
}

}  // namespace wick::cortex_m::reference
