#include "backends/cortex_m/kernels/activation/activation.h"

namespace wick::cortex_m {

bool read_activation_table(KernelContext& context, Span<EValue*> args, Activation* activation) {
  const Tensor &input = *args[0]->tensor, &lut = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  settle_batch(input, out);
  if (!require_int8(context, input, out) || !require_dtype(context, lut, DType::i8, "the table is not int8") ||
      !require(context, lut.numel == 256 && is_contiguous(lut), "the table does not have 256 contiguous elements") ||
      !require(context, same_layout(input, out), "input and output differ in sizes or layout"))
    return false;
  *activation = {out.numel, input.as<const int8_t>(), lut.as<const int8_t>(), out.as<int8_t>()};
  return true;
}

}  // namespace wick::cortex_m
