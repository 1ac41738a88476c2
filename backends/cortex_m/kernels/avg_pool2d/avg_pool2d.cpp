#include "backends/cortex_m/kernels/avg_pool2d/avg_pool2d.h"

namespace wick::cortex_m {

// ExecuTorch 1.4 passes no ceil_mode (it is false), and earlier versions pass no scratch tensor either. The return slot
// counts as an argument.
constexpr size_t kArgs = 11, kArgsWithoutScratch = 9;

bool read_avg_pool2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, AvgPool2d* pool) {
  const size_t last = args.size() - 2;
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[last]->tensor;
  const bool ceil_mode = args.size() == kArgs && args[4]->boolean;
  if (!read_pooling(context, args.subspan(1, 3), ceil_mode, input, out, sizes, &pool->window, &pool->from, &pool->to))
    return false;
  pool->scratch = {};
  pool->x = input.as<const int8_t>();
  pool->y = out.as<int8_t>();
  return args.size() == kArgsWithoutScratch || read_scratch(context, args, last - 1, 0, &pool->scratch);
}

}  // namespace wick::cortex_m
