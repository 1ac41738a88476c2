#include "backends/cortex_m/compile/ops/int16/rounding.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/int16/number_bounds.h"
#include "backends/cortex_m/compile/ops/int16/unannotated_int16.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/ops/recurrent/recurrent_error.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/analysis/rounding_limits.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/match/pointwise.h"

namespace wick::cortex_m {

using compiler::Binary;
using compiler::Node;
using compiler::Value;

namespace {

// The largest |self / n - self / round(n)|, where round() goes to multiples of `step`. Divisors n of 0 are left out, as
// they stay 0.
double error_of_divisor(double self, const std::vector<double>& numbers, double step) {
  double largest = 0;
  for (const double number : numbers) {
    const double rounded = round_half_even(number / step) * step;
    if (number != 0) largest = larger(largest, self * std::abs(1 / number - 1 / rounded));
  }
  return largest;
}

// The largest difference between the results of `node` for two neighboring elements of `x`, from least_of(x) on.
// Results are clamped to the range of the result's elements; NaN is left out.
double steepest_step(const Node& node, const Value& x) {
  OnAllElements all(x);
  all.add(node);
  const std::vector<double> results = all.results();
  double low = -kUnknown, high = kUnknown;
  if (has_elements(*node.result())) {
    const Affine to = affine(*node.result());
    low = (to.min - to.zero) * to.scale, high = (to.max - to.zero) * to.scale;
  }
  const double least = std::floor(least_of(x) / affine(x).scale);
  double steepest = 0;
  for (size_t i = 1; i < results.size(); ++i) {
    if (static_cast<double>(i - 1) - static_cast<double>(results.size()) / 2 < least) continue;
    const double step = std::clamp(results[i], low, high) - std::clamp(results[i - 1], low, high);
    if (!std::isnan(step)) steepest = std::max(steepest, std::abs(step));
  }
  return steepest;
}

// A bound of |sum_k w[k] e[k]| for errors |e[k]| <= 1, where `total` is sum |w[k]| and `square` is sum w[k]^2: `total`,
// or three standard deviations for uniformly distributed e[k], sqrt(3 * square).
double of_terms(double total, double square) { return std::min(total, std::sqrt(3 * square)); }

// The largest gain of an output channel, whose weights have its index in dimension `dim`. Equal inputs have equal
// errors, so |sum w| counts as well.
double gain_of_layer(const Node& node, size_t dim) {
  const Value* weights = node.tensor("weight");
  const std::vector<double> all = weights->is_constant() ? numbers(*weights) : std::vector<double>();
  if (all.empty()) return kUnknown;
  double inner = 1;
  for (size_t d = dim + 1; d < weights->rank(); ++d) inner *= static_cast<double>(weights->sizes()[d].value());
  std::vector<double> totals(static_cast<size_t>(weights->sizes()[dim].value()));
  std::vector<double> squares(totals.size()), sums(totals.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t c = i / static_cast<size_t>(inner) % totals.size();
    totals[c] += std::abs(all[i]);
    squares[c] += all[i] * all[i];
    sums[c] += all[i];
  }
  double gain = 0;
  for (size_t c = 0; c < totals.size(); ++c)
    gain = larger(gain, std::max(of_terms(totals[c], squares[c]), std::abs(sums[c])));
  return gain;
}
double gain_of_linear(const Node& node, const Value&) { return gain_of_layer(node, 0); }
double gain_of_convolution(const Node& node, const Value&) {
  return gain_of_layer(node, node.boolean("transposed") ? 1 : 0);
}

constexpr double kGainOfSoftmax = 0.5;  // sum_j |dp/ds[j]| = 2 p (1 - p) at most, for scores s

double gain_of_matmul(const Node& node, const Value& operand) {
  const Value *a = node.operands()[0], *b = node.operands()[1];
  const double excess = row_sum_excess(a);
  if (&operand == b && excess < 1) return 1 + excess;
  const auto terms = static_cast<double>(a->sizes().back().value());
  return reach(&operand == a ? b : a) * of_terms(terms, terms);
}

// The error of a @ b if the probabilities `a` are off by `error`. Half a step of it is their own rounding, which adds
// up over the terms. The rest comes from scores: if these are off by e, a probability is off by at most kGainOfSoftmax
// * e, and the weighted mean of `b` by at most e * |b|, since the probabilities still add up to 1.
double error_behind_probabilities(const Node& node, const Value& operand, double error) {
  const double own = affine(operand).scale / 2, sum = gain_of_matmul(node, operand);
  return std::min(sum * error, sum * own + reach(node.operands()[1]) * std::max(0.0, error - own) / kGainOfSoftmax);
}

// If scores are off by e, the weighted mean of `value` is off by at most e * |value|.
double gain_of_attention(const Node& node, const Value& operand) {
  if (node.tensor("value") == &operand) return 1;
  const Value *query = node.tensor("query"), *key = node.tensor("key");
  const auto terms = static_cast<double>(query->sizes().back().value());
  const double scale = node.is_none("scale") ? 1 / std::sqrt(terms) : std::abs(node.real("scale"));
  return scale * of_terms(terms, terms) * reach(&operand == query ? key : query) * reach(node.tensor("value"));
}

// max_c |weight[c]| / sqrt(variance[c] + eps)
double gain_of_batch_norm(const Node& node, const Value&) {
  const Value *variance = node.tensor("running_var"), *weight = node.optional_tensor("weight");
  if (!variance->is_constant() || (weight && !weight->is_constant())) return kUnknown;
  const std::vector<double> variances = numbers(*variance);
  const std::vector<double> scales = weight ? numbers(*weight) : std::vector<double>(variances.size(), 1);
  double gain = 0;
  for (size_t c = 0; c < std::min(scales.size(), variances.size()); ++c)
    gain = larger(gain, std::abs(scales[c]) / std::sqrt(variances[c] + node.real("eps")));
  return gain;
}

// --- norms divide by a standard deviation, which may be small ---

double deviation(const std::vector<double>& numbers) {
  double sum = 0, squares = 0;
  for (const double number : numbers) sum += number;
  const double mean = sum / static_cast<double>(numbers.size());
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

double length(const std::vector<double>& numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

// The layer whose output channels are the last dimension of `x` (for a group norm: its dimension 1), or null.
const Node* layer_of_rows(const Value& x, bool groups) {
  const Node* node = x.producer;
  if (node && !groups && node->is("aten.linear.default")) return node;
  if (node && !groups) {
    if (!node->is("aten.permute.default")) return nullptr;
    const auto dims = node->static_ints("dims");
    if (dims.empty() || compiler::wrap_dim(dims.back(), dims.size()) != 1) return nullptr;
    node = node->operands()[0]->producer;
  }
  return node && node->is("aten.convolution.default") && !node->boolean("transposed") ? node : nullptr;
}

// The weights of a layer, one row for each output, and its bias.
struct LayerRows {
  std::vector<std::vector<double>> rows;
  std::vector<double> bias;  // empty: none
};

// How much outputs differ from one another if each input is 1 or -1 at random: sqrt(sum_k deviation(column k)^2).
double deviation_of_columns(const LayerRows& layer) {
  double squares = 0;
  std::vector<double> column(layer.rows.size());
  for (size_t k = 0; k < layer.rows[0].size(); ++k) {
    for (size_t o = 0; o < column.size(); ++o) column[o] = layer.rows[o][k];
    squares += deviation(column) * deviation(column);
  }
  return std::sqrt(squares);
}

// The least nonzero standard deviation in `groups` equal parts of the bias; kUnknown if there is none.
double least_deviation_of_bias(const LayerRows& layer, size_t groups) {
  double least = kUnknown;
  const size_t count = layer.bias.size() / groups;
  for (size_t g = 0; g < groups && count > 1; ++g) {
    const auto first = layer.bias.begin() + static_cast<std::ptrdiff_t>(g * count);
    const double found = deviation({first, first + static_cast<std::ptrdiff_t>(count)});
    if (found > 0) least = std::min(least, found);
  }
  return least;
}

// The standard deviation that a norm finds in rows of `x` near 0, where `x` is the output of a layer: what one step of
// each input element causes, or what the bias causes, whichever is less. `groups`: those of a group norm, which also
// sees how an output differs from place to place; 0 for norms of rows. Returns 0 if it is unknown.
double usual_deviation(const Value& x, size_t groups) {
  const Node* node = layer_of_rows(x, groups > 0);
  if (!node || !node->tensor("weight")->is_constant()) return 0;
  const Value *weights = node->tensor("weight"), *bias = node->optional_tensor("bias");
  if (!has_elements(*node->tensor("input")) || (bias && !bias->is_constant())) return 0;
  const std::vector<double> all = numbers(*weights);
  const auto outputs = static_cast<size_t>(weights->sizes()[0].value());
  if (outputs == 0 || all.size() < outputs) return 0;
  LayerRows layer = {{}, bias ? numbers(*bias) : std::vector<double>()};
  const auto terms = static_cast<std::ptrdiff_t>(all.size() / outputs);
  for (auto row = all.begin(); row != all.end(); row += terms) layer.rows.emplace_back(row, row + terms);
  double of_weights = groups > 0 ? kUnknown : deviation_of_columns(layer);
  for (const std::vector<double>& row : layer.rows) {
    if (groups > 0) of_weights = std::min(of_weights, length(row));
  }
  return std::min(of_weights * affine(*node->tensor("input")).scale,
                  least_deviation_of_bias(layer, std::max<size_t>(groups, 1)));
}

// y = (x - mean) / deviation: the derivative is a projection divided by the deviation. A row of a projection has a sum
// of squares of at most 1.
double gain_of_norm(const Node& node, const Value& x) {
  constexpr double kUsualEpsilon = 0x1p-23;  // what rms_norm uses by default: epsilon of f32
  const Value* weight = node.optional_tensor("weight");
  const double epsilon = node.is_none("eps") ? kUsualEpsilon : node.real("eps");
  const bool has_groups = node.is("aten.native_group_norm.default");
  const double usual = usual_deviation(x, has_groups ? static_cast<size_t>(node.static_integer("group")) : 0);
  return of_terms(2, 1) * (weight ? reach(weight) : 1) / std::sqrt(usual * usual + epsilon);
}

double gain_of_product(const Node& node, const Value& operand) {
  return reach(node.tensor(node.tensor("self") == &operand ? "other" : "self"));
}
double gain_of_sum(const Node& node, const Value& operand) {
  return node.tensor("self") == &operand || !compiler::has_argument(node, "alpha") ? 1 : std::abs(node.real("alpha"));
}
double gain_of_quotient(const Node& node, const Value& operand) {
  const Value* other = node.tensor("other");
  if (&operand == other) return kUnknown;
  if (!other->is_constant()) return bound_of(node, *node.result()) ? 1 / divisors_of(*other).least : kUnknown;
  double least = kUnknown;
  for (const double number : numbers(*other)) least = std::min(least, std::abs(number));
  return 1 / least;
}
double gain_of_total(const Node& node, const Value& operand) { return count_of(operand) / count_of(*node.result()); }
double gain_of_glu(const Node&, const Value& operand) { return 1 + reach(&operand) / 4; }
double gain_of_prelu(const Node& node, const Value&) { return std::max(1.0, reach(node.tensor("weight"))); }
double gain_of_softmax(const Node&, const Value&) { return kGainOfSoftmax; }
double gain_of_log_softmax(const Node&, const Value&) { return 2; }
double gain_of_choice(const Node&, const Value&) { return 1; }

// The largest gain of a row of weights, at least 1, which is the gain of a first state. Gates reduce errors; states
// carry about as much from earlier steps.
double gain_of_recurrent(const Node& node, const Value&) {
  double gain = 1;
  for (const Value* weights : node.tensors("params")) {
    if (weights->rank() != 2) continue;
    const std::vector<double> all = weights->is_constant() ? numbers(*weights) : std::vector<double>();
    const auto columns = static_cast<size_t>(weights->sizes()[1].value());
    if (columns == 0 || all.size() < columns) return kUnknown;
    for (auto row = all.begin(); row != all.end(); row += static_cast<std::ptrdiff_t>(columns)) {
      double total = 0, square = 0;
      for (auto each = row; each != row + static_cast<std::ptrdiff_t>(columns); ++each) {
        total += std::abs(*each);
        square += *each * *each;
      }
      gain = larger(gain, of_terms(total, square));
    }
  }
  return gain;
}

// Whether the result has the int16 elements of its operands as they are, without another rounding.
bool keeps_elements(const Node& node) {
  const std::vector<Value*> operands = node.operands();
  return selects_values(node) && std::all_of(operands.begin(), operands.end(), [&](const Value* operand) {
           return !operand->is_quantized() || same_numbers(affine(*operand), affine(*node.result()));
         });
}

// The largest rounding error of the numbers that a node fills in (f32 constants and scalar arguments) in a result with
// this scale.
double error_of_filled(const Node& node, double scale) {
  constexpr double kSameNumber = 1e-6;  // in steps: f32 represents a multiple of a step this closely
  double error = 0;
  const auto fill = [&](double number) {
    error = larger(error, std::abs(number - round_half_even(number / scale) * scale));
  };
  for (const Value* operand : node.operands()) {
    if (!operand->is_constant() || operand->is_quantized() || operand->dtype() != DType::f32) continue;
    for (const double number : numbers(*operand)) fill(number);
  }
  for (size_t i = 0; i < node.args().size(); ++i) {
    if (node.op->parsed->args[i].type != compiler::ArgType::scalar) continue;
    if (const auto number = compiler::literal(node.arg(i))) fill(*number);
  }
  return error > kSameNumber * scale ? error : 0;
}

struct GainRow {
  const char* op;
  double (*gain)(const Node& node, const Value& operand);
};

constexpr GainRow kGainRows[] = {
    {"aten._adaptive_avg_pool2d.default", gain_of_choice},
    {"aten._log_softmax.default", gain_of_log_softmax},
    {"aten._native_batch_norm_legit_no_training.default", gain_of_batch_norm},
    {"aten._safe_softmax.default", gain_of_softmax},
    {"aten._softmax.default", gain_of_softmax},
    {"aten._upsample_nearest_exact2d.default", gain_of_choice},
    {"aten._upsample_nearest_exact2d.vec", gain_of_choice},
    {"aten.add.Tensor", gain_of_sum},
    {"aten.amax.default", gain_of_choice},
    {"aten.amin.default", gain_of_choice},
    {"aten.avg_pool2d.default", gain_of_choice},
    {"aten.bmm.default", gain_of_matmul},
    {"aten.convolution.default", gain_of_convolution},
    {"aten.div.Tensor", gain_of_quotient},
    {"aten.glu.default", gain_of_glu},
    {"aten.gru.input", gain_of_recurrent},
    {"aten.index.Tensor", gain_of_choice},
    {"aten.layer_norm.default", gain_of_norm},
    {"aten.linear.default", gain_of_linear},
    {"aten.lstm.input", gain_of_recurrent},
    {"aten.masked_fill.Scalar", gain_of_choice},
    {"aten.max.dim", gain_of_choice},
    {"aten.max_pool2d.default", gain_of_choice},
    {"aten.max_pool2d_with_indices.default", gain_of_choice},
    {"aten.maximum.default", gain_of_choice},
    {"aten.mean.dim", gain_of_choice},
    {"aten.min.dim", gain_of_choice},
    {"aten.minimum.default", gain_of_choice},
    {"aten.mm.default", gain_of_matmul},
    {"aten.mul.Tensor", gain_of_product},
    {"aten.native_group_norm.default", gain_of_norm},
    {"aten.native_layer_norm.default", gain_of_norm},
    {"aten.prelu.default", gain_of_prelu},
    {"aten.reflection_pad1d.default", gain_of_choice},
    {"aten.reflection_pad2d.default", gain_of_choice},
    {"aten.reflection_pad3d.default", gain_of_choice},
    {"aten.replication_pad1d.default", gain_of_choice},
    {"aten.replication_pad2d.default", gain_of_choice},
    {"aten.replication_pad3d.default", gain_of_choice},
    {"aten.rms_norm.default", gain_of_norm},
    {"aten.rnn_relu.input", gain_of_recurrent},
    {"aten.rnn_tanh.input", gain_of_recurrent},
    {"aten.scaled_dot_product_attention.default", gain_of_attention},
    {"aten.sub.Tensor", gain_of_sum},
    {"aten.sum.dim_IntList", gain_of_total},
    {"aten.upsample_bilinear2d.default", gain_of_choice},
    {"aten.upsample_bilinear2d.vec", gain_of_choice},
    {"aten.upsample_nearest2d.default", gain_of_choice},
    {"aten.upsample_nearest2d.vec", gain_of_choice},
    {"aten.where.self", gain_of_choice},
    {"wick.convert.default", gain_of_choice},
};

bool is_recurrent(const Node& node) {
  const auto* row =
      std::find_if(std::begin(kGainRows), std::end(kGainRows), [&](const GainRow& each) { return node.is(each.op); });
  return row != std::end(kGainRows) && row->gain == gain_of_recurrent;
}

double gain_of(const Node& node, const Value& operand) {
  if (is_tabulated(node)) return steepest_step(node, operand) / affine(operand).scale;
  const auto* row =
      std::find_if(std::begin(kGainRows), std::end(kGainRows), [&](const GainRow& each) { return node.is(each.op); });
  if (row != std::end(kGainRows)) return row->gain(node, operand);
  return selects_values(node) ? 1 : kUnknown;
}

}  // namespace

double error_of_rounding(const Node& node, const Value& constant, double step) {
  const bool sums = node.is(Binary::add) || node.is(Binary::sub);
  if (sums && &constant == node.tensor("other")) {
    return node.op->parsed->find("alpha") < 0 ? step / 2 : step / 2 * std::abs(node.real("alpha"));
  }
  if (sums || node.is("aten.minimum.default") || node.is("aten.maximum.default") || only_moves(node)) return step / 2;
  const std::vector<Value*> operands = node.operands();
  if (operands.size() != 2) return kUnknown;
  const Value* other = operands[&constant == operands[0] ? 1 : 0];
  if (node.is(Binary::mul)) return step / 2 * reach(other);
  if (node.is("aten.mm.default") || node.is("aten.bmm.default"))
    return step / 2 * reach(other) * static_cast<double>(operands[0]->sizes().back().value());
  if (!node.is(Binary::div) || !has_elements(*other)) return kUnknown;
  return other == operands[0] ? error_of_divisor(reach(other), numbers(constant), step)
                              : step / 2 / affine(*other).scale;
}

double error_of_elements(const Value& made) {
  if (is_exact(made)) return 0;
  if (keeps_elements(*made.producer)) return error_of_filled(*made.producer, affine(made).scale);
  const double own =
      affine(made).scale * (compiler::kOwnRounding + (is_tabulated(*made.producer) ? compiler::kLineError : 0));
  return is_recurrent(*made.producer) ? own + error_of_recurrent(*made.producer) : own;
}

double error_behind(const Node& node, const Value& operand, double error) {
  if (error == 0) return 0;
  if (only_moves(node)) return error;
  const bool multiplies = node.is("aten.bmm.default") || node.is("aten.mm.default");
  if (multiplies && &operand == node.operands()[0] && row_sum_excess(&operand) < 1)
    return error_behind_probabilities(node, operand, error);
  const double gain = gain_of(node, operand);
  return gain == 0 ? 0 : gain * error;
}

bool shows_any_rounding(const Node& node) {
  const std::vector<Value*>& results = node.results();
  return std::any_of(results.begin(), results.end(), [](const Value* result) {
    return result->num_uses() > 0 && result->type.is_tensor() && !result->is_quantized() &&
           (is_integral(result->dtype()) || result->dtype() == DType::boolean);
  });
}

}  // namespace wick::cortex_m
