#include "backends/cortex_m/kernels/sum_pool2d/sum_pool2d.h"

namespace wick::cortex_m {

bool read_sum_pool2d(KernelContext& context, Span<EValue*> args, SumPool2d* pool) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[10]->tensor;
  if (!read_pooling(context, args.subspan(1, 3), false, input, out, ImageSizes::nchw, &pool->window, &pool->from,
                    &pool->to))
    return false;
  pool->x = input.as<const int8_t>();
  pool->y = out.as<int8_t>();
  return read_input_offset(context, *args[4], &pool->input_offset) &&
         read_zero_point(context, *args[5], &pool->stage.offset) &&
         read_requantization(context, args[6]->integer, args[7]->integer, &pool->stage) &&
         read_activation(context, *args[8], *args[9], &pool->stage);
}

}  // namespace wick::cortex_m
