// wick_cortex_m::linear_per_channel(input, weights, bias?, kernel_sum?, input_offset, filter_offset, output_offset,
// multipliers, shifts, activation_min, activation_max): as quantized_linear, with a multiplier and a shift for each
// output, int32 [N] both. Stock has no such operator; CMSIS-NN has arm_fully_connected_per_channel_s8.
#include "backends/cortex_m/kernels/linear/linear.h"

namespace wick::cortex_m {
namespace {

bool read_scales(KernelContext& context, const Tensor& multipliers, const Tensor& shifts, Linear* linear) {
  static constexpr char kWanted[] =
      "multipliers and shifts are not contiguous int32 tensors with one element per output";
  if (!check_int32_row(context, multipliers, linear->num_outputs, kWanted) ||
      !check_int32_row(context, shifts, linear->num_outputs, kWanted))
    return false;
  for (int64_t n = 0; n < linear->num_outputs; ++n) {
    if (!read_requantization(context, multipliers.as<const int32_t>()[n], shifts.as<const int32_t>()[n],
                             &linear->stage))
      return false;
  }
  return true;
}

bool read_arguments(KernelContext& context, Span<EValue*> args, Linear* linear) {
  return read_linear_sizes(context, *args[0]->tensor, *args[1]->tensor, *args[11]->tensor, linear) &&
         read_linear_addend(context, *args[2], *args[3], linear) &&
         read_input_offset(context, *args[4], &linear->input_offset) &&
         read_input_offset(context, *args[5], &linear->filter_offset) &&
         read_zero_point(context, *args[6], &linear->stage.offset) &&
         read_scales(context, *args[7]->tensor, *args[8]->tensor, linear) &&
         read_activation(context, *args[9], *args[10], &linear->stage);
}

}  // namespace

void linear_per_channel(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_arguments(context, args, &linear)) return;
  const int8_t *input = args[0]->tensor->as<const int8_t>(), *weights = args[1]->tensor->as<const int8_t>();
  const int32_t *multipliers = args[7]->tensor->as<const int32_t>(), *shifts = args[8]->tensor->as<const int32_t>();
  int8_t* out = args[11]->tensor->as<int8_t>();
  for (int64_t row = 0; row < linear.rows; ++row) {
    for (int64_t n = 0; n < linear.num_outputs; ++n) {
      OutputStage stage = linear.stage;
      stage.multiplier = multipliers[n];
      stage.shift = shifts[n];
      const int8_t *x = input + row * linear.num_inputs, *w = weights + n * linear.num_inputs;
      out[row * linear.num_outputs + n] = stage(accumulate_linear(linear, x, w, n));
    }
  }
}

}  // namespace wick::cortex_m
