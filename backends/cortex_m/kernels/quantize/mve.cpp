// quantize_per_tensor, four elements at a time. Vectors flush subnormal numbers to 0, so the reference computes extreme
// scales. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/quantize/quantize.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

/// Numbers in steps. The conversion rounds halves to even, saturates, and converts NaN to 0.
int32x4_t steps_of(float32x4_t x, float inverse) { return vcvtnq_s32_f32(vmulq_n_f32(x, inverse)); }

/// Writes int8 elements. Steps beyond 16 bits are beyond the range for any zero point.
void quantize_bytes(const float* x, int32_t count, const QuantizationRange& range, float inverse, int8_t* q) {
  const int16x8_t min = vdupq_n_s16(static_cast<int16_t>(range.min)),
                  max = vdupq_n_s16(static_cast<int16_t>(range.max));
  const int32_t zero_point = range.zero_point;
  for (int32_t eights = count / 8; eights > 0; --eights, x += 8, q += 8) {
    const float32x4x2_t both = {{vldrwq_f32(x), vldrwq_f32(x + 4)}};
    // The halves of each word: elements i and i + 4.
    const int16x8_t value =
        narrow(steps_of(both.val[0], inverse), steps_of(both.val[1], inverse), zero_point, min, max);
    const int32x4_t words = vreinterpretq_s32_s16(value);
    vstrbq_s32(q, words);
    vstrbq_s32(q + 4, vshrq_n_s32(words, 16));
  }
  const mve_pred16_t low = vctp32q(static_cast<uint32_t>(count % 8)),
                     high = vctp32q(static_cast<uint32_t>(count % 8 < 4 ? 0 : count % 8 - 4));
  const int32x4_t words = vreinterpretq_s32_s16(narrow(
      steps_of(vldrwq_z_f32(x, low), inverse), steps_of(vldrwq_z_f32(x + 4, high), inverse), zero_point, min, max));
  vstrbq_p_s32(q, words, low);
  vstrbq_p_s32(q + 4, vshrq_n_s32(words, 16), high);
}

void quantize_halves(const float* x, int32_t count, const QuantizationRange& range, float inverse, int16_t* q) {
  const int32x4_t min = vdupq_n_s32(range.min), max = vdupq_n_s32(range.max);
  const int32_t zero_point = range.zero_point;
  for (int32_t left = count; left > 0; left -= 4, x += 4, q += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(left));
    const int32x4_t steps = vqaddq_n_s32(steps_of(vldrwq_z_f32(x, live), inverse), zero_point);
    vstrhq_p_s32(q, clamp(steps, min, max), live);
  }
}

}  // namespace

void quantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  Quantize c;
  if (!read_quantize(context, args, &c)) return;
  if (c.range.scale < 0x1p-60f || c.range.scale > 0x1p60f) return reference::quantize_per_tensor(context, args);
  const float inverse = 1.0f / c.range.scale;
  const int32_t count = static_cast<int32_t>(c.count);
  if (c.dtype == DType::i8)
    quantize_bytes(c.x, count, c.range, inverse, static_cast<int8_t*>(c.q));
  else
    quantize_halves(c.x, count, c.range, inverse, static_cast<int16_t*>(c.q));
}

}  // namespace wick::cortex_m::mve
