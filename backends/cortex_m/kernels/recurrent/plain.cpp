// Recurrent layers: products of pairs. The equations: reference.cpp.
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/recurrent/recurrent.h"

namespace wick::cortex_m::plain {
namespace {

constexpr auto dot = Isa::dot_int16;

}  // namespace

void lstm(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::lstm>(context, args, dot); }
void lstm_projected(KernelContext& context, Span<EValue*> args) {
  recurrent_layer<CellKind::projected_lstm>(context, args, dot);
}
void gru(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::gru>(context, args, dot); }
void rnn_tanh(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::tanh>(context, args, dot); }
void rnn_relu(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::relu>(context, args, dot); }

}  // namespace wick::cortex_m::plain
