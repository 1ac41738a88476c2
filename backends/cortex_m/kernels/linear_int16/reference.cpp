// wick_cortex_m::linear_int16(input, weights, bias?, multipliers, shifts, activation_min, activation_max): int16 [..,
// K] times int8 [N, K], with multipliers and shifts for each output or one of each.
//   y[n] = clamp(requantize(sum_k x[k] w[n][k] + bias[n]))
// With an int32 bias or none, sums wrap at 32 bits. With an int64 bias they have 64 bits, and the multiplier is rounded
// to 16 bits (int16.h). Source: arm_convolve_s16 for 1x1, which has both forms of the bias; arm_fully_connected_s16 has
// only the one for int64.
#include "backends/cortex_m/kernels/linear_int16/linear_int16.h"

namespace wick::cortex_m::reference {

void linear_int16(KernelContext& context, Span<EValue*> args) {
  LinearInt16 linear;
  if (!read_linear_int16(context, args, &linear)) return;
  for (int64_t row = 0; row < linear.rows; ++row) {
    const int16_t* x = linear.x + row * linear.num_inputs;
    for (int64_t n = 0; n < linear.num_outputs; ++n) {
      const int8_t* w = linear.weights + n * linear.num_inputs;
      int64_t products = 0;
      for (int64_t k = 0; k < linear.num_inputs; ++k) products += x[k] * w[k];
      *linear.y++ = linear.channels.finish_products(products, n);
    }
  }
}

}  // namespace wick::cortex_m::reference
