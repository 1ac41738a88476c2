// resize2d, four channels at a time. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/resize2d/resize2d.h"

namespace wick::cortex_m::mve {

void resize2d(KernelContext& context, Span<EValue*> args) {
  Resize r;
  if (!read_resize2d(context, args, &r)) return;
  const int32_t count = static_cast<int32_t>(r.to.c), initial = r.offset * (1 << 2 * kTapBits);
  const int32x4_t multiplier = vdupq_n_s32(r.stage.multiplier), shift = vdupq_n_s32(r.stage.shift),
                  min = vdupq_n_s32(r.stage.min), max = vdupq_n_s32(r.stage.max);
  for_each_pixel(r, [&](const Corners& corners, int8_t* y) {
    if (r.is_copy) return copy_bytes(y, corners.pixels[0], count);
    const int8_t *a = corners.pixels[0], *b = corners.pixels[1], *c = corners.pixels[2], *d = corners.pixels[3];
    for (int32_t at = 0; at < count; at += 4) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - at));
      int32x4_t sum = vdupq_n_s32(initial);
      sum = vmlaq_n_s32(sum, vldrbq_z_s32(a + at, live), corners.weights[0]);
      sum = vmlaq_n_s32(sum, vldrbq_z_s32(b + at, live), corners.weights[1]);
      sum = vmlaq_n_s32(sum, vldrbq_z_s32(c + at, live), corners.weights[2]);
      sum = vmlaq_n_s32(sum, vldrbq_z_s32(d + at, live), corners.weights[3]);
      const int32x4_t scaled = vaddq_n_s32(requantize_any(sum, multiplier, shift), r.stage.offset);
      vstrbq_p_s32(y + at, clamp(scaled, min, max), live);
    }
  });
}

}  // namespace wick::cortex_m::mve
