// Recurrent layers: products of pairs. The equations: reference.cpp.
#include <arm_acle.h>
#include <string.h>

#include "backends/cortex_m/kernels/recurrent/recurrent.h"

namespace wick::cortex_m::dsp {
namespace {

int32_t pair_at(const int16_t* from) {
  int32_t pair = 0;
  memcpy(&pair, from, sizeof(pair));
  return pair;
}

int64_t dot(const int16_t* a, const int16_t* b, int32_t count) {
  int64_t sum = 0;
  for (; count >= 4; count -= 4, a += 4, b += 4) {
    sum = __smlald(pair_at(a), pair_at(b), sum);
    sum = __smlald(pair_at(a + 2), pair_at(b + 2), sum);
  }
  for (; count > 0; --count) sum += *a++ * *b++;
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

}  // namespace wick::cortex_m::dsp
