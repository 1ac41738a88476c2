// quantize_per_tensor, four elements at a time. Vectors take numbers below 2^-126 for 0, so extreme scales are left to
// the reference. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/quantize/quantize.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

/// Conversion rounds halves to even, saturates and takes NaN for 0.
int32x4_t quantized(float32x4_t x, float inverse, const QuantizationRange& range) {
  const int32x4_t steps = vcvtnq_s32_f32(vmulq_n_f32(x, inverse));
  return clamp(vqaddq_n_s32(steps, range.zero_point), vdupq_n_s32(range.min), vdupq_n_s32(range.max));
}

}  // namespace

void quantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  Quantize c;
  if (!read_quantize(context, args, &c)) return;
  if (c.range.scale < 0x1p-60f || c.range.scale > 0x1p60f) return reference::quantize_per_tensor(context, args);
  const float inverse = 1.0f / c.range.scale;
  int8_t* narrow = static_cast<int8_t*>(c.q);
  int16_t* wide = static_cast<int16_t*>(c.q);
  for (int32_t at = 0, count = static_cast<int32_t>(c.count); at < count; at += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - at));
    const int32x4_t value = quantized(vldrwq_z_f32(c.x + at, live), inverse, c.range);
    if (c.dtype == DType::i8) {
      vstrbq_p_s32(narrow + at, value, live);
    } else {
      vstrhq_p_s32(wide + at, value, live);
    }
  }
}

}  // namespace wick::cortex_m::mve
