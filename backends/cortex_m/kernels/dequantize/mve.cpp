// dequantize_per_tensor, four elements at a time. Vectors flush subnormal results to 0, so the reference computes
// extreme scales. The equation: reference.cpp.
#include "backends/cortex_m/kernels/dequantize/dequantize.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {

void dequantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  Dequantize c;
  if (!read_dequantize(context, args, &c)) return;
  if (c.range.scale < 0x1p-100f) return reference::dequantize_per_tensor(context, args);
  const int8_t* narrow = static_cast<const int8_t*>(c.q);
  const int16_t* wide = static_cast<const int16_t*>(c.q);
  for (int32_t at = 0, count = static_cast<int32_t>(c.count); at < count; at += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - at));
    const int32x4_t q = c.dtype == DType::i8 ? vldrbq_z_s32(narrow + at, live) : vldrhq_z_s32(wide + at, live);
    const float32x4_t x = vmulq_n_f32(vcvtq_f32_s32(vsubq_n_s32(q, c.range.zero_point)), c.range.scale);
    vstrwq_p_f32(c.x + at, x, live);
  }
}

}  // namespace wick::cortex_m::mve
