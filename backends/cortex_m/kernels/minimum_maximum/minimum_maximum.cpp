#include "backends/cortex_m/kernels/minimum_maximum/minimum_maximum.h"

namespace wick::cortex_m {

bool read_extremum(KernelContext& context, Span<EValue*> args, Extremum* extremum) {
  const Tensor &a = *args[0]->tensor, &b = *args[1]->tensor;
  Tensor& out = *args[2]->tensor;
  if (!require_int8(context, a, out) || !require_int8(context, b, out) ||
      !read_broadcast(context, a, b, out, &extremum->broadcast))
    return false;
  extremum->a = a.as<const int8_t>();
  extremum->b = b.as<const int8_t>();
  extremum->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
