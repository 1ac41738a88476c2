// The checked arguments of lstm, gru and plain recurrent layers, and all of their arithmetic except sums of products.
// C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

constexpr int32_t kMostCells = 1024;                         // largest number of inputs, and of cells, of a layer
constexpr int32_t kMultiplierBits = 22;                      // bits of the factors of sums
constexpr int32_t kGateBits = 26;                            // fractional bits of the operands of sigmoid and tanh
constexpr int32_t kCellBits = 20;                            // fractional bits of the state c of lstm
constexpr int32_t kLeastStateBits = 8, kMostStateBits = 15;  // fractional bits of h

enum class CellKind : uint8_t { lstm, projected_lstm, gru, tanh, relu };
constexpr bool is_lstm(CellKind kind) { return kind == CellKind::lstm || kind == CellKind::projected_lstm; }
constexpr int32_t gates_of(CellKind kind) { return is_lstm(kind) ? 4 : kind == CellKind::gru ? 3 : 1; }

/// Converts a sum to steps of a gate: sum * multiplier / 2^shift.
struct GateFactor {
  int32_t multiplier, shift;
};

struct Recurrent {
  int32_t steps = 0, batch = 0, inputs = 0, cells = 0, rows = 0;  // rows: of weights, a multiple of cells
  int32_t outputs = 0;                                            // width of h: cells, or what they are projected to
  const int8_t* x8 = nullptr;
  const int16_t* x16 = nullptr;                                         // instead of x8
  int32_t offset = 0;                                                   // added to the input
  const int16_t *input_weights = nullptr, *state_weights = nullptr;     // [rows][inputs], [rows][outputs]
  const GateFactor *input_factors = nullptr, *state_factors = nullptr;  // [rows]
  const int32_t* bias = nullptr;                                        // [4][cells]
  const int16_t* projection = nullptr;                                  // [outputs][cells]; null: no projection
  const GateFactor* projection_factors = nullptr;                       // [outputs]
  const int16_t* first_h = nullptr;                                     // [batch][outputs]; null: 0
  const int32_t* first_c = nullptr;                                     // [batch][cells], of lstm
  bool is_reversed = false;
  int32_t state_bits = kMostStateBits;  // fractional bits of h
  OutputStage stage;                    // of an int8 output; an int16 output is h itself
  int8_t* y8 = nullptr;
  int16_t* y16 = nullptr;
  // The state, which is the last state in the end: h, and c of lstm or for others h with 15 more bits. [batch][outputs]
  // and [batch][cells], or those of the sequence that is being computed.
  int16_t* h = nullptr;
  int32_t* state = nullptr;
  // Scratch.
  int32_t* gates = nullptr;   // [4][cells]
  int16_t* x = nullptr;       // the input of a step [inputs]
  int16_t* hidden = nullptr;  // operand of the projection [cells]; h itself if there is none

  int32_t hidden_bits() const { return projection != nullptr ? kMostStateBits : state_bits; }
};
/// Reads the arguments of lstm with a projection and its factors, which follow all weights, and all factors.
bool read_projected_lstm(KernelContext& context, Span<EValue*> args, Recurrent* layer);
bool read_recurrent(KernelContext& context, Span<EValue*> args, CellKind kind, Recurrent* layer);

/// Words of scratch. `projected`: the number of cells if they are projected, else 0.
inline int64_t recurrent_scratch_words(int64_t inputs, int64_t cells, int64_t projected) {
  return 4 * cells + (inputs + 1) / 2 + (projected + 1) / 2;
}

/// Requires: |sum| <= 2^40. The magnitude of the result is at most 2^61.
int64_t scaled_sum(int64_t sum, GateFactor factor);
int32_t saturated(int64_t value);
inline int16_t saturated_int16(int64_t value) {
  return static_cast<int16_t>(value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value);
}

/// Computes the next state of all cells. gates[0 .. 3]: i, f, g, o.
void update_lstm(const Recurrent& layer);
/// The operand of the tanh of n, for row 2 * cells + j. Only the total saturates: its terms may be larger and cancel.
/// Requires: gates[j] is r; both terms are at most 2^61 in magnitude.
int32_t gate_of_n(const Recurrent& layer, int32_t row, int64_t from_input, int64_t from_state);
/// gates[0 .. 2]: r, z, n.
void update_gru(const Recurrent& layer);
/// gates[0]: the operand of tanh or relu.
void update_plain(const Recurrent& layer, CellKind kind);

/// Widens the input of step `step` of sequence `b` into layer.x; store_step writes the output.
void load_step(const Recurrent& layer, int32_t step, int32_t b);
void store_step(const Recurrent& layer, int32_t step, int32_t b);
/// The layer with the state of sequence `b`, set to the initial state.
Recurrent begin_sequence(const Recurrent& layer, int32_t b);

/// Computes the next h from the outputs of the cells.
template <typename Dot>
void project(const Recurrent& layer, const Dot& dot) {
  for (int32_t p = 0; p < layer.outputs; ++p) {
    const int64_t sum = dot(layer.hidden, layer.projection + p * layer.cells, layer.cells);
    layer.h[p] = saturated_int16(scaled_sum(sum, layer.projection_factors[p]));
  }
}

/// Computes all steps. dot(a, b, count) is the sum of products of int16.
template <CellKind kKind, typename Dot>
void run_recurrent(const Recurrent& whole, const Dot& dot) {
  // In rows from `apart` on (n of gru), the state's term is multiplied by r before it is added.
  const int32_t apart = kKind == CellKind::gru ? 2 * whole.cells : whole.rows;
  for (int32_t b = 0; b < whole.batch; ++b) {
    const Recurrent layer = begin_sequence(whole, b);
    for (int32_t i = 0; i < layer.steps; ++i) {
      const int32_t step = layer.is_reversed ? layer.steps - 1 - i : i;
      load_step(layer, step, b);
      for (int32_t row = 0; row < layer.rows; ++row) {
        const int64_t from_input =
            scaled_sum(dot(layer.x, layer.input_weights + row * layer.inputs, layer.inputs), layer.input_factors[row]);
        const int64_t from_state = scaled_sum(dot(layer.h, layer.state_weights + row * layer.outputs, layer.outputs),
                                              layer.state_factors[row]);
        layer.gates[row] = row < apart ? saturated(from_input + from_state + layer.bias[row])
                                       : gate_of_n(layer, row, from_input, from_state);
      }
      if (is_lstm(kKind))
        update_lstm(layer);
      else if (kKind == CellKind::gru)
        update_gru(layer);
      else
        update_plain(layer, kKind);
      if (kKind == CellKind::projected_lstm) project(layer, dot);
      store_step(layer, step, b);
    }
  }
}

template <CellKind kKind, typename Dot>
void recurrent_layer(KernelContext& context, Span<EValue*> args, const Dot& dot) {
  Recurrent layer;
  const bool is_read = kKind == CellKind::projected_lstm ? read_projected_lstm(context, args, &layer)
                                                         : read_recurrent(context, args, kKind, &layer);
  if (is_read) run_recurrent<kKind>(layer, dot);
}

}  // namespace wick::cortex_m
