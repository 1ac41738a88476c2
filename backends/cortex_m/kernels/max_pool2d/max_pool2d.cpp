#include "backends/cortex_m/kernels/max_pool2d/max_pool2d.h"

namespace wick::cortex_m {

bool read_max_pool2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, MaxPool2d* pool) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[10]->tensor;
  int32_t dilation[2], zero_in = 0, zero_out = 0;
  if (!read_pooling(context, args.subspan(1, 3), false, input, out, sizes, &pool->window, &pool->from, &pool->to))
    return false;
  pool->x = input.as<const int8_t>();
  pool->y = out.as<int8_t>();
  return read_pair(context, *args[4], 1, true, dilation, "dilation is not two numbers of at least 1") &&
         require(context, dilation[0] == 1 && dilation[1] == 1 && !args[5]->boolean,
                 "CMSIS-NN has no max pooling with dilation or ceil mode") &&
         read_zero_point(context, *args[6], &zero_in) && read_zero_point(context, *args[7], &zero_out) &&
         require(context, zero_in == zero_out, "the zero points of input and output differ") &&
         read_activation(context, *args[8], *args[9], &pool->bounds);
}

}  // namespace wick::cortex_m
