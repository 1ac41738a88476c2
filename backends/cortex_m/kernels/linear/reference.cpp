// quantized_linear(input, weights, bias?, kernel_sum?, input_offset, filter_offset, output_offset, multipliers, shifts,
// activation_max, activation_min): the maximum comes first. One multiplier and shift for all outputs.
//   y[n] = clamp(requantize(sum_k (x[k] + input_offset) (w[n][k] + filter_offset) + bias[n]) + output_offset)
// A program for MVE has kernel_sum instead of the bias. It holds what does not depend on x,
//   kernel_sum[n] = bias[n] + input_offset * sum_k (w[n][k] + filter_offset)
// so the accumulator is sum_k x[k] w[n][k] + filter_offset * sum_k x[k] + kernel_sum[n]: the same number. A program for
// DSP or scalar code has the bias, or none, and the offsets. Which of the two is given says which form to compute; as
// sums wrap, both have the same bits. Source: arm_fully_connected_s8.
#include "backends/cortex_m/kernels/linear/linear.h"

namespace wick::cortex_m {
namespace {

bool read_arguments(KernelContext& context, Span<EValue*> args, Linear* linear) {
  const Span<const int64_t> multipliers = args[7]->ints(), shifts = args[8]->ints();
  return read_linear_sizes(context, *args[0]->tensor, *args[1]->tensor, *args[11]->tensor, linear) &&
         read_linear_addend(context, *args[2], *args[3], linear) &&
         read_input_offset(context, *args[4], &linear->input_offset) &&
         read_input_offset(context, *args[5], &linear->filter_offset) &&
         read_zero_point(context, *args[6], &linear->stage.offset) &&
         require(context, multipliers.size() == 1 && shifts.size() == 1,
                 "wanted lists of one multiplier and one shift") &&
         read_requantization(context, multipliers[0], shifts[0], &linear->stage) &&
         read_activation(context, *args[10], *args[9], &linear->stage);
}

}  // namespace

void quantized_linear(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_arguments(context, args, &linear)) return;
  const int8_t *input = args[0]->tensor->as<const int8_t>(), *weights = args[1]->tensor->as<const int8_t>();
  int8_t* out = args[11]->tensor->as<int8_t>();
  for (int64_t row = 0; row < linear.rows; ++row) {
    for (int64_t n = 0; n < linear.num_outputs; ++n) {
      const int8_t *x = input + row * linear.num_inputs, *w = weights + n * linear.num_inputs;
      out[row * linear.num_outputs + n] = linear.stage(accumulate_linear(linear, x, w, n));
    }
  }
}

}  // namespace wick::cortex_m
