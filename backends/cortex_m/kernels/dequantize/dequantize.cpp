#include "backends/cortex_m/kernels/dequantize/dequantize.h"

namespace wick::cortex_m {

bool read_dequantize(KernelContext& context, Span<EValue*> args, Dequantize* dequantize) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[6]->tensor;
  if (!settle_like(context, input, input.rank, out)) return false;
  dequantize->dtype = input.dtype;
  dequantize->count = out.numel;
  dequantize->q = input.data;
  dequantize->x = out.as<float>();
  return require_dtype(context, out, DType::f32, "the output is not f32") &&
         read_range(context, args.subspan(1, 5), input, &dequantize->range) &&
         require(context, same_layout(input, out), "input and output differ in sizes or layout");
}

}  // namespace wick::cortex_m
