#include "backends/cortex_m/kernels/linear_int16/linear_int16.h"

namespace wick::cortex_m {

bool read_linear_int16(KernelContext& context, Span<EValue*> args, LinearInt16* linear) {
  const Tensor &input = *args[0]->tensor, &weights = *args[1]->tensor;
  Tensor& out = *args[7]->tensor;
  if (!require_int16(context, input, out) || !require_dtype(context, weights, DType::i8, "the weights are not int8") ||
      !require(context, weights.rank == 2 && input.rank > 0 && out.rank == input.rank,
               "wanted weights of rank 2, and an input and an output of the same rank of at least 1") ||
      !settle_like(context, input, input.rank - 1u, out) ||
      !require(context, is_contiguous(input) && is_contiguous(weights) && is_contiguous(out),
               "input, weights and output are not all contiguous"))
    return false;
  const size_t last = input.rank - 1u;
  const bool agree = input.sizes[last] == weights.sizes[1] && out.sizes[last] == weights.sizes[0];
  linear->num_inputs = weights.sizes[1];
  linear->num_outputs = weights.sizes[0];
  linear->rows =
      linear->num_outputs == 0 ? 0 : quotient_of_counts(static_cast<int64_t>(out.numel), linear->num_outputs);
  linear->x = input.as<const int16_t>();
  linear->weights = weights.as<const int8_t>();
  linear->y = out.as<int16_t>();
  return require(context, agree, "wanted an input [.., K], weights [N, K] and an output [.., N]") &&
         read_int16_channels(context, *args[2], *args[3]->tensor, *args[4]->tensor, *args[5], *args[6],
                             linear->num_outputs, *args[7]->tensor, &linear->channels);
}

}  // namespace wick::cortex_m
