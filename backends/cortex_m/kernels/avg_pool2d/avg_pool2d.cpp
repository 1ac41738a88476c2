#include "backends/cortex_m/kernels/avg_pool2d/avg_pool2d.h"

namespace wick::cortex_m {

bool read_avg_pool2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, AvgPool2d* pool) {
  const Tensor &input = *args[0]->tensor, &out = *args[9]->tensor;
  pool->x = input.as<const int8_t>();
  pool->y = out.as<int8_t>();
  return read_scratch(context, args, 8, 0, &pool->scratch) &&
         read_pooling(context, args.subspan(1, 3), args[4]->boolean, input, out, sizes, &pool->window, &pool->from,
                      &pool->to);
}

}  // namespace wick::cortex_m
