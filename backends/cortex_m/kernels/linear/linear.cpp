#include "backends/cortex_m/kernels/linear/linear.h"

namespace wick::cortex_m {

bool read_linear_sizes(KernelContext& context, const Tensor& input, const Tensor& weights, const Tensor& out,
                       Linear* linear) {
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

bool read_linear_addend(KernelContext& context, const EValue& bias, const EValue& kernel_sum, Linear* linear) {
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

int32_t accumulate_linear(const Linear& linear, const int8_t* x, const int8_t* w, int64_t n) {
  const int32_t input_offset = linear.is_summed ? 0 : linear.input_offset;
  int32_t sum = linear.addend ? linear.addend[n] : 0;
  for (int64_t k = 0; k < linear.num_inputs; ++k)
    sum = wrapping_add(sum, (x[k] + input_offset) * (w[k] + linear.filter_offset));
  return sum;
}

}  // namespace wick::cortex_m
