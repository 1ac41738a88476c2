// quantized_activation, 16 elements at a time.
#include "backends/cortex_m/kernels/activation/activation.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {

void quantized_activation(KernelContext& context, Span<EValue*> args) {
  Activation c;
  if (!read_activation_table(context, args, &c)) return;
  const int8_t *x = c.x, *table = c.table;
  int8_t* y = c.y;
  const uint8x16_t sign = vdupq_n_u8(0x80);  // x + 128
  for (int32_t left = static_cast<int32_t>(c.count); left > 0; left -= 16, x += 16, y += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(left));
    const uint8x16_t places = veorq_u8(vreinterpretq_u8_s8(vldrbq_z_s8(x, live)), sign);
    vstrbq_p_s8(y, vldrbq_gather_offset_z_s8(table, places, live), live);
  }
}

}  // namespace wick::cortex_m::mve
