#include "backends/cortex_m/compile/ops/int16/number_bounds.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/int16/saturation.h"
#include "backends/cortex_m/compile/ops/int16/unannotated_int16.h"
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

constexpr double kLargestState = 32767.0 / 32768;  // h of a recurrent layer has 15 fractional bits

// The size of a dimension, 1 for a scalar; kUnknown if it is dynamic.
double known_size(const Value& x, int64_t dim) {
  if (x.rank() == 0) return 1;
  const compiler::Sym& size = x.sizes()[static_cast<size_t>(compiler::wrap_dim(dim, x.rank()))];
  return size.is_const() ? static_cast<double>(size.value()) : kUnknown;
}

double reach_of_operands(const Node& node) {
  double largest = 0;
  for (const Value* operand : node.operands()) {
    const bool is_index = operand->type.is_tensor() && !operand->is_quantized() && operand->dtype() != DType::f32;
    if (!is_index) largest = larger(largest, reach(operand));
  }
  return largest;
}

Bound of_table(const Node& node) {
  const Value* x = variable(node);
  if (!has_elements(*x) || !(x->sizes() == node.result()->sizes())) return {kUnknown};
  OnAllElements all(*x);
  all.add(node);
  return {largest_of(all.results())};
}

// The numbers that the node moves, and those that it fills in.
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
Bound of_log_probability(const Node& node) {
  const Value* x = node.tensor("self");
  const double count = known_size(*x, node.static_integer("dim"));
  return {count < 1 ? kUnknown : 2 * reach(x) + std::log(count)};
}

// Whether the node keeps each row of the last dimension as it is. It may reshape or repeat the leading dimensions.
bool keeps_rows(const Node& node) {
  using compiler::Movement;
  const Value *from = node.operands()[0], *to = node.result();
  if (node.is("wick.convert.default")) return true;
  const Movement movement = node.op->facts.movement;
  return (movement == Movement::view || movement == Movement::expand) && from->rank() > 0 && to->rank() > 0 &&
         from->sizes().back() == to->sizes().back();
}

Bound of_matmul(const Node& node) {
  const Value *a = node.operands()[0], *b = node.operands()[1];
  const double excess = row_sum_excess(a);
  if (excess < 1) return {(1 + excess) * reach(b)};
  const double terms = known_size(*a, -1);
  return {reach(a) * reach(b) * terms, true, false, std::sqrt(terms)};
}

// A quotient has no upper bound of its own. Where its readers saturate (saturation_of), their limit is its bound, if
//   - the divisor is int8: for a rounded divisor no bound is known;
//   - the roundings of the dividend and of the quotient are too small to show (`saturation.step`);
//   - one step of int16, which replaces a divisor of 0 (rules_binary.cpp), makes the quotient of every nonzero dividend
//     saturate, and no nonzero dividend is rounded to 0.
Bound of_quotient(const Node& node) {
  constexpr double kSteps = 4;         // the fewest steps of int16 in `saturation.step`
  constexpr double kFinerSteps = 128;  // quantize_between divides a step of int8 into so many of int16
  const Value *self = node.tensor("self"), *other = node.tensor("other");
  if (!has_elements(*self) || !is_int8(*other)) return {kUnknown};
  const Saturation saturation = saturation_of(*node.result());
  const bool is_rounded = self->dtype() == DType::i16 && !is_exact(*self);
  const double step = affine(*self).scale;
  const Divisors divisors = divisors_of(*other);
  const bool becomes_int16 = !has_elements(*node.result());
  if (becomes_int16 && kSteps * saturation.largest / INT16_MAX > saturation.step) return {kUnknown};
  if (is_rounded && kSteps * step / divisors.least > saturation.step) return {kUnknown};
  if (!divisors.has_zero) return {saturation.largest};
  const double finest = self->dtype() == DType::i16 ? step : step / kFinerSteps;
  const bool one_step_saturates = 2 * finest / (affine(*other).scale / kFinerSteps) >= saturation.largest;
  const bool keeps_zero = !is_rounded || unit_of(*self) >= kSteps * step;
  return {one_step_saturates && keeps_zero ? saturation.largest : kUnknown};
}

// A layer with constant weights: max_c (sum |w of c|) |x| + max |bias|. A weight's output channel c is its index in
// dimension `dim`. In a grouped transposed convolution c stands for several outputs, so this sums more weights than the
// layer does.
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

// A weighted mean of `value`.
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

// In a row of `count` numbers none is further than sqrt(count) standard deviations from the mean; most are within
// three.
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
  for (size_t d = x->rank() - inner; d < x->rank(); ++d) count *= known_size(*x, static_cast<int64_t>(d));
  return of_norm(node, count);
}
Bound of_group_norm(const Node& node) {
  const Value* x = node.tensor("input");
  double count = 1;
  for (size_t d = 1; d < x->rank(); ++d) count *= known_size(*x, static_cast<int64_t>(d));
  return of_norm(node, count / static_cast<double>(node.static_integer("group")));
}

Bound of_prelu(const Node& node) { return {reach(node.tensor("self")) * std::max(1.0, reach(node.tensor("weight")))}; }

// Each step adds at most 1 to the state c of an lstm.
Bound of_cell_state(const Node& lstm) {
  const Value* x = lstm.tensor("input");
  const bool batch_first = x->rank() == 3 && lstm.boolean("batch_first");
  const double steps = known_size(*x, batch_first ? 1 : 0);
  const double largest = reach(lstm.tensors("hx")[1]) + steps;
  return {largest, true, false, std::max(1.0, largest)};
}

Bound of_recurrent(const Node& node) {
  const compiler::Arg& states = node.arg("hx");
  double largest = kLargestState;
  const double first =
      std::max(largest_projected(node), reach(states.is<Values>() ? states.as<Values>()[0] : states.as<Value*>()));
  while (largest < first && largest < kUnknown) largest *= 2;
  return {largest};
}

struct BoundRow {
  const char* op;
  Bound (*bound)(const Node& node);
};

constexpr BoundRow kBoundRows[] = {
    {"aten._adaptive_avg_pool2d.default", of_input},
    {"aten._log_softmax.default", of_log_probability},
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

const BoundRow* row_of(const Node& node) {
  const auto* row = std::find_if(std::begin(kBoundRows), std::end(kBoundRows),
                                 [&](const BoundRow& each) { return node.is(each.op); });
  return row == std::end(kBoundRows) ? nullptr : row;
}

}  // namespace

double row_sum_excess(const Value* value) {
  const double half_steps = known_size(*value, -1) / 2;
  double excess = 0;
  for (;; value = value->producer->operands()[0]) {
    if (!value->producer || !is_int16(*value)) return kUnknown;
    excess += half_steps * affine(*value).scale;
    if (compiler::is_softmax(*value->producer)) break;
    if (!keeps_rows(*value->producer)) return kUnknown;
  }
  const auto rank = static_cast<int64_t>(value->rank()), dim = value->producer->static_integer("dim");
  return dim == -1 || dim == rank - 1 ? excess : kUnknown;
}

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
  if (!has_known_scalars(node)) return {};
  Bound bound = {kUnknown};
  const BoundRow* row = row_of(node);
  if (is_tabulated(node))
    bound = of_table(node);
  else if (node.is("aten.lstm.input") && &result == node.result(2))
    bound = of_cell_state(node);
  else if (row)
    bound = row->bound(node);
  else if (selects_values(node))
    bound = of_movement(node);
  return std::isfinite(bound.largest) ? std::optional<Bound>(bound) : std::nullopt;
}

}  // namespace wick::cortex_m
