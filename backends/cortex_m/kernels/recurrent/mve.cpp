// Recurrent layers: eight products at a time. The equations: reference.cpp.
#include <arm_mve.h>

#include "backends/cortex_m/kernels/recurrent/recurrent.h"

namespace wick::cortex_m::mve {
namespace {

int64_t dot(const int16_t* a, const int16_t* b, int32_t count) {
  int64_t sum = 0;
  for (; count > 0; count -= 8, a += 8, b += 8) {
    const mve_pred16_t live = vctp16q(static_cast<uint32_t>(count));
    sum = vmlaldavaq_p_s16(sum, vldrhq_z_s16(a, live), vldrhq_z_s16(b, live), live);
  }
  return sum;
}

}  // namespace

void lstm(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::lstm>(context, args, dot); }
void lstm_projected(KernelContext& context, Span<EValue*> args) {
  recurrent_layer<CellKind::projected_lstm>(context, args, dot);
}
void gru(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::gru>(context, args, dot); }
void rnn_tanh(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::tanh>(context, args, dot); }
void rnn_relu(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::relu>(context, args, dot); }

}  // namespace wick::cortex_m::mve
