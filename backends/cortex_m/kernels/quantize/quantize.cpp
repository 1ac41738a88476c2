#include "backends/cortex_m/kernels/quantize/quantize.h"

namespace wick::cortex_m {

bool read_quantize(KernelContext& context, Span<EValue*> args, Quantize* quantize) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[6]->tensor;
  if (!settle_like(context, input, input.rank, out)) return false;
  quantize->dtype = out.dtype;
  quantize->count = out.numel;
  quantize->x = input.as<const float>();
  quantize->q = out.data;
  return require_dtype(context, input, DType::f32, "the input is not f32") &&
         read_range(context, args.subspan(1, 5), out, &quantize->range) &&
         require(context, same_layout(input, out), "input and output differ in sizes or layout");
}

}  // namespace wick::cortex_m
