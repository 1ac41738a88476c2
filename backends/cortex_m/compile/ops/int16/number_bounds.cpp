#include "backends/cortex_m/compile/ops/int16/number_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/saturation.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/match/pointwise.h"

namespace wick::cortex_m {

using compiler::Node;
using compiler::Value;
using compiler::Values;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr double kLargestState = 32767.0 / 32768;  // h of a recurrent layer has 15 bits behind the point

// Of sizes; unknown if one of them is not a number.
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? kUnknown : std::max(a, b); }

double largest_of(const std::vector<double>& numbers) {
  double largest = numbers.empty() ? kUnknown : 0;
  for (const double number : numbers) largest = larger(largest, std::abs(number));
  return largest;
}

double reach(const Value* value) {
  if (!value) return 0;
  if (value->is_constant()) return largest_of(numbers(*value));
  if (!refuse_elements(*value, "").empty()) return kUnknown;
  const Affine q = affine(*value);
  return q.scale * std::max(std::abs(q.min - q.zero), std::abs(q.max - q.zero));
}

double reach_of_operands(const Node& node) {
  double largest = 0;
  for (const Value* operand : node.operands()) {
    const bool is_index = operand->type.is_tensor() && !operand->is_quantized() && operand->dtype() != DType::f32;
    if (!is_index) largest = larger(largest, reach(operand));
  }
  return largest;
}

double count_of(const Value& value) { return static_cast<double>(numel(value.sizes()).value()); }

// The only operand that is not a number; all others are.
const Value* variable(const Node& node) {
  for (const Value* operand : node.operands()) {
    if (!is_number(*operand)) return operand;
  }
  return nullptr;
}

Bound of_table(const Node& node) {
  const Value* x = variable(node);
  if (!refuse_elements(*x, "").empty() || !(x->sizes() == node.result()->sizes())) return {kUnknown};
  OnAllElements all(*x);
  all.add(node);
  return {largest_of(all.results())};
}

// What moves, and what is filled in.
Bound of_movement(const Node& node) {
  Bound bound = {reach_of_operands(node), false, true};
  for (size_t i = 0; i < node.args().size(); ++i) {
    if (node.op->parsed->args[i].type != compiler::ArgType::scalar) continue;
    const auto number = compiler::literal(node.arg(i));
    if (number) bound.largest = larger(bound.largest, std::abs(*number));
  }
  return bound;
}

Bound of_sum(const Node& node) {
  const double alpha = node.op->parsed->find("alpha") < 0 ? 1 : std::abs(node.real("alpha"));
  return {reach(node.tensor("self")) + alpha * reach(node.tensor("other")), false, alpha == 1};
}
Bound of_product(const Node& node) { return {reach(node.tensor("self")) * reach(node.tensor("other"))}; }

Bound of_choice(const Node& node) { return {reach_of_operands(node), false, true}; }
Bound of_input(const Node& node) { return {reach(node.operands()[0])}; }
Bound of_average(const Node& node) {
  return {node.is_none("divisor_override") ? reach(node.tensor("self")) : kUnknown};
}
Bound of_total(const Node& node) {
  const Value* x = node.tensor("self");
  return {reach(x) * count_of(*x) / count_of(*node.result())};
}
Bound of_probability(const Node&) { return {1}; }

// The same rows in the same or another order of the dimensions in front: only where each element of the last one stays.
bool keeps_rows(const Node& node) {
  using compiler::Movement;
  const Value *from = node.operands()[0], *to = node.result();
  if (node.is("wick.convert.default")) return true;
  const Movement movement = node.op->facts.movement;
  return (movement == Movement::view || movement == Movement::expand) && from->rank() > 0 && to->rank() > 0 &&
         from->sizes().back() == to->sizes().back();
}

// How far the sum of a row's elements can be above 1; unknown for others than probabilities of 16 bits.
double excess_of_probabilities(const Value* value) {
  const double half_steps = static_cast<double>(value->sizes().back().value()) / 2;
  double excess = 0;
  for (;; value = value->producer->operands()[0]) {
    if (!value->producer || !refuse_int16(*value, "").empty()) return kUnknown;
    excess += half_steps * affine(*value).scale;
    if (compiler::is_softmax(*value->producer)) break;
    if (!keeps_rows(*value->producer)) return kUnknown;
  }
  const auto rank = static_cast<int64_t>(value->rank()), dim = value->producer->static_integer("dim");
  return dim == -1 || dim == rank - 1 ? excess : kUnknown;
}

Bound of_matmul(const Node& node) {
  const Value *a = node.operands()[0], *b = node.operands()[1];
  const double excess = excess_of_probabilities(a);
  if (excess < 1) return {(1 + excess) * reach(b)};
  const auto terms = static_cast<double>(a->sizes().back().value());
  return {reach(a) * reach(b) * terms, true, false, std::sqrt(terms)};
}

// What an int8 value divides by, in size.
struct Divisors {
  double least = kUnknown;  // but 0
  bool has_zero = false;
};
Divisors divisors_of(const Value& value) {
  const Affine q = affine(value);
  if (!value.producer || !value.producer->is("wick.lookup.default"))
    return {q.scale, q.min <= q.zero && q.zero <= q.max};
  Divisors found;
  for (const double element : numbers(*value.producer->tensor("table"))) {
    if (element == q.zero) found.has_zero = true;
    if (element != q.zero) found.least = std::min(found.least, std::abs(element - q.zero) * q.scale);
  }
  return found;
}

// What was made int16 here has the numbers of its node, not those of a quantizer.
bool is_made_int16(const Value& value) {
  if (!value.producer || !refuse_int16(value, "").empty()) return false;
  const auto bound = bound_of(*value.producer, value);
  return bound && bound->largest / INT16_MAX == affine(value).scale;
}

constexpr int kMaxDepth = 8;

// Of what all numbers are multiples, as eager computes them; 0: it is not known. No number but 0 is less.
double unit_of(const Value& value, int depth = 0) {
  if (refuse_int8(value, "").empty()) return affine(value).scale;
  if (depth == kMaxDepth || !is_made_int16(value)) return 0;
  const Node* node = value.producer;
  const auto unit_of_operand = [&](const char* name) { return unit_of(*node->tensor(name), depth + 1); };
  if (node->is("aten.mean.dim")) return unit_of_operand("self") * count_of(value) / count_of(*node->tensor("self"));
  if (!node->is(compiler::Binary::add) && !node->is(compiler::Binary::sub)) return 0;
  if (compiler::has_argument(*node, "alpha") && node->real("alpha") != 1) return 0;
  const double a = unit_of_operand("self"), b = unit_of_operand("other");
  const double unit = std::min(a, b), times = std::max(a, b) / unit;
  return unit > 0 && std::abs(times - std::round(times)) < 1e-6 ? unit : 0;
}

// Quotients have no bound, but readers that saturate. Dividends that are rounded must not show, nor quotients
// themselves. Where the divisor is 0, one step of int16 stands for it (rules_binary.cpp): quotients by that must
// saturate, of all dividends but 0, which none may become by rounding. Divisors that are rounded have no bound.
Bound of_quotient(const Node& node) {
  constexpr double kSteps = 4;         // of int16 in what shows
  constexpr double kFinerSteps = 128;  // as quantize_between makes int16 of int8
  const Value *self = node.tensor("self"), *other = node.tensor("other");
  if (!refuse_elements(*self, "").empty() || !refuse_int8(*other, "").empty()) return {kUnknown};
  const Saturation saturation = saturation_of(*node.result());
  const bool is_rounded = self->dtype() == DType::i16;
  const double step = affine(*self).scale;
  const Divisors divisors = divisors_of(*other);
  const bool becomes_int16 = !refuse_elements(*node.result(), "").empty();
  if (becomes_int16 && kSteps * saturation.largest / INT16_MAX > saturation.step) return {kUnknown};
  if (is_rounded && kSteps * step / divisors.least > saturation.step) return {kUnknown};
  if (!divisors.has_zero) return {saturation.largest};
  const double finest = is_rounded ? step : step / kFinerSteps;
  const bool one_step_saturates = 2 * finest / (affine(*other).scale / kFinerSteps) >= saturation.largest;
  const bool keeps_zero = !is_rounded || unit_of(*self) >= kSteps * step;
  return {one_step_saturates && keeps_zero ? saturation.largest : kUnknown};
}

// Layers with constant weights, of each output channel those that have its place in dimension `dim`: of a transposed
// convolution with groups more than are added up.
Bound of_layer(const Node& node, size_t dim) {
  const Value *weights = node.tensor("weight"), *bias = node.optional_tensor("bias");
  if (!weights->is_constant() || (bias && !bias->is_constant())) return {kUnknown};
  const std::vector<double> all = numbers(*weights);
  if (all.empty()) return {kUnknown};
  size_t inner = 1;
  for (size_t d = dim + 1; d < weights->rank(); ++d) inner *= static_cast<size_t>(weights->sizes()[d].value());
  std::vector<double> totals(static_cast<size_t>(weights->sizes()[dim].value())), squares(totals.size());
  for (size_t i = 0; i < all.size(); ++i) {
    totals[i / inner % totals.size()] += std::abs(all[i]);
    squares[i / inner % totals.size()] += all[i] * all[i];
  }
  const double largest = largest_of(totals), usual = std::sqrt(largest_of(squares));
  const double x = reach(node.tensor("input")), offset = reach(bias);
  return {largest * x + offset, true, false, usual > 0 ? (largest * x + offset) / (usual * x + offset) : 1};
}
Bound of_linear(const Node& node) { return of_layer(node, 0); }
Bound of_convolution(const Node& node) { return of_layer(node, node.boolean("transposed") ? 1 : 0); }

// A mean of values.
Bound of_attention(const Node& node) { return {reach(node.tensor("value"))}; }

Bound of_batch_norm(const Node& node) {
  const Value *mean = node.tensor("running_mean"), *variance = node.tensor("running_var"),
              *weight = node.optional_tensor("weight"), *bias = node.optional_tensor("bias");
  for (const Value* each : {static_cast<const Value*>(mean), static_cast<const Value*>(variance), weight, bias}) {
    if (each && !each->is_constant()) return {kUnknown};
  }
  const std::vector<double> means = numbers(*mean), variances = numbers(*variance);
  const std::vector<double> scales = weight ? numbers(*weight) : std::vector<double>(means.size(), 1);
  const std::vector<double> offsets = bias ? numbers(*bias) : std::vector<double>(means.size(), 0);
  if (means.empty() || variances.size() != means.size() || scales.size() != means.size() ||
      offsets.size() != means.size())
    return {kUnknown};
  const double x = reach(node.tensor("input"));
  double largest = 0;
  for (size_t c = 0; c < means.size(); ++c) {
    const double factor = scales[c] / std::sqrt(variances[c] + node.real("eps"));
    largest = larger(largest, std::abs(factor) * x + std::abs(offsets[c] - means[c] * factor));
  }
  return {largest};
}

// No element of a row of `count` is further from their mean than sqrt(count) deviations; most are within three.
Bound of_norm(const Node& node, double count) {
  const Value* weight = node.optional_tensor("weight");
  const bool has_bias = node.op->parsed->find("bias") >= 0;
  const double largest = std::sqrt(count);
  return {largest * (weight ? reach(weight) : 1) + (has_bias ? reach(node.optional_tensor("bias")) : 0), true, false,
          std::max(1.0, largest / 3)};
}
Bound of_layer_norm(const Node& node) {
  double count = 1;
  const Value* x = node.tensor("input");
  const size_t inner = node.ints("normalized_shape").size();
  for (size_t d = x->rank() - inner; d < x->rank(); ++d) count *= static_cast<double>(x->sizes()[d].value());
  return of_norm(node, count);
}
Bound of_group_norm(const Node& node) {
  const Value* x = node.tensor("input");
  return of_norm(node, count_of(*x) / static_cast<double>(x->sizes()[0].value() * node.static_integer("group")));
}

Bound of_prelu(const Node& node) { return {reach(node.tensor("self")) * std::max(1.0, reach(node.tensor("weight")))}; }

Bound of_recurrent(const Node& node) {
  if (node.results().size() > 2 && node.result(2)->num_uses() > 0) return {kUnknown};  // c
  const compiler::Arg& states = node.arg("hx");
  double largest = kLargestState;
  const double first =
      std::max(largest_projected(node), reach(states.is<Values>() ? states.as<Values>()[0] : states.as<Value*>()));
  while (largest < first && largest < kUnknown) largest *= 2;
  return {largest};
}

// Of self / rounded numbers. Those that are 0 divide to something else anyway.
double error_of_divisor(double self, const std::vector<double>& numbers, double step) {
  double largest = 0;
  for (const double number : numbers) {
    const double rounded = round_half_even(number / step) * step;
    if (number != 0) largest = larger(largest, self * std::abs(1 / number - 1 / rounded));
  }
  return largest;
}

double least_of(const Value& value, int depth = 0);

// Of a function of one value, whose numbers are not less than `from`.
double least_of_table(const Node& node, const Value& x, double from) {
  OnAllElements all(x);
  all.add(node);
  const std::vector<double> results = all.results();
  const Affine q = affine(x);
  double least = kUnknown;
  for (size_t i = 0; i < results.size(); ++i) {
    const double number = (static_cast<double>(i) - static_cast<double>(results.size()) / 2 - q.zero) * q.scale;
    if (number > from - q.scale && !std::isnan(results[i])) least = std::min(least, results[i]);
  }
  return std::isfinite(least) ? least : -kUnknown;
}

// Of a node on elements, from what is known of its operands; minus infinity: nothing.
double least_of_node(const Node& node, int depth) {
  using compiler::Movement;
  const auto of = [&](const char* name) { return least_of(*node.tensor(name), depth + 1); };
  const Movement movement = node.op->facts.movement;
  if (is_tabulated(node)) {
    const Value* x = variable(node);
    return least_of_table(node, *x, least_of(*x, depth + 1));
  }
  if (node.is("aten.sum.dim_IntList")) return of("self") * count_of(*node.tensor("self")) / count_of(*node.result());
  if (node.is("aten.mean.dim") || node.is("aten.amax.default") || node.is("aten.amin.default") ||
      movement == Movement::view || movement == Movement::permute || movement == Movement::expand)
    return least_of(*node.operands()[0], depth + 1);
  const bool scales = compiler::has_argument(node, "alpha") && node.real("alpha") != 1;
  return node.is(compiler::Binary::add) && !scales ? of("self") + of("other") : -kUnknown;
}

// No number is less, as eager computes them. Elements or a constant.
double least_of(const Value& value, int depth) {
  if (value.is_constant() || !refuse_elements(value, "").empty()) return -reach(&value);
  const Affine q = affine(value);
  const double least = q.scale * (q.min - q.zero);
  if (depth == kMaxDepth || !is_made_int16(value)) return least;
  return std::max(least, least_of_node(*value.producer, depth));
}

// Between numbers next to each other, as far as x has them; what saturates, and what is no number, is left out.
bool table_hides_rounding(const Node& node, const Value& x, double grain) {
  OnAllElements all(x);
  all.add(node);
  const std::vector<double> results = all.results();
  const Affine from = affine(x), to = affine(*node.result());
  const double low = (to.min - to.zero) * to.scale, high = (to.max - to.zero) * to.scale;
  const auto saturated = [&](size_t i) { return std::clamp(results[i], low, high); };
  for (size_t i = results.size(); i-- > 1;) {
    if (std::isnan(results[i]) || std::isnan(results[i - 1])) continue;
    if (std::abs(saturated(i) - saturated(i - 1)) <= grain / 2) continue;
    const double lower = static_cast<double>(i - 1) - static_cast<double>(results.size()) / 2;
    return lower < std::floor(least_of(x) / from.scale);
  }
  return true;
}

struct Row {
  const char* op;
  Bound (*bound)(const Node& node);
};

constexpr Row kRows[] = {
    {"aten._adaptive_avg_pool2d.default", of_input},
    {"aten._native_batch_norm_legit_no_training.default", of_batch_norm},
    {"aten._safe_softmax.default", of_probability},
    {"aten._softmax.default", of_probability},
    {"aten.add.Tensor", of_sum},
    {"aten.amax.default", of_input},
    {"aten.amin.default", of_input},
    {"aten.avg_pool2d.default", of_average},
    {"aten.bmm.default", of_matmul},
    {"aten.convolution.default", of_convolution},
    {"aten.div.Tensor", of_quotient},
    {"aten.glu.default", of_input},
    {"aten.gru.input", of_recurrent},
    {"aten.index.Tensor", of_choice},
    {"aten.layer_norm.default", of_layer_norm},
    {"aten.linear.default", of_linear},
    {"aten.lstm.input", of_recurrent},
    {"aten.max.dim", of_input},
    {"aten.max_pool2d.default", of_input},
    {"aten.max_pool2d_with_indices.default", of_input},
    {"aten.maximum.default", of_choice},
    {"aten.mean.dim", of_input},
    {"aten.min.dim", of_input},
    {"aten.minimum.default", of_choice},
    {"aten.mm.default", of_matmul},
    {"aten.mul.Tensor", of_product},
    {"aten.native_group_norm.default", of_group_norm},
    {"aten.native_layer_norm.default", of_layer_norm},
    {"aten.prelu.default", of_prelu},
    {"aten.rms_norm.default", of_layer_norm},
    {"aten.rnn_tanh.input", of_recurrent},
    {"aten.scaled_dot_product_attention.default", of_attention},
    {"aten.sub.Tensor", of_sum},
    {"aten.sum.dim_IntList", of_total},
    {"aten.upsample_bilinear2d.default", of_input},
    {"aten.upsample_bilinear2d.vec", of_input},
    {"aten.where.self", of_choice},
};

const Row* row_of(const Node& node) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) { return node.is(each.op); });
  return row == std::end(kRows) ? nullptr : row;
}

// How much further off a result of sums, products and choices is than an operand; 0: it is not known.
double gain_of(const Node& node, const Value& operand) {
  if (only_moves(node)) return 1;
  const Row* row = row_of(node);
  if (!row) return 0;
  if (row->bound == of_product) return reach(node.tensor(node.tensor("self") == &operand ? "other" : "self"));
  if (row->bound == of_sum)
    return node.tensor("self") == &operand || !compiler::has_argument(node, "alpha") ? 1 : std::abs(node.real("alpha"));
  if (row->bound == of_total) return count_of(operand) / count_of(*node.result());
  if (row->bound == of_probability) return 0.25;  // 2 p (1 - p) <= 1 / 2, and of int8 they may be a whole step off
  return row->bound == of_input || row->bound == of_choice || row->bound == of_average ? 1 : 0;
}

}  // namespace

double largest_projected(const Node& lstm) {
  if (!lstm.is("aten.lstm.input")) return 0;
  const Values states = lstm.tensors("hx"), params = lstm.tensors("params");
  const int64_t layers = lstm.static_integer("num_layers") * (lstm.boolean("bidirectional") ? 2 : 1);
  if (states[0]->sizes().back() == states[1]->sizes().back()) return 0;
  if (layers < 1 || params.size() < static_cast<size_t>(layers)) return kUnknown;
  const size_t of_each = params.size() / static_cast<size_t>(layers);
  double largest = 0;
  for (size_t last = of_each - 1; last < params.size(); last += of_each) {
    const std::vector<double> weights = params[last]->is_constant() ? numbers(*params[last]) : std::vector<double>();
    if (weights.empty() || params[last]->rank() != 2) return kUnknown;
    const auto columns = static_cast<size_t>(params[last]->sizes()[1].value());
    for (size_t row = 0; row < weights.size(); row += columns) {
      double sum = 0;
      for (size_t k = 0; k < columns; ++k) sum += std::abs(weights[row + k]);
      largest = larger(largest, sum);
    }
  }
  return largest;
}

std::optional<Bound> bound_of(const Node& node, const Value& result) {
  if (&result != node.result() && node.op->parsed->find("hx") < 0) return {};
  Bound bound = {kUnknown};
  const Row* row = row_of(node);
  if (is_tabulated(node))
    bound = of_table(node);
  else if (row)
    bound = row->bound(node);
  else if (only_moves(node))
    bound = of_movement(node);
  return std::isfinite(bound.largest) ? std::optional<Bound>(bound) : std::nullopt;
}

double error_of_rounding(const Node& node, const Value& constant, double step) {
  using compiler::Binary;
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
  if (!node.is(Binary::div) || !refuse_elements(*other, "").empty()) return kUnknown;
  return other == operands[0] ? error_of_divisor(reach(other), numbers(constant), step)
                              : step / 2 / affine(*other).scale;
}

bool hides_rounding(const Node& reader, const Value& rounded, double grain) {
  if (is_tabulated(reader)) return table_hides_rounding(reader, rounded, grain);
  const double error = affine(rounded).scale / 2;
  if (!reader.is(compiler::Binary::div))
    return error * gain_of(reader, rounded) <= grain / (reader.operands().size() == 1 ? 2 : 4);
  const Value* other = reader.tensor("other");
  if (!other->is_constant()) return bound_of(reader, *reader.result()).has_value();
  double least = kUnknown;
  for (const double number : numbers(*other)) least = std::min(least, std::abs(number));
  return error <= least * grain / 4;
}

}  // namespace wick::cortex_m
