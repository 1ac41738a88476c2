#include "backends/cortex_m/kernels/recurrent/recurrent.h"

#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {
namespace {

bool check_weights(KernelContext& context, const Tensor& weights, int32_t rows, int32_t columns) {
  return require_dtype(context, weights, DType::i16, "weights are not int16") &&
         require(context,
                 weights.rank == 2 && is_contiguous(weights) && weights.sizes[0] == rows && weights.sizes[1] == columns,
                 "weights are not contiguous with a row for each gate of each cell");
}

/// Checks the factors of `rows` rows. `outs`: the tensors that the layer writes.
bool check_factors(KernelContext& context, const Tensor& factors, int32_t rows, Span<EValue*> outs) {
  for (const EValue* out : outs) {
    if (!check_settled_row(context, factors, 2 * int64_t{rows}, *out->tensor,
                           "factors are not contiguous int32, two for each row"))
      return false;
  }
  const GateFactor* list = factors.as<const GateFactor>();
  for (int32_t i = 0; i < rows; ++i) {
    if (!require(context,
                 list[i].multiplier >= 0 && list[i].multiplier <= 1 << kMultiplierBits && list[i].shift >= 1 &&
                     list[i].shift <= 62,
                 "a factor is not a multiplier of 0 to 2^22 and a shift of 1 to 62"))
      return false;
  }
  return true;
}

bool read_sequences(KernelContext& context, const Tensor& input, const Tensor& out, Recurrent* layer) {
  const auto is_elements = [](const Tensor& tensor) { return tensor.dtype == DType::i8 || tensor.dtype == DType::i16; };
  if (!require(context, is_elements(input) && is_elements(out), "input and output are not int8 or int16") ||
      !require(context, input.rank == 3 && out.rank == 3 && is_contiguous(input) && is_contiguous(out),
               "input and output are not contiguous with 3 dimensions") ||
      !require(context, input.sizes[0] == out.sizes[0] && input.sizes[1] == out.sizes[1],
               "input and output differ in steps or batch") ||
      !require(context,
               input.sizes[2] > 0 && input.sizes[2] <= kMostCells && out.sizes[2] > 0 && out.sizes[2] <= kMostCells,
               "wanted 1 to 1024 inputs and cells"))
    return false;
  layer->steps = input.sizes[0];
  layer->batch = input.sizes[1];
  layer->inputs = input.sizes[2];
  layer->outputs = out.sizes[2];
  if (layer->projection == nullptr) layer->cells = layer->outputs;
  if (input.dtype == DType::i8)
    layer->x8 = input.as<const int8_t>();
  else
    layer->x16 = input.as<const int16_t>();
  if (out.dtype == DType::i8)
    layer->y8 = out.as<int8_t>();
  else
    layer->y16 = out.as<int16_t>();
  return true;
}

/// Reads scratch for the gates, the state, the input and the output of a step.
bool read_room(KernelContext& context, Span<EValue*> args, size_t index, Recurrent* layer) {
  const int32_t projected = layer->projection != nullptr ? layer->cells : 0;
  const int64_t words = recurrent_scratch_words(layer->inputs, layer->cells, projected);
  if (!read_scratch_words(context, args, index, words, &layer->gates)) return false;
  layer->x = reinterpret_cast<int16_t*>(layer->gates + 4 * layer->cells);
  layer->hidden = layer->x + (layer->inputs + 1) / 2 * 2;
  return true;
}

/// Checks a state: h is int16; c, or h with more bits, is int32.
bool check_state(KernelContext& context, const Tensor& state, DType dtype, const Recurrent& layer) {
  const int32_t numbers = dtype == DType::i16 ? layer.outputs : layer.cells;
  return require_dtype(context, state, dtype, "a state is neither int16 (h) nor int32 (c)") &&
         require(context,
                 state.rank == 2 && is_contiguous(state) && state.sizes[0] == layer.batch && state.sizes[1] == numbers,
                 "a state is not contiguous with a number for each cell of each sequence");
}

/// Reads the initial state (h, and c of lstm) and the last one.
bool read_states(KernelContext& context, const EValue& h, const EValue& c, Span<EValue*> last, bool is_lstm,
                 Recurrent* layer) {
  const bool has_h = !h.is_none(), has_c = !c.is_none();
  if (!require(context, is_lstm ? has_h == has_c : !has_c, "lstm takes a state h with a state c, others only h") ||
      (has_h && !check_state(context, *h.tensor, DType::i16, *layer)) ||
      (has_c && !check_state(context, *c.tensor, DType::i32, *layer)) ||
      !check_state(context, *last[0]->tensor, DType::i16, *layer) ||
      !check_state(context, *last[1]->tensor, DType::i32, *layer))
    return false;
  if (has_h) layer->first_h = h.tensor->as<const int16_t>();
  if (has_c) layer->first_c = c.tensor->as<const int32_t>();
  layer->h = last[0]->tensor->as<int16_t>();
  layer->state = last[1]->tensor->as<int32_t>();
  return true;
}

/// 1 / (1 + exp(2^-26 negative)), without integer bits, for negative <= 0.
int32_t logistic_of_size(int32_t negative) { return one_over_one_plus(exp_of_negative(negative)); }

int32_t negative_size(int32_t x) { return x > 0 ? -x : x; }

/// 1 / (1 + exp(-x)) without integer bits.
int32_t sigmoid(int32_t x) {
  const int32_t of_size = logistic_of_size(negative_size(x));
  return x >= 0 ? of_size : INT32_MAX - of_size;
}

/// tanh(x) without integer bits.
int32_t tanh(int32_t x) {
  const int32_t twice = saturated(int64_t{2} * negative_size(x));
  const int32_t size = saturated(2 * (int64_t{logistic_of_size(twice)} - (1 << 30)));
  return x >= 0 ? size : -size;
}

/// round(a * b / 2^shift), halves up.
int64_t scaled_product(int64_t a, int64_t b, int32_t shift) { return (a * b + (int64_t{1} << (shift - 1))) >> shift; }

/// Converts a number with `bits` fractional bits to `fewer`.
int16_t rounded_to(int64_t value, int32_t bits, int32_t fewer) {
  const int64_t rounded = (value + (int64_t{1} << (bits - fewer - 1))) >> (bits - fewer);
  return saturated_int16(rounded);
}

/// Reads everything but scratch.
bool read_layer(KernelContext& context, Span<EValue*> args, CellKind kind, Recurrent* layer) {
  const Tensor &input = *args[0]->tensor, &out = *args[18]->tensor;
  const Span<EValue*> outs(args.data() + 16, 3);
  int32_t zero = 0;
  if (!read_sequences(context, input, out, layer) ||
      !require(context, args[15]->integer == static_cast<int64_t>(out.dtype),
               "the output does not have the dtype that is named"))
    return false;
  layer->rows = gates_of(kind) * layer->cells;
  if (!check_weights(context, *args[1]->tensor, layer->rows, layer->inputs) ||
      !check_weights(context, *args[2]->tensor, layer->rows, layer->outputs) ||
      !check_factors(context, *args[3]->tensor, layer->rows, outs) ||
      !check_factors(context, *args[4]->tensor, layer->rows, outs) ||
      !check_int32_row(context, *args[5]->tensor, 4 * int64_t{layer->cells},
                       "the bias is not contiguous int32, four for each cell") ||
      !read_states(context, *args[6], *args[7], {args.data() + 16, 2}, is_lstm(kind), layer) ||
      !read_zero_point(context, *args[8], &zero) ||
      !read_int(context, *args[10], kLeastStateBits, kMostStateBits, &layer->state_bits,
                "the state does not have 8 to 15 bits behind the point") ||
      !read_zero_point(context, *args[11], &layer->stage.offset) ||
      !read_requantization(context, args[12]->integer, args[13]->integer, &layer->stage))
    return false;
  layer->input_weights = args[1]->tensor->as<const int16_t>();
  layer->state_weights = args[2]->tensor->as<const int16_t>();
  layer->input_factors = args[3]->tensor->as<const GateFactor>();
  layer->state_factors = args[4]->tensor->as<const GateFactor>();
  layer->bias = args[5]->tensor->as<const int32_t>();
  layer->offset = layer->x8 != nullptr ? -zero : 0;
  layer->is_reversed = args[9]->boolean;
  return true;
}

}  // namespace

bool read_recurrent(KernelContext& context, Span<EValue*> args, CellKind kind, Recurrent* layer) {
  return read_layer(context, args, kind, layer) && read_room(context, args, 14, layer);
}

bool read_projected_lstm(KernelContext& context, Span<EValue*> args, Recurrent* layer) {
  constexpr size_t kProjection = 3, kFactors = 6;  // among args
  EValue* others[19];
  size_t count = 0;
  for (size_t i = 0; i < 21; ++i) {
    if (i != kProjection && i != kFactors) others[count++] = args[i];
  }
  const Tensor &projection = *args[kProjection]->tensor, &factors = *args[kFactors]->tensor, &out = *args[20]->tensor;
  if (!require(context, projection.rank == 2 && out.rank == 3,
               "the projection is no matrix, or the output no sequence"))
    return false;
  const int32_t cells = projection.sizes[1];
  if (!require(context, cells > 0 && cells <= kMostCells, "wanted 1 to 1024 inputs and cells") ||
      !check_weights(context, projection, out.sizes[2], cells) ||
      !check_factors(context, factors, out.sizes[2], {args.data() + 18, 3}))
    return false;
  layer->cells = cells;
  layer->projection = projection.as<const int16_t>();
  layer->projection_factors = factors.as<const GateFactor>();
  return read_layer(context, {others, count}, CellKind::projected_lstm, layer) && read_room(context, args, 16, layer);
}

int32_t saturated(int64_t value) {
  return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : static_cast<int32_t>(value);
}

int64_t scaled_sum(int64_t sum, GateFactor factor) { return scaled_product(sum, factor.multiplier, factor.shift); }

void update_lstm(const Recurrent& layer) {
  const int32_t cells = layer.cells;
  for (int32_t j = 0; j < cells; ++j) {
    const int32_t *gate = layer.gates + j, i = sigmoid(gate[0]), f = sigmoid(gate[cells]), g = tanh(gate[2 * cells]),
                  o = sigmoid(gate[3 * cells]);
    const int32_t c = saturated(scaled_product(f, layer.state[j], 31) + scaled_product(i, g, 62 - kCellBits));
    layer.state[j] = c;
    const int32_t size = tanh(saturated(int64_t{c} * (1 << (kGateBits - kCellBits))));
    layer.hidden[j] = rounded_to(scaled_product(o, size, 31), 31, layer.hidden_bits());
  }
}

int32_t gate_of_n(const Recurrent& layer, int32_t row, int64_t from_input, int64_t from_state) {
  const int32_t cells = layer.cells, r = sigmoid(layer.gates[row - 2 * cells]);
  const int64_t state = from_state + layer.bias[row + cells];
  // r * state / 2^31; the product itself would not fit 64 bits.
  const int64_t weighed = r * (state >> 31) + scaled_product(r, state & INT32_MAX, 31);
  return saturated(from_input + layer.bias[row] + weighed);
}

void update_gru(const Recurrent& layer) {
  const int32_t cells = layer.cells, bits = layer.state_bits + 15;
  for (int32_t j = 0; j < cells; ++j) {
    const int32_t *gate = layer.gates + j, z = sigmoid(gate[cells]);
    const int32_t n = tanh(gate[2 * cells]) >> (31 - bits);
    const int32_t h = saturated(n + scaled_product(z, int64_t{layer.state[j]} - n, 31));
    layer.state[j] = h;
    layer.h[j] = rounded_to(h, bits, layer.state_bits);
  }
}

void update_plain(const Recurrent& layer, CellKind kind) {
  for (int32_t j = 0; j < layer.cells; ++j) {
    const int32_t gate = layer.gates[j];
    layer.h[j] = kind == CellKind::tanh ? rounded_to(tanh(gate), 31, layer.state_bits)
                                        : rounded_to(gate > 0 ? gate : 0, kGateBits, layer.state_bits);
    layer.state[j] = layer.h[j] * (1 << 15);
  }
}

void load_step(const Recurrent& layer, int32_t step, int32_t b) {
  const int32_t at = (step * layer.batch + b) * layer.inputs;
  for (int32_t k = 0; k < layer.inputs; ++k)
    layer.x[k] = layer.x8 != nullptr ? static_cast<int16_t>(layer.x8[at + k] + layer.offset) : layer.x16[at + k];
}

void store_step(const Recurrent& layer, int32_t step, int32_t b) {
  const int32_t at = (step * layer.batch + b) * layer.outputs;
  for (int32_t j = 0; j < layer.outputs; ++j) {
    if (layer.y8 != nullptr)
      layer.y8[at + j] = layer.stage(layer.h[j]);
    else
      layer.y16[at + j] = layer.h[j];
  }
}

Recurrent begin_sequence(const Recurrent& layer, int32_t b) {
  Recurrent now = layer;
  const int32_t first_h = b * layer.outputs, first_c = b * layer.cells;
  now.h += first_h;
  now.state += first_c;
  if (layer.projection == nullptr) now.hidden = now.h;
  for (int32_t j = 0; j < layer.outputs; ++j)
    now.h[j] = layer.first_h != nullptr ? layer.first_h[first_h + j] : int16_t{0};
  for (int32_t j = 0; j < layer.cells; ++j) {
    now.state[j] = layer.first_c != nullptr        ? layer.first_c[first_c + j]
                   : layer.rows == 4 * layer.cells ? 0
                                                   : now.h[j] * (1 << 15);
  }
  return now;
}

}  // namespace wick::cortex_m
