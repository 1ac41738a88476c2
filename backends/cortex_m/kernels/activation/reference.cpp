// quantized_activation(input, lut): y = lut[x + 128]. The table holds the function (sigmoid, tanh, silu, gelu) for all
// values of int8, with both quantizations in it.
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

void quantized_activation(KernelContext& context, Span<EValue*> args) {
  const Tensor &input = *args[0]->tensor, &lut = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!require_int8(context, input, out) || !require_dtype(context, lut, DType::i8, "the table is not int8") ||
      !require(context, lut.numel == 256 && is_contiguous(lut), "the table does not have 256 contiguous elements") ||
      !require(context, same_layout(input, out), "input and output differ in sizes or layout"))
    return;
  const int8_t *x = input.as<const int8_t>(), *table = lut.as<const int8_t>();
  int8_t* y = out.as<int8_t>();
  for (size_t i = 0; i < out.numel; ++i) y[i] = table[x[i] + 128];
}

}  // namespace wick::cortex_m
