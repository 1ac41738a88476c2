// graded_lookup_int16, four elements at a time. The equation: reference.cpp.
#include "backends/cortex_m/kernels/graded_lookup_int16/graded_lookup_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {
namespace {

/// v for x >= 0, from the table at `at`.
int32x4_t lookup_positive(const int32_t* table, const GradedLookup& lookup, int32x4_t x, int32x4_t at,
                          mve_pred16_t live) {
  const int32x4_t width = vsubq_s32(vdupq_n_s32(31 - lookup.bits), vclzq_s32(x));
  const int32x4_t e = vmaxq_s32(width, vdupq_n_s32(0)), down = vnegq_s32(e);
  const int32x4_t rest = vbicq_s32(x, vshlq_s32(vdupq_n_s32(-1), e));
  const int32x4_t place = vaddq_s32(at, vaddq_s32(vshlq_r_s32(e, lookup.bits), vshlq_s32(x, down)));
  const uint32x4_t index = vreinterpretq_u32_s32(place);
  const int32x4_t first = vldrwq_gather_shifted_offset_z_s32(table, index, live);
  // At the last entry `rest` is 0: it has no next entry, and needs none.
  const mve_pred16_t between = vcmpneq_m_n_s32(rest, 0, live);
  const int32x4_t second = vldrwq_gather_shifted_offset_z_s32(table + 1, index, between);
  const int32x4_t rise = vshlq_s32(vmulq_s32(vsubq_s32(second, first), rest), down);
  return vaddq_m_s32(first, first, rise, between);
}

/// Looks up elements of any sign. Negative ones have the constant behind the table, or a table of their own.
int32x4_t lookup_any(const GradedLookup& lookup, int32_t half, int32x4_t x, mve_pred16_t live) {
  const mve_pred16_t negative = vcmpltq_m_n_s32(x, 0, live);
  if (lookup.negative_is_constant) {
    const int32x4_t value =
        lookup_positive(lookup.of_positive, lookup, vmaxq_s32(x, vdupq_n_s32(0)), vdupq_n_s32(0), live);
    return vdupq_m_n_s32(value, *lookup.of_negative, negative);
  }
  const int32x4_t at = vdupq_m_n_s32(vdupq_n_s32(0), half, negative);
  return lookup_positive(lookup.of_positive, lookup, vabsq_s32(x), at, live);
}

}  // namespace

void graded_lookup_int16(KernelContext& context, Span<EValue*> args) {
  GradedLookup lookup;
  if (!read_graded_lookup_int16(context, args, &lookup)) return;
  const auto half = static_cast<int32_t>(lookup.of_negative - lookup.of_positive);
  const int16_t* x = lookup.x;
  int16_t* y = lookup.y;
  for (auto left = static_cast<int32_t>(lookup.count); left > 0; left -= 4, x += 4, y += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(left));
    const int32x4_t value = lookup_any(lookup, half, vldrhq_z_s32(x, live), live);
    const int32x4_t rounded = vshrq_n_s32(vaddq_n_s32(value, 1 << (kGradedFraction - 1)), kGradedFraction);
    vstrhq_p_s32(y, clamp(rounded, vdupq_n_s32(lookup.min), vdupq_n_s32(lookup.max)), live);
  }
}

}  // namespace wick::cortex_m::mve
