// lstm(input, input_weights, state_weights, input_factors, state_factors, bias, h, c, input_zero_point, is_reversed,
// state_bits, output_zero_point, output_multiplier, output_shift, scratch, dtype) -> (last h, last state, y). gru,
// rnn_tanh and rnn_relu have the same arguments except c. input [T, B, K] is int8, or int16 (whose zero point is not
// used). The weights are int16: [4 H, K] and [4 H, H] for the gates i, f, g, o; [3 H, ..] for r, z, n; [H, ..]. The
// initial state is 0, or h [B, H] int16 with state_bits fractional bits and c [B, H] int32 with 20. For each sequence
// and each step (from the last to the first one if is_reversed), with row j of gate p:
//   a[p][j] = sum_k (x[k] - input_zero_point) input_weights[p][j][k] times its factor + bias[p][j]
//   b[p][j] = sum_k h[k] state_weights[p][j][k] times its factor
//   lstm: c = sigmoid(a + b of f) c + sigmoid(a + b of i) tanh(a + b of g);  h = sigmoid(a + b of o) tanh(c)
//   gru:  n = tanh(a of n + sigmoid(a + b of r) (b of n + bias[3]));  h = n + sigmoid(a + b of z) (h - n)
//   rnn_tanh: h = tanh(a + b);  rnn_relu: h = max(a + b, 0)
//   y = h as int16, or clamp(requantize(h) + output_zero_point) as int8
// lstm_projected(input, input_weights, state_weights [4 H, P], projection [P, H], input_factors, state_factors,
// projection_factors, bias, ..) is an lstm whose h has P numbers, each of them a sum over the cells' outputs (15 bits):
//   h[p] = sum_j sigmoid(a + b of o)[j] tanh(c[j]) projection[p][j] times its factor
// The last state of lstm is c, that of the others h with 15 more bits. Sums are exact in 64 bits. A factor is
// {multiplier, shift}: round(sum multiplier / 2^shift). Gates have 26 fractional bits; they and all states saturate.
// exp and 1 / (1 + x) are those of softmax.
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/recurrent/recurrent.h"

namespace wick::cortex_m::reference {
namespace {

constexpr auto dot = dot_int16;

}  // namespace

void lstm(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::lstm>(context, args, dot); }
void lstm_projected(KernelContext& context, Span<EValue*> args) {
  recurrent_layer<CellKind::projected_lstm>(context, args, dot);
}
void gru(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::gru>(context, args, dot); }
void rnn_tanh(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::tanh>(context, args, dot); }
void rnn_relu(KernelContext& context, Span<EValue*> args) { recurrent_layer<CellKind::relu>(context, args, dot); }

}  // namespace wick::cortex_m::reference
