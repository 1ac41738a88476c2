// quantized_linear(input, weights, bias?, kernel_sum?, input_offset, filter_offset, output_offset, multipliers, shifts,
// activation_max, activation_min): the maximum comes first. One multiplier and shift for all outputs.
//   y[n] = clamp(requantize(sum_k (x[k] + input_offset) (w[n][k] + filter_offset) + bias[n]) + output_offset)
// A program for MVE has kernel_sum instead of the bias. It holds what does not depend on x,
//   kernel_sum[n] = bias[n] + input_offset * sum_k (w[n][k] + filter_offset)
// so the accumulator is sum_k x[k] w[n][k] + filter_offset * sum_k x[k] + kernel_sum[n]: the same number. A program for
// DSP or scalar code has the bias, or none, and the offsets. Which of the two is given says which form to compute; as
// sums wrap, both have the same bits. Source: arm_fully_connected_s8.
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {
namespace {

struct Linear {
  int64_t rows = 0, num_inputs = 0, num_outputs = 0;
  int32_t input_offset = 0, filter_offset = 0;
  OutputStage stage;
  const int32_t* addend = nullptr;  // bias or kernel_sum
  bool is_summed = false;           // it is kernel_sum
};

bool read_sizes(KernelContext& context, const Tensor& input, const Tensor& weights, const Tensor& out, Linear* linear) {
  if (!require_int8(context, input, out) || !require_dtype(context, weights, DType::i8, "the weights are not int8") ||
      !require(context, weights.rank == 2 && input.rank > 0 && out.rank == input.rank,
               "wanted weights of rank 2, and an input and an output of the same rank of at least 1") ||
      !require(context, is_contiguous(input) && is_contiguous(weights) && is_contiguous(out),
               "input, weights and output are not all contiguous"))
    return false;
  const size_t last = input.rank - 1u;
  bool agree = input.sizes[last] == weights.sizes[1] && out.sizes[last] == weights.sizes[0];
  for (size_t d = 0; d < last; ++d) agree = agree && input.sizes[d] == out.sizes[d];
  linear->num_inputs = weights.sizes[1];
  linear->num_outputs = weights.sizes[0];
  linear->rows = linear->num_outputs == 0 ? 0 : static_cast<int64_t>(out.numel) / linear->num_outputs;
  return require(context, agree, "wanted an input [.., K], weights [N, K] and an output [.., N]");
}

bool read_addend(KernelContext& context, const EValue& bias, const EValue& kernel_sum, Linear* linear) {
  linear->is_summed = !kernel_sum.is_none();
  for (const EValue* value : {&bias, &kernel_sum}) {
    if (value->is_none()) continue;
    if (!check_int32_row(context, *value->tensor, linear->num_outputs,
                         "bias and kernel_sum are not contiguous int32 tensors with one element per output"))
      return false;
    linear->addend = value->tensor->as<const int32_t>();
  }
  return true;
}

bool read_arguments(KernelContext& context, Span<EValue*> args, Linear* linear) {
  const Span<const int64_t> multipliers = args[7]->ints(), shifts = args[8]->ints();
  return read_sizes(context, *args[0]->tensor, *args[1]->tensor, *args[11]->tensor, linear) &&
         read_addend(context, *args[2], *args[3], linear) &&
         read_input_offset(context, *args[4], &linear->input_offset) &&
         read_input_offset(context, *args[5], &linear->filter_offset) &&
         read_zero_point(context, *args[6], &linear->stage.offset) &&
         require(context, multipliers.size() == 1 && shifts.size() == 1,
                 "wanted lists of one multiplier and one shift") &&
         read_requantization(context, multipliers[0], shifts[0], &linear->stage) &&
         read_activation(context, *args[10], *args[9], &linear->stage);
}

int32_t accumulate(const Linear& linear, const int8_t* x, const int8_t* w) {
  const int32_t input_offset = linear.is_summed ? 0 : linear.input_offset;
  int32_t sum = 0;
  for (int64_t k = 0; k < linear.num_inputs; ++k)
    sum = wrapping_add(sum, (x[k] + input_offset) * (w[k] + linear.filter_offset));
  return sum;
}

}  // namespace

void quantized_linear(KernelContext& context, Span<EValue*> args) {
  Linear linear;
  if (!read_arguments(context, args, &linear)) return;
  const int8_t *input = args[0]->tensor->as<const int8_t>(), *weights = args[1]->tensor->as<const int8_t>();
  int8_t* out = args[11]->tensor->as<int8_t>();
  for (int64_t row = 0; row < linear.rows; ++row) {
    for (int64_t n = 0; n < linear.num_outputs; ++n) {
      const int32_t sum = accumulate(linear, input + row * linear.num_inputs, weights + n * linear.num_inputs);
      out[row * linear.num_outputs + n] = linear.stage(wrapping_add(sum, linear.addend ? linear.addend[n] : 0));
    }
  }
}

}  // namespace wick::cortex_m
