// resize2d on cores without vectors. C++17, freestanding.
#include <string.h>

#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m::plain {

void resize2d(KernelContext& context, Span<EValue*> args) {
  Resize r;
  if (!read_resize2d(context, args, &r)) return;
  const size_t count = static_cast<size_t>(r.to.c);
  const OutputStage stage = r.stage;
  const int32_t initial = r.offset * (1 << 2 * kTapBits);
  for_each_pixel(r, [&](const Corners& corners, int8_t* y) {
    if (r.is_copy) {
      memcpy(y, corners.pixels[0], count);
      return;
    }
    const int8_t *a = corners.pixels[0], *b = corners.pixels[1], *c = corners.pixels[2], *d = corners.pixels[3];
    const int32_t* w = corners.weights;
    for (int8_t* const last = y + count; y != last;)
      *y++ = stage(initial + w[0] * *a++ + w[1] * *b++ + w[2] * *c++ + w[3] * *d++);
  });
}

}  // namespace wick::cortex_m::plain
