// LSTM, GRU and plain recurrent layers that export does not decompose. Each layer and direction becomes one of Wick's
// own operators. Models quantize inputs and outputs, not gates and states, and these need no quantization: weights
// become int16 with a scale for each row (an int8 weight is then off by less than 1/256 of its step), states have 15
// bits and more, sums 64. An initial state beyond 1 leaves h fewer fractional bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/ops/int16/number_bounds.h"
#include "backends/cortex_m/compile/ops/int16/shown_rounding.h"
#include "backends/cortex_m/compile/ops/int16/unannotated_int16.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/recurrent/recurrent_error.h"
#include "backends/cortex_m/compile/ops/recurrent/relu_growth.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Values;
using compiler::Verdict;

namespace rules_recurrent {
namespace {

constexpr int64_t kMostCells = 1024;
constexpr int kGateBits = 26, kMostStateBits = 15, kLeastStateBits = 8, kCellBits = 20, kMultiplierBits = 22,
              kMostShift = 62, kElementShift = 14;  // wick_cortex_m.requantize shifts left by kElementShift
constexpr double kLargestWeight = 32767;
constexpr double kFloatReach = 32767.0 / 4096, kFloatCellReach = 1024;  // floats saturate at these states

constexpr double kLargestGate = 32;

double largest_number(const Affine& q) {
  return q.scale * std::max(std::abs(q.min - q.zero), std::abs(q.max - q.zero));
}

struct Kind {
  const char *op, *kernel;
  int64_t gates;
};
constexpr Kind kKinds[] = {{"aten.gru.input", "wick_cortex_m.gru", 3},
                           {"aten.lstm.input", "wick_cortex_m.lstm", 4},
                           {"aten.rnn_relu.input", "wick_cortex_m.rnn_relu", 1},
                           {"aten.rnn_tanh.input", "wick_cortex_m.rnn_tanh", 1}};

// One layer in one direction.
struct Direction {
  std::vector<int16_t> input_weights, state_weights, projection;
  std::vector<int32_t> input_factors, state_factors, projection_factors, bias;
};

struct Layers {
  const Kind* kind = &kKinds[0];
  int64_t layers = 1, directions = 1, inputs = 0, cells = 0, steps = 0, batch = 0;
  int64_t outputs = 0;              // width of h: the number of cells, or what lstm projects them to
  int state_bits = kMostStateBits;  // fractional bits of h, such that the initial state fits
  bool is_lstm() const { return kind->gates == 4; }
  bool is_gru() const { return kind->gates == 3; }
  bool is_projected() const { return outputs != cells; }
  const char* kernel() const { return is_projected() ? "wick_cortex_m.lstm_projected" : kind->kernel; }
  int divided_bits = 0;  // the kernel computes gates, h and biases of relu divided by 2^divided_bits
  // The fractional bits of h in the kernel.
  int kernel_bits() const { return state_bits + divided_bits; }
  double reach = 1;            // largest magnitude of h
  size_t weights_of_each = 2;  // weights, biases and the projection, which comes last
};

Values states_of(const Node& node) {
  return node.is("aten.lstm.input") ? node.tensors("hx") : Values{node.tensor("hx")};
}

double largest_of(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

// Whether the caller gives the state in floats, perhaps through views.
bool is_given(const Value& state) {
  const Value* value = &state;
  while (value->producer && value->producer->op->has(compiler::kView)) value = value->producer->operands()[0];
  return !value->producer && !state.is_constant() && !state.is_quantized() && state.dtype() == DType::f32;
}

// Whether the caller gets the result in floats, perhaps through views. Other readers of it are conversions to elements.
bool is_returned(const Value& result) {
  const std::vector<Node*>& users = result.users();
  return !result.is_quantized() && result.dtype() == DType::f32 &&
         std::all_of(users.begin(), users.end(), [](const Node* user) {
           return user->is("wick.convert.default") || (user->op->has(compiler::kView) && is_returned(*user->result()));
         });
}

// The largest magnitude of an initial state.
double reach_of(const Value& state) {
  if (is_given(state)) return kFloatReach;
  return state.is_constant() ? largest_of(numbers(state)) : largest_number(affine(state));
}

bool is_zero(const Value& state) { return state.is_constant() && reach_of(state) == 0; }

// The factor from elements of a state to numbers with `bits` fractional bits.
std::optional<Requantization> state_factor(const Value& state, int bits) {
  const auto found = requantization(std::ldexp(affine(state).scale, bits - kElementShift));
  const bool wide = state.dtype() == DType::i16;
  return found && keeps_32_bits(int64_t{wide ? 32768 : 255} << kElementShift, *found) ? found : std::nullopt;
}

Refusal read_states(const Node& node, Layers* layers) {
  const Values states = states_of(node);
  for (const Value* state : states) {
    Refusal reason = state->is_constant() || is_given(*state) ? Refusal{} : refuse_elements(*state, "its first state");
    if (!reason.empty()) return reason;
    if (state->is_constant() && (numbers(*state).empty() || !std::isfinite(reach_of(*state))))
      return {"its first state is no list of finite numbers", "start with finite numbers"};
  }
  while (std::ldexp(reach_of(*states[0]), layers->state_bits) >= kLargestWeight + 0.5) {
    if (--layers->state_bits < kLeastStateBits)
      return {"its first state h could be 128 or more", "use a smaller scale of the first state h"};
  }
  if (states.size() > 1 && !(std::ldexp(reach_of(*states[1]), kCellBits) < 0x1p31))
    return {"its first state c could be 2048 or more", "use a smaller scale of the first state c"};
  for (size_t i = 0; i < states.size(); ++i) {
    const int bits = i == 0 ? layers->state_bits : kCellBits;
    if (!states[i]->is_constant() && !is_given(*states[i]) && !state_factor(*states[i], bits))
      return {"the scale of its first state is too large", "use a smaller scale of the first state"};
  }
  return {};
}

// The factor from numbers with `bits` fractional bits to elements of the result.
std::optional<Requantization> result_factor(const Value& result, int bits, int element_shift) {
  const auto found = requantization(std::ldexp(1 / affine(result).scale, -bits - element_shift));
  return found && found->shift <= 0 ? found : std::nullopt;
}

Refusal refuse_results(const Node& node, const Layers& layers) {
  static constexpr const char* kNames[] = {"its output", "its last state", "its last state c"};
  for (size_t i = 0; i < std::min(node.results().size(), std::size(kNames)); ++i) {
    const Value& result = *node.result(i);
    if (result.num_uses() == 0 || (i > 0 && is_returned(result))) continue;
    Refusal reason = refuse_elements(result, kNames[i]);
    if (!reason.empty()) return reason;
    const bool is_element = i == 1 || (i == 0 && result.dtype() == DType::i16);  // of a tensor of h, for requantize
    if (!result_factor(result, i == 2 ? kCellBits : layers.state_bits, is_element ? kElementShift : 0))
      return {"the scale of its result is too far from that of its state",
              "give its result a scale between 2^-15 and 1"};
  }
  return {};
}

Refusal read_sizes(const Node& node, Layers* layers) {
  const Value* x = node.tensor("input");
  if (x->rank() != 3 && x->rank() != 2)
    return {"wanted an input with steps, batch and features",
            "give the input three dimensions, or two without a batch"};
  if (node.boolean("train") && node.real("dropout") != 0) return {"it drops out", "export the model in eval mode"};
  layers->kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) { return node.is(each.op); });
  layers->layers = node.static_integer("num_layers");
  layers->directions = node.boolean("bidirectional") ? 2 : 1;
  const bool batched = x->rank() == 3, batch_first = batched && node.boolean("batch_first");
  layers->steps = x->sizes()[batch_first ? 1 : 0].value();
  layers->batch = batched ? x->sizes()[batch_first ? 0 : 1].value() : 1;
  layers->inputs = x->sizes().back().value();
  layers->outputs = states_of(node).front()->sizes().back().value();
  layers->cells = states_of(node).back()->sizes().back().value();
  layers->weights_of_each = (node.boolean("has_biases") ? 4 : 2) + (layers->is_projected() ? 1 : 0);
  const Values params = node.tensors("params");
  if (params.size() != layers->weights_of_each * static_cast<size_t>(layers->layers * layers->directions))
    return {"it has another number of weights",
            "export the layer with all of its weights and biases, or none of its biases"};
  for (const Value* weight : params) {
    if (!weight || !weight->is_constant()) return {"its weights are computed", kConstantWeights};
    const auto& q = weight->tensor().quantization;
    if (numbers(*weight).empty() || (q && (q->at_run_time || (!q->is_per_tensor() && !q->channel_dim()))))
      return {"its weights are not floats, nor quantized with a scale for each row or for all",
              "leave the weights in f32, or quantize them to int8 per tensor or per row"};
  }
  if (std::max({layers->inputs, layers->cells, layers->outputs * layers->directions}) > kMostCells ||
      layers->steps == 0)
    return {"more than 1024 inputs or cells, or no steps", "use several smaller layers whose outputs are concatenated"};
  return {};
}

// Converts rows of weights to int16. `factors`: for each row the multiplier and shift that turn its sums into gates.
// `step`: the real number that one unit of the other operand stands for.
bool read_weights(const Value& weights, double step, std::vector<int16_t>* elements, std::vector<int32_t>* factors) {
  const std::vector<double> all = numbers(weights);
  const auto columns = static_cast<size_t>(weights.sizes()[1].value());
  for (size_t first = 0; first < all.size(); first += columns) {
    double largest = 0;
    for (size_t k = 0; k < columns; ++k) largest = std::max(largest, std::abs(all[first + k]));
    const double unit = largest / kLargestWeight, factor = std::ldexp(unit * step, kGateBits);
    int exponent = 0;
    const double mantissa = std::frexp(factor, &exponent);
    const int shift = std::clamp(kMultiplierBits - exponent, 0, kMostShift);
    if (shift < 1 || !std::isfinite(factor)) return false;
    factors->push_back(shift == kMostShift ? 0 : static_cast<int32_t>(std::ldexp(mantissa, kMultiplierBits)));
    factors->push_back(shift);
    for (size_t k = 0; k < columns; ++k)
      elements->push_back(unit == 0 ? int16_t{0} : static_cast<int16_t>(round_half_even(all[first + k] / unit)));
  }
  return true;
}

// The sums of the biases for input and state. Those of the last gate of gru stay separate.
std::vector<double> biases_of(const Layers& layers, const Value* input, const Value* state) {
  const auto rows = static_cast<size_t>(layers.kind->gates * layers.cells), cells = static_cast<size_t>(layers.cells);
  std::vector<double> sums(4 * cells, 0);
  if (!input) return sums;
  const std::vector<double> a = numbers(*input), b = numbers(*state);
  for (size_t row = 0; row < rows; ++row) {
    sums[row] += a[row];
    sums[!layers.is_gru() || row < 2 * cells ? row : row + cells] += b[row];
  }
  return sums;
}

// An upper bound of |dh / d(sum of a row)|: the slope of the gate's function times the magnitude of what the gate
// multiplies. Gates i, f, o of lstm: 1/4, since c reaches h through tanh and |c| (1 - tanh(c)^2) < 1. Gate z of gru:
// 1/4 of the difference of two numbers between -1 and 1. Other rows, and lstm if c itself is read: 1.
double slope_of_row(const Node& node, const Layers& layers, size_t row) {
  constexpr double kSigmoid = 0.25, kDifference = 2;  // the largest difference of two numbers between -1 and 1
  const size_t gate = row / static_cast<size_t>(layers.cells);
  if (layers.is_lstm()) return gate == 2 || node.result(2)->num_uses() > 0 ? 1 : kSigmoid;
  return layers.is_gru() && gate == 1 && layers.reach <= 1 ? kSigmoid * kDifference : 1;
}

// The error of h that rounding a row of weights causes, in three standard deviations, for operands up to `reach`.
double error_of_weights(const Node& node, const Layers& layers, const Value& weights, double reach) {
  const std::vector<double> all = numbers(weights);
  const auto columns = static_cast<size_t>(weights.sizes()[1].value());
  double most = 0;
  for (size_t first = 0; first < all.size(); first += columns) {
    double largest = 0, square = 0;
    for (size_t k = 0; k < columns; ++k) largest = std::max(largest, std::abs(all[first + k]));
    const double unit = largest / kLargestWeight;
    for (size_t k = 0; k < columns && unit > 0; ++k) {
      const double error = all[first + k] - unit * round_half_even(all[first + k] / unit);
      square += error * error;
    }
    most = std::max(most, 3 * reach * std::sqrt(square) * slope_of_row(node, layers, first / columns));
  }
  return most;
}

// The largest standard deviation of h that a row causes if its operands have standard deviation 1; at least 1.
double gain_of_weights(const Node& node, const Layers& layers, const Value& weights) {
  const std::vector<double> all = numbers(weights);
  const auto columns = static_cast<size_t>(weights.sizes()[1].value());
  double most = 1;
  for (size_t first = 0; first < all.size(); first += columns) {
    double square = 0;
    for (size_t k = 0; k < columns; ++k) square += all[first + k] * all[first + k];
    most = std::max(most, std::sqrt(square) * slope_of_row(node, layers, first / columns));
  }
  return most;
}

// The error of the last layer's h that rounding h causes, in three standard deviations: through the weights of each
// layer once. The slope of tanh is at most 1.
double error_of_rounded_states(const Node& node, const Layers& layers) {
  const Values params = node.tensors("params");
  double error = std::sqrt(3) * std::ldexp(compiler::kOwnRounding, -layers.kernel_bits());
  for (int64_t layer = 0; layer < layers.layers; ++layer) {
    double gain = 1;
    for (int64_t direction = 0; direction < layers.directions; ++direction) {
      const size_t first = layers.weights_of_each * static_cast<size_t>(layer * layers.directions + direction);
      const double of_inputs = layer == 0 ? 1 : gain_of_weights(node, layers, *params[first]);
      gain = std::max(gain, gain_of_weights(node, layers, *params[first + 1]) * of_inputs);
    }
    error *= gain;
  }
  return error;
}

// The error of h that rounding a layer's weights causes in one direction.
double error_of_direction(const Node& node, const Layers& layers, int64_t layer, int64_t direction) {
  const Values params = node.tensors("params");
  const size_t first = layers.weights_of_each * static_cast<size_t>(layer * layers.directions + direction);
  const double state_reach = std::max(layers.reach, reach_of(*states_of(node)[0]));
  const double reach = layer == 0 ? largest_number(affine(*node.tensor("input"))) : state_reach;
  return error_of_weights(node, layers, *params[first], reach) +
         error_of_weights(node, layers, *params[first + 1], state_reach);
}

// The scale of an int8 result. For an int16 result: the scale that int8 would have over the same range, because steps
// of int16 are as fine as h, and the errors are upper bounds.
double step_of_int8(const Value& result) {
  const Affine q = affine(result);
  return result.dtype() == DType::i8 ? q.scale : q.scale * (q.max - q.min) / (INT8_MAX - INT8_MIN);
}

constexpr char kCalmerLayer[] = "use a larger scale of its result, smaller weights, or a smaller range of its input";

// Results that quantize_between made int16 are left out: it checks their readers (error_of_recurrent).
Refusal refuse_rounding(const Node& node, const char* what, double error) {
  for (const Value* result : node.results()) {
    const bool is_asked = result->num_uses() > 0 && has_elements(*result) && !is_unannotated_int16(*result);
    if (!is_asked || error <= compiler::kMostError * step_of_int8(*result)) continue;
    return {
        fmt::format("16 bits of its {} could put its result off by {:.3g} steps", what, error / affine(*result).scale),
        kCalmerLayer};
  }
  return {};
}

Refusal read_direction(const Node& node, const Layers& layers, int64_t layer, int64_t direction, Direction* out) {
  const Values params = node.tensors("params");
  const size_t first = layers.weights_of_each * static_cast<size_t>(layer * layers.directions + direction);
  const double state_step = std::ldexp(1, -layers.kernel_bits());
  const double step = layer == 0 ? std::ldexp(affine(*node.tensor("input")).scale, -layers.divided_bits) : state_step;
  if (!read_weights(*params[first], step, &out->input_weights, &out->input_factors) ||
      !read_weights(*params[first + 1], state_step, &out->state_weights, &out->state_factors))
    return {"its weights, times the scale of its input, are too large",
            "use a smaller scale of its input: its range is too wide for these weights"};
  // From the outputs of the cells, which have the most bits, to h.
  const double projection_step = std::ldexp(1, layers.state_bits - kMostStateBits - kGateBits);
  if (layers.is_projected() && !read_weights(*params[first + layers.weights_of_each - 1], projection_step,
                                             &out->projection, &out->projection_factors))
    return {"the weights of its projection are too large", "scale the projection down, and what reads it up"};
  const bool has_bias = layers.weights_of_each >= 4;
  const std::vector<double> biases =
      biases_of(layers, has_bias ? params[first + 2] : nullptr, has_bias ? params[first + 3] : nullptr);
  for (double bias : biases) {
    bias = std::ldexp(bias, -layers.divided_bits);
    if (!(std::abs(bias) < kLargestGate))
      return {"a bias is 32 or more", "clamp the bias to less than 32, where gates are flat"};
    out->bias.push_back(static_cast<int32_t>(round_half_even(std::ldexp(bias, kGateBits))));
  }
  if (node.is("aten.rnn_relu.input")) return {};  // read_relu_growth has checked h
  return refuse_rounding(node, "weights", error_of_direction(node, layers, layer, direction));
}

ReluStack relu_stack(const Node& node, const Layers& layers) {
  const Affine q = affine(*node.tensor("input"));
  ReluStack stack;
  stack.directions = static_cast<size_t>(layers.directions);
  stack.steps = layers.steps;
  stack.least = q.scale * (q.min - q.zero);
  stack.most = q.scale * (q.max - q.zero);
  stack.first = reach_of(*states_of(node)[0]);
  const Values params = node.tensors("params");
  for (size_t first = 0; first < params.size(); first += layers.weights_of_each) {
    const bool has_bias = layers.weights_of_each >= 4;
    std::vector<double> biases =
        biases_of(layers, has_bias ? params[first + 2] : nullptr, has_bias ? params[first + 3] : nullptr);
    biases.resize(static_cast<size_t>(layers.cells));
    stack.layers.push_back({numbers(*params[first]), numbers(*params[first + 1]), std::move(biases)});
  }
  return stack;
}

// Refuses errors of the last layer's h that show in the elements of a result.
Refusal refuse_error(const Node& node, const Layers& layers, const ReluStack& stack) {
  const double error = std::ldexp(error_of_states(stack), -layers.state_bits);
  for (size_t i = 0; i < node.results().size(); ++i) {
    const Value& result = *node.result(i);
    if (result.num_uses() == 0 || !has_elements(result)) continue;
    const double most = compiler::kMostError * steps_that_count(result);
    if (!(error <= most))
      return {
          fmt::format("behind its relu, h could reach {:.3g}; 16 bits of that put its result off by up to {:.3g} steps",
                      layers.reach, error / affine(result).scale),
          kCalmerLayer};
  }
  return {};
}

// With relu, h is bounded only by the weights and the number of steps. If h can reach 32, everything that enters gates
// is divided by a power of 2.
Refusal read_relu_growth(const Node& node, Layers* layers) {
  const ReluStack stack = relu_stack(node, *layers);
  layers->reach = std::max(1.0, largest_state(stack));
  if (!std::isfinite(layers->reach)) return {"behind its relu, h could be infinite", "use finite weights"};
  if (is_given(*states_of(node)[0]) && node.result(1)->num_uses() > 0 && layers->reach > kFloatReach)
    return {"behind its relu, h could exceed 8, where a first state in floats saturates",
            "quantize the states that go in and come out"};
  while (std::ldexp(layers->reach, -layers->divided_bits) >= kLargestGate) ++layers->divided_bits;
  while (std::ldexp(layers->reach, layers->state_bits) >= kLargestWeight + 0.5) --layers->state_bits;
  if (layers->kernel_bits() < kLeastStateBits)
    return {"its first state h could be 128 or more", "use a smaller scale of the first state h"};
  return refuse_error(node, *layers, stack);
}

// A projection bounds h by its weights.
Refusal read_growth(const Node& node, Layers* layers) {
  if (node.is("aten.rnn_relu.input")) return read_relu_growth(node, layers);
  if (!layers->is_projected()) return {};
  layers->reach = largest_projected(node);
  if (!(layers->reach < kLargestGate))
    return {"behind its projection, h could reach 32", "scale the projection down, and what reads it up"};
  if (is_given(*states_of(node)[0]) && node.result(1)->num_uses() > 0 && layers->reach > kFloatReach)
    return {"behind its projection, h could exceed 8, where a first state in floats saturates",
            "quantize the states that go in and come out"};
  while (std::ldexp(layers->reach, layers->state_bits) >= kLargestWeight + 0.5) --layers->state_bits;
  return {};
}

Refusal refuse_layers(const Node& node, Layers* layers) {
  for (Refusal (*const read)(const Node& node, Layers* layers) : {read_sizes, read_states, read_growth}) {
    Refusal reason = refuse_elements(*node.tensor("input"), "its input");
    if (reason.empty()) reason = read(node, layers);
    if (!reason.empty()) return reason;
  }
  Refusal refused = refuse_results(node, *layers);
  const bool is_relu = node.is("aten.rnn_relu.input");  // read_relu_growth has checked that
  if (refused.empty() && !is_relu) refused = refuse_rounding(node, "states", error_of_rounded_states(node, *layers));
  if (!refused.empty()) return refused;
  for (int64_t layer = 0; layer < layers->layers; ++layer) {
    for (int64_t direction = 0; direction < layers->directions; ++direction) {
      Direction read;
      Refusal reason = read_direction(node, *layers, layer, direction, &read);
      if (!reason.empty()) return reason;
    }
  }
  return {};
}

Verdict supports_layers(const Node& node, const Configuration& configuration) {
  Layers layers;
  const Refusal reason = refuse_layers(node, &layers);
  if (!reason.empty()) return refused(reason);
  if (configuration.stock_only) return refused({"stock has no integer form of it", kProfileAuto});
  const Values states = states_of(node);
  if (std::any_of(states.begin(), states.end(), [](const Value* state) { return is_given(*state); }))
    return Verdict::yes(
        "its gates and states have 12 bits and more; first states in floats saturate, h at 8 and c at 1024");
  return Verdict::yes("its gates and states, which the model does not quantize, have 15 bits and more");
}

// --- rewrite ---

template <typename T>
Value* list(Builder& b, DType dtype, compiler::Sizes sizes, std::vector<T> elements, std::string_view name) {
  return b.constant(compiler::TensorType{dtype, std::move(sizes), {}}, compiler::layout::own(std::move(elements)),
                    name);
}

// Puts the steps first. With one sequence or one step that is a view.
Value* exchanged(Builder& b, Value* x) {
  const compiler::Sizes& sizes = x->sizes();
  if (sizes[0].is(1) || sizes[1].is(1)) return b.reshape(x, {sizes[1], sizes[0], sizes[2]});
  return b.transpose(x, 0, 1);
}

// A state in floats, as elements with `bits` fractional bits.
Value* state_from_floats(Builder& b, Value* x, int bits, DType dtype) {
  if (dtype == DType::i16) {
    const auto most = static_cast<int64_t>(std::ldexp(kFloatReach, bits));
    return b.call("cortex_m.quantize_per_tensor", {x, std::ldexp(1, -bits), int64_t{0}, -most, most, dtype});
  }
  const double most = std::ldexp(kFloatCellReach, bits);
  x = b.call("aten.clamp", {b.call("aten.mul.Scalar", {x, std::ldexp(1, bits)}), -most, most});
  return b.cast(x, DType::i32);
}

// The initial state [B, H] of one layer and direction, with `bits` fractional bits.
Value* first_state(Builder& b, Value* state, const Layers& layers, int64_t index, int bits, DType dtype) {
  const int64_t width = state->sizes().back().value(), count = layers.batch * width;
  const compiler::Sizes sizes = {layers.batch, width};
  if (is_given(*state)) return state_from_floats(b, b.reshape(b.slice(state, 0, index, index + 1), sizes), bits, dtype);
  if (!state->is_constant()) {
    const Affine q = affine(*state);
    const Requantization factor = *state_factor(*state, bits);
    const bool narrow = dtype == DType::i16;
    Value* x = b.reshape(b.slice(state, 0, index, index + 1), sizes);
    return b.call("wick_cortex_m.requantize",
                  {x, int64_t{q.zero}, int64_t{0}, int64_t{factor.multiplier}, int64_t{factor.shift},
                   int64_t{narrow ? INT16_MIN : INT32_MIN}, int64_t{narrow ? INT16_MAX : INT32_MAX}, dtype});
  }
  const std::vector<double> all = numbers(*state);
  std::vector<int32_t> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        static_cast<int32_t>(round_half_even(std::ldexp(all[static_cast<size_t>(index * count + i)], bits))));
  if (dtype == DType::i32) return constant(b, sizes, std::move(words), "c");
  return list(b, dtype, sizes, std::vector<int16_t>(words.begin(), words.end()), "h");
}

struct Calls {
  Builder& b;
  const Node& node;
  const Layers& layers;
  Isa isa;
};

compiler::Arg optional(Value* value) { return value ? compiler::Arg(value) : compiler::Arg(compiler::None()); }

// Calls the kernel for one layer and direction. Returns {last h, last state, output}.
std::vector<Value*> direction_call(const Calls& calls, Value* x, int64_t layer, int64_t direction) {
  Builder& b = calls.b;
  const Node& node = calls.node;
  const Layers& layers = calls.layers;
  Direction read;
  read_direction(node, layers, layer, direction, &read);
  const int64_t rows = layers.kind->gates * layers.cells, inputs = x->sizes()[2].value();
  const int64_t index = layer * layers.directions + direction;
  const Values states = states_of(node);
  const bool starts = !std::all_of(states.begin(), states.end(), [](const Value* state) { return is_zero(*state); });
  Value* h = starts ? first_state(b, states[0], layers, index, layers.state_bits, DType::i16) : nullptr;
  Value* c = starts && layers.is_lstm() ? first_state(b, states[1], layers, index, kCellBits, DType::i32) : nullptr;
  const Value& result = *node.result(0);
  const bool is_read = result.num_uses() > 0;
  const bool narrow = layer + 1 == layers.layers && !(is_read && result.dtype() == DType::i16);
  const Affine to = is_read ? affine(result) : Affine{};
  const Requantization factor = is_read && narrow ? *result_factor(result, layers.state_bits, 0) : Requantization{};
  const int64_t hidden = layers.is_projected() ? (layers.cells + 1) / 2 : 0;
  const int64_t bytes = 4 * (4 * layers.cells + (inputs + 1) / 2 + hidden);
  compiler::Args args = {x, list(b, DType::i16, {rows, inputs}, std::move(read.input_weights), "input_weights"),
                         list(b, DType::i16, {rows, layers.outputs}, std::move(read.state_weights), "state_weights")};
  if (layers.is_projected())
    args.push_back(list(b, DType::i16, {layers.outputs, layers.cells}, std::move(read.projection), "projection"));
  args.push_back(constant(b, {2 * rows}, std::move(read.input_factors), "input_factors"));
  args.push_back(constant(b, {2 * rows}, std::move(read.state_factors), "state_factors"));
  if (layers.is_projected())
    args.push_back(constant(b, {2 * layers.outputs}, std::move(read.projection_factors), "projection_factors"));
  const compiler::Arg others[] = {constant(b, {4 * layers.cells}, std::move(read.bias), "bias"),
                                  optional(h),
                                  optional(c),
                                  layer == 0 ? int64_t{affine(*node.tensor("input")).zero} : int64_t{0},
                                  direction == 1,
                                  int64_t{layers.kernel_bits()},
                                  int64_t{narrow ? to.zero : 0},
                                  int64_t{factor.multiplier},
                                  int64_t{factor.shift},
                                  scratch(b, {bytes, bytes, bytes}, calls.isa),
                                  narrow ? DType::i8 : DType::i16};
  args.insert(args.end(), std::begin(others), std::end(others));
  return b.call_multi(layers.kernel(), std::move(args));
}

// h as elements of the result.
Value* output(Builder& b, Value* h, const Value& result, int bits) {
  if (h->dtype() == result.dtype() && result.dtype() == DType::i8) return h;
  return converted(b, h, {std::ldexp(1, -bits), 0, INT16_MIN, INT16_MAX}, affine(result), result.dtype());
}

// A state's elements as floats.
Value* state_to_floats(Builder& b, Value* x, int bits) {
  if (x->dtype() == DType::i16)
    return b.call("cortex_m.dequantize_per_tensor",
                  {x, std::ldexp(1, -bits), int64_t{0}, int64_t{INT16_MIN}, int64_t{INT16_MAX}, DType::i16});
  return b.call("aten.mul.Scalar", {b.cast(x, DType::f32), std::ldexp(1, -bits)});
}

// The states of all layers and directions, each [B, H], as elements of the result or as floats.
Value* last_state(Builder& b, const Values& states, const Value& result, int bits) {
  Values stacked;
  stacked.reserve(states.size());
  for (Value* state : states) stacked.push_back(b.unsqueeze(state, 0));
  Value* x = b.reshape(stacked.size() == 1 ? stacked[0] : b.call("aten.cat", {stacked, int64_t{0}}), result.sizes());
  if (is_returned(result)) return state_to_floats(b, x, bits);
  const Affine to = affine(result);
  if (x->dtype() == DType::i16)
    return converted(b, x, {std::ldexp(1, -bits), 0, INT16_MIN, INT16_MAX}, to, result.dtype());
  const Requantization factor = *result_factor(result, bits, 0);
  return b.call("wick_cortex_m.requantize", {x, int64_t{0}, int64_t{to.zero}, int64_t{factor.multiplier},
                                             int64_t{factor.shift}, int64_t{to.min}, int64_t{to.max}, result.dtype()});
}

std::vector<Value*> rewrite_layers(Builder& b, Node& node, const Configuration& configuration) {
  Layers layers;
  refuse_layers(node, &layers);
  Value* x = node.tensor("input");
  const bool batch_first = x->rank() == 3 && node.boolean("batch_first");
  x = x->rank() == 2 ? b.unsqueeze(x, 1) : batch_first ? exchanged(b, x) : x;
  const Calls calls = {b, node, layers, configuration.isa};
  Values h, states;
  for (int64_t layer = 0; layer < layers.layers; ++layer) {
    Values sides;
    for (int64_t direction = 0; direction < layers.directions; ++direction) {
      const std::vector<Value*> results = direction_call(calls, x, layer, direction);
      h.push_back(results[0]);
      states.push_back(results[1]);
      sides.push_back(results[2]);
    }
    x = sides.size() == 1 ? sides[0] : b.call("aten.cat", {sides, int64_t{2}});
  }
  std::vector<Value*> results;
  for (size_t i = 0; i < node.results().size(); ++i) {
    const Value& result = *node.result(i);
    results.push_back(
        result.num_uses() == 0 ? b.full(result.sizes(), 0.0, result.dtype())
        : i == 0 ? output(b, b.reshape(batch_first ? exchanged(b, x) : x, result.sizes()), result, layers.state_bits)
        : i == 1 ? last_state(b, h, result, layers.state_bits)
                 : last_state(b, states, result, kCellBits));
  }
  return results;
}

// join_cells left a cell alone.
Verdict refuse_cell(const Node&, const Configuration&) {
  return refused({"a recurrent cell with one bias only, or of one sequence without a batch",
                  "give the cell both biases or none, and its input a batch"});
}
std::vector<Value*> no_cell(Builder&, Node&, const Configuration&) { return {}; }

constexpr OpRule kRules[] = {
    {"aten.gru.input", supports_layers, rewrite_layers, false, true},
    {"aten.gru_cell.default", refuse_cell, no_cell},
    {"aten.lstm.input", supports_layers, rewrite_layers, false, true},
    {"aten.lstm_cell.default", refuse_cell, no_cell},
    {"aten.rnn_relu.input", supports_layers, rewrite_layers, false, true},
    {"aten.rnn_relu_cell.default", refuse_cell, no_cell},
    {"aten.rnn_tanh.input", supports_layers, rewrite_layers, false, true},
    {"aten.rnn_tanh_cell.default", refuse_cell, no_cell},
};

}  // namespace
}  // namespace rules_recurrent

double error_of_recurrent(const Node& node) {
  using namespace rules_recurrent;
  Layers layers;
  for (Refusal (*const read)(const Node& node, Layers* layers) : {read_sizes, read_states, read_growth}) {
    if (!refuse_elements(*node.tensor("input"), "").empty() || !read(node, &layers).empty()) return 0;
  }
  if (node.is("aten.rnn_relu.input")) return std::ldexp(error_of_states(relu_stack(node, layers)), -layers.state_bits);
  double error = 0;
  for (int64_t layer = 0; layer < layers.layers; ++layer) {
    for (int64_t direction = 0; direction < layers.directions; ++direction)
      error = std::max(error, error_of_direction(node, layers, layer, direction));
  }
  return std::max(error, error_of_rounded_states(node, layers));
}

const RuleFamily kRecurrentRules = {rules_recurrent::kRules, std::size(rules_recurrent::kRules)};

}  // namespace wick::cortex_m
