#include "backends/cortex_m/kernels/resize2d_int16/resize2d_int16.h"

namespace wick::cortex_m {

bool read_resize2d_int16(KernelContext& context, Span<EValue*> args, ResizeInt16* resize) {
  const Tensor& x = *args[0]->tensor;
  Tensor& y = *args[7]->tensor;
  if (!require_int16(context, x, y) || !read_resized_images(context, args, y, kWideTapBits, resize) ||
      !read_requantization(context, args[3]->integer, args[4]->integer, &resize->stage) ||
      !read_int16_range(context, *args[5], *args[6], &resize->stage.min, &resize->stage.max))
    return false;
  resize->x = x.as<const int16_t>();
  resize->y = y.as<int16_t>();
  return true;
}

}  // namespace wick::cortex_m
