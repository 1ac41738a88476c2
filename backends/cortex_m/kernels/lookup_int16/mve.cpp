#include "backends/cortex_m/kernels/lookup_int16/lookup_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {

void lookup_int16(KernelContext& context, Span<EValue*> args) {
  LookupInt16 lookup;
  if (!read_lookup_int16(context, args, &lookup)) return;
  const int32x4_t down = vdupq_n_s32(-lookup.bits);
  const int32x4_t min = vdupq_n_s32(lookup.min), max = vdupq_n_s32(lookup.max);
  const int32_t half = 1 << (kTableFraction - 1), mask = (1 << lookup.bits) - 1;
  const int16_t* x = lookup.x;
  int16_t* y = lookup.y;
  for (auto left = static_cast<int32_t>(lookup.count); left > 0; left -= 4, x += 4, y += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(left));
    const int32x4_t at = vaddq_n_s32(vldrhq_z_s32(x, live), -INT16_MIN);
    const int32x4_t rest = vandq_s32(at, vdupq_n_s32(mask));
    const uint32x4_t index = vreinterpretq_u32_s32(vshlq_s32(at, down));
    const int32x4_t first = vldrwq_gather_shifted_offset_z_s32(lookup.table, index, live);
    const int32x4_t second = vldrwq_gather_shifted_offset_z_s32(lookup.table + 1, index, live);
    const int32x4_t rise = vshlq_s32(vmulq_s32(vsubq_s32(second, first), rest), down);
    const int32x4_t value = vshrq_n_s32(vaddq_n_s32(vaddq_s32(first, rise), half), kTableFraction);
    vstrhq_p_s32(y, clamp(value, min, max), live);
  }
}

}  // namespace wick::cortex_m::mve
