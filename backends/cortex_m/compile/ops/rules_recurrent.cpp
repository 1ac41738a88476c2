// LSTM and GRU layers that export leaves whole: operators of Wick, one for each layer and direction. Models quantize
// what goes in and what comes out, not gates and states; nor do they need to be: weights are rounded to 16 bits of the
// largest one of a row (quantized weights of 8 bits are exact in that), states have 15 bits and more, sums 64.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/convolution_calls.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Values;
using compiler::Verdict;

namespace {

constexpr int64_t kMostCells = 1024;
constexpr int kGateBits = 26, kStateBits = 15, kMultiplierBits = 22, kMostShift = 62;
constexpr double kLargestWeight = 32767;

constexpr double kLargestGate = 32;

double largest_number(const Affine& q) {
  return q.scale * std::max(std::abs(q.min - q.zero), std::abs(q.max - q.zero));
}

// One layer in one direction.
struct Direction {
  std::vector<int16_t> input_weights, state_weights;
  std::vector<int32_t> input_factors, state_factors, bias;
};

struct Layers {
  bool is_lstm = false;
  int64_t layers = 1, directions = 1, inputs = 0, cells = 0, steps = 0, batch = 0;
  int64_t gates() const { return is_lstm ? 4 : 3; }
  size_t weights_of_each = 2;  // and biases
};

Values states_of(const Node& node) {
  return node.is("aten.lstm.input") ? node.tensors("hx") : Values{node.tensor("hx")};
}

std::string refuse_states(const Node& node) {
  for (const Value* state : states_of(node)) {
    if (!state->is_constant()) return "its first state is computed or an input";
    const std::vector<double> all = numbers(*state);
    if (all.empty() || std::any_of(all.begin(), all.end(), [](double number) { return number != 0; }))
      return "its first state is not 0";
  }
  return "";
}

// Which results are read: the output or, of a single layer, the last h in its place.
std::string refuse_results(const Node& node, const Layers& layers) {
  const Value *output = node.result(0), *last = node.result(1);
  if (node.results().size() > 2 && node.result(2)->num_uses() > 0) return "its last state c is read";
  if (last->num_uses() == 0) return refuse_int8(*output, "its output");
  if (layers.layers > 1) return "the last state of several layers is read";
  std::string reason = refuse_int8(*last, "its last state");
  if (!reason.empty() || output->num_uses() == 0) return reason;
  reason = refuse_int8(*output, "its output");
  if (reason.empty() && !same_numbers(affine(*output), affine(*last)))
    return "its output and its last state have different scales";
  return reason;
}

std::string read_sizes(const Node& node, Layers* layers) {
  const Value* x = node.tensor("input");
  if (x->rank() != 3) return "wanted an input with steps, batch and features";
  if (node.boolean("train") && node.real("dropout") != 0) return "it drops out";
  layers->is_lstm = node.is("aten.lstm.input");
  layers->layers = node.static_integer("num_layers");
  layers->directions = node.boolean("bidirectional") ? 2 : 1;
  const bool batch_first = node.boolean("batch_first");
  layers->steps = x->sizes()[batch_first ? 1 : 0].value();
  layers->batch = x->sizes()[batch_first ? 0 : 1].value();
  layers->inputs = x->sizes()[2].value();
  layers->cells = states_of(node)[0]->sizes().back().value();
  layers->weights_of_each = node.boolean("has_biases") ? 4 : 2;
  const Values params = node.tensors("params");
  if (params.size() != layers->weights_of_each * static_cast<size_t>(layers->layers * layers->directions))
    return "it projects its output";
  for (const Value* weight : params) {
    if (!weight || !weight->is_constant()) return "its weights are computed";
    const auto& q = weight->tensor().quantization;
    if (numbers(*weight).empty() || (q && (q->at_run_time || (!q->is_per_tensor() && !q->channel_dim()))))
      return "its weights are not floats, nor quantized with a scale for each row or for all";
  }
  if (std::max({layers->inputs, layers->cells * layers->directions}) > kMostCells || layers->steps == 0)
    return "more than 1024 inputs or cells, or no steps";
  return "";
}

// Rows of weights in 16 bits and what makes gates of their sums, where one unit of the other operand is `step`.
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

// The biases of input and state together; those of the last gate of gru stay apart.
std::vector<double> biases_of(const Layers& layers, const Value* input, const Value* state) {
  const auto rows = static_cast<size_t>(layers.gates() * layers.cells), cells = static_cast<size_t>(layers.cells);
  std::vector<double> sums(4 * cells, 0);
  if (!input) return sums;
  const std::vector<double> a = numbers(*input), b = numbers(*state);
  for (size_t row = 0; row < rows; ++row) {
    sums[row] += a[row];
    sums[layers.is_lstm || row < 2 * cells ? row : row + cells] += b[row];
  }
  return sums;
}

// The last rows' largest sums of products with numbers of at most `reach`, and their bias from `first` on, are in
// range.
bool fits_gate(const Layers& layers, const Value& weights, double reach, const std::vector<double>& biases,
               size_t first) {
  const std::vector<double> all = numbers(weights);
  const auto cells = static_cast<size_t>(layers.cells), columns = static_cast<size_t>(weights.sizes()[1].value());
  for (size_t j = 0; j < cells; ++j) {
    double most = std::abs(biases[first + j]);
    for (size_t k = 0; k < columns; ++k) most += reach * std::abs(all[(2 * cells + j) * columns + k]);
    if (!(most < kLargestGate)) return false;
  }
  return true;
}

std::string read_direction(const Node& node, const Layers& layers, int64_t layer, int64_t direction, Direction* out) {
  const Values params = node.tensors("params");
  const size_t first = layers.weights_of_each * static_cast<size_t>(layer * layers.directions + direction);
  const double step = layer == 0 ? affine(*node.tensor("input")).scale : std::ldexp(1, -kStateBits);
  if (!read_weights(*params[first], step, &out->input_weights, &out->input_factors) ||
      !read_weights(*params[first + 1], std::ldexp(1, -kStateBits), &out->state_weights, &out->state_factors))
    return "its weights, times the scale of its input, are too large";
  const bool has_bias = layers.weights_of_each == 4;
  const std::vector<double> biases =
      biases_of(layers, has_bias ? params[first + 2] : nullptr, has_bias ? params[first + 3] : nullptr);
  for (const double bias : biases) {
    if (!(std::abs(bias) < kLargestGate)) return "a bias is 32 or more";
    out->bias.push_back(static_cast<int32_t>(round_half_even(std::ldexp(bias, kGateBits))));
  }
  const auto cells = static_cast<size_t>(layers.cells);
  const double reach = layer == 0 ? largest_number(affine(*node.tensor("input"))) : 1;
  const bool fits = layers.is_lstm || (fits_gate(layers, *params[first], reach, biases, 2 * cells) &&
                                       fits_gate(layers, *params[first + 1], 1, biases, 3 * cells));
  return fits ? "" : "what goes into its tanh could be 32 or more";
}

Affine output_of(const Node& node) {
  return affine(node.result(1)->num_uses() > 0 ? *node.result(1) : *node.result(0));
}

std::optional<Requantization> output_factor(const Node& node) {
  return requantization(std::ldexp(1 / output_of(node).scale, -kStateBits));
}

std::string refuse_layers(const Node& node, Layers* layers) {
  for (const std::string& reason : {refuse_int8(*node.tensor("input"), "its input"), refuse_states(node),
                                    read_sizes(node, layers), refuse_results(node, *layers)}) {
    if (!reason.empty()) return reason;
  }
  if (!output_factor(node)) return "the scale of its result is too small";
  for (int64_t layer = 0; layer < layers->layers; ++layer) {
    for (int64_t direction = 0; direction < layers->directions; ++direction) {
      Direction read;
      std::string reason = read_direction(node, *layers, layer, direction, &read);
      if (!reason.empty()) return reason;
    }
  }
  return "";
}

Verdict supports_layers(const Node& node, const Configuration& configuration) {
  Layers layers;
  const std::string reason = refuse_layers(node, &layers);
  if (!reason.empty()) return Verdict::no(reason);
  if (configuration.stock_only) return Verdict::no("stock has no integer form of it");
  return Verdict::yes("its gates and states, which the model does not quantize, have 15 bits and more");
}

// --- rewrite ---

template <typename T>
Value* list(Builder& b, DType dtype, compiler::Sizes sizes, std::vector<T> elements, std::string_view name) {
  return b.constant(compiler::TensorType{dtype, std::move(sizes), {}}, compiler::layout::own(std::move(elements)),
                    name);
}

// Steps first; with one sequence that is only another view.
Value* exchanged(Builder& b, Value* x) {
  const compiler::Sizes& sizes = x->sizes();
  if (sizes[0].is(1) || sizes[1].is(1)) return b.reshape(x, {sizes[1], sizes[0], sizes[2]});
  return b.transpose(x, 0, 1);
}

Value* direction_call(Builder& b, const Node& node, const Layers& layers, Value* x, int64_t layer, int64_t direction,
                      Isa isa) {
  Direction read;
  read_direction(node, layers, layer, direction, &read);
  const int64_t rows = layers.gates() * layers.cells, inputs = x->sizes()[2].value();
  const bool is_last = layer + 1 == layers.layers;
  const Affine to = output_of(node);
  const Requantization factor = *output_factor(node);
  const int64_t bytes = 4 * (5 * layers.cells + (inputs + 1) / 2 + (layers.cells + 1) / 2);
  return b.call(layers.is_lstm ? "wick_cortex_m.lstm" : "wick_cortex_m.gru",
                {x, list(b, DType::i16, {rows, inputs}, std::move(read.input_weights), "input_weights"),
                 list(b, DType::i16, {rows, layers.cells}, std::move(read.state_weights), "state_weights"),
                 constant(b, {2 * rows}, std::move(read.input_factors), "input_factors"),
                 constant(b, {2 * rows}, std::move(read.state_factors), "state_factors"),
                 constant(b, {4 * layers.cells}, std::move(read.bias), "bias"),
                 layer == 0 ? int64_t{affine(*node.tensor("input")).zero} : int64_t{0}, direction == 1,
                 int64_t{to.zero}, int64_t{factor.multiplier}, int64_t{factor.shift},
                 scratch(b, {bytes, bytes, bytes}, isa), is_last ? DType::i8 : DType::i16});
}

std::vector<Value*> rewrite_layers(Builder& b, Node& node, const Configuration& configuration) {
  Layers layers;
  refuse_layers(node, &layers);
  const bool batch_first = node.boolean("batch_first");
  Value* x = batch_first ? exchanged(b, node.tensor("input")) : node.tensor("input");
  Values sides;
  for (int64_t layer = 0; layer < layers.layers; ++layer) {
    sides.clear();
    for (int64_t direction = 0; direction < layers.directions; ++direction)
      sides.push_back(direction_call(b, node, layers, x, layer, direction, configuration.isa));
    x = sides.size() == 1 ? sides[0] : b.call("aten.cat", {sides, int64_t{2}});
  }
  std::vector<Value*> results = {batch_first ? exchanged(b, x) : x};
  Values last;
  for (size_t i = 0; i < sides.size(); ++i) {
    const int64_t at = i == 0 ? layers.steps - 1 : 0;
    last.push_back(b.slice(sides[i], 0, at, at + 1));
  }
  const auto unread = [&](const Value* result) { return b.full(result->sizes(), 0.0, result->dtype()); };
  const bool reads_last = node.result(1)->num_uses() > 0;
  if (node.result(0)->num_uses() == 0) results[0] = unread(node.result(0));
  results.push_back(!reads_last        ? unread(node.result(1))
                    : last.size() == 1 ? last[0]
                                       : b.call("aten.cat", {last, int64_t{0}}));
  if (node.results().size() > 2) results.push_back(unread(node.result(2)));
  return results;
}

constexpr OpRule kRules[] = {
    {"aten.gru.input", supports_layers, rewrite_layers},
    {"aten.lstm.input", supports_layers, rewrite_layers},
};

}  // namespace

const RuleFamily kRecurrentRules = {kRules, std::size(kRules)};

}  // namespace wick::cortex_m
