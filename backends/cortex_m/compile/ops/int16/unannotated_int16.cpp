#include "backends/cortex_m/compile/ops/int16/unannotated_int16.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/all_elements.h"
#include "backends/cortex_m/compile/ops/int16/magnitudes.h"
#include "backends/cortex_m/compile/ops/int16/number_bounds.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/match/pointwise.h"

namespace wick::cortex_m {

using compiler::Binary;
using compiler::Movement;
using compiler::Node;
using compiler::Value;

namespace {

constexpr int kMaxDepth = 8;
constexpr double kLargestElement = 32767;
constexpr double kSameRatio = 1e-6;

bool is_integer(double ratio) { return std::abs(ratio - std::round(ratio)) < kSameRatio; }

bool keeps_numbers(const Node& node) {
  const Movement movement = node.op->facts.movement;
  return node.is("aten.amax.default") || node.is("aten.amin.default") || movement == Movement::view ||
         movement == Movement::permute || movement == Movement::expand;
}

bool has_factor(const Node& node) { return compiler::has_argument(node, "alpha") && node.real("alpha") != 1; }

// int16_scale; `unit`: that of the node's result, 0 if unknown.
double scale_of_made(const Node& node, double largest, double unit) {
  if (!(largest > 0)) return 1;
  for (const Value* operand : node.operands()) {
    if (is_int16(*operand) && largest == reach(operand) && selects_values(node)) return affine(*operand).scale;
  }
  const double multiples = unit > 0 ? std::floor(kLargestElement * unit / largest * (1 + 1e-12)) : 0;
  return multiples >= 1 ? unit / multiples : largest / kLargestElement;
}

double unit_of_within(const Value& value, int depth);

double unit_of_result_within(const Node& node, int depth) {
  const auto unit = [&](const char* name) { return unit_of_within(*node.tensor(name), depth + 1); };
  if (depth == kMaxDepth) return 0;
  if (keeps_numbers(node)) return unit_of_within(*node.operands()[0], depth + 1);
  if (node.is("aten.sum.dim_IntList")) return unit("self");
  if (node.is("aten.mean.dim")) return unit("self") * count_of(*node.result()) / count_of(*node.tensor("self"));
  const std::vector<Value*> operands = node.operands();
  if (node.is(Binary::mul) && operands.size() == 1) {
    const auto factor = compiler::number_of(node.arg(1), DType::f64);
    return factor ? unit("self") * std::abs(factor->real) : 0;
  }
  if (operands.size() != 2) return 0;
  if (node.is(Binary::mul)) return unit("self") * unit("other");
  if ((!node.is(Binary::add) && !node.is(Binary::sub)) || has_factor(node)) return 0;
  const double a = unit("self"), b = unit("other");
  const double least = std::min(a, b);
  return least > 0 && is_integer(std::max(a, b) / least) ? least : 0;
}

// is_unannotated_int16, where `unit` is that of the producer's result.
bool is_unannotated_int16(const Value& value, double unit) {
  if (!value.producer || !is_int16(value)) return false;
  const auto bound = bound_of(*value.producer, value);
  return bound && scale_of_made(*value.producer, bound->largest, unit) == affine(value).scale;
}

double unit_of_within(const Value& value, int depth) {
  if (is_int8(value)) return affine(value).scale;
  if (!value.producer || !is_int16(value) || value.producer->result() != &value) return 0;
  const double unit = unit_of_result_within(*value.producer, depth);
  return unit > 0 && is_unannotated_int16(value, unit) ? unit : 0;
}

double least_of_within(const Value& value, int depth);

// The least result of a function of one value `x` >= `from`; -infinity: unknown.
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

// A lower bound of the node's result, from lower bounds of its operands; -infinity: unknown.
double least_of_node(const Node& node, int depth) {
  const auto of = [&](const char* name) { return least_of_within(*node.tensor(name), depth + 1); };
  if (is_tabulated(node)) {
    const Value* x = variable(node);
    return least_of_table(node, *x, least_of_within(*x, depth + 1));
  }
  if (node.is("aten.sum.dim_IntList")) return of("self") * count_of(*node.tensor("self")) / count_of(*node.result());
  if (node.is("aten.mean.dim") || keeps_numbers(node)) return least_of_within(*node.operands()[0], depth + 1);
  return node.is(Binary::add) && !has_factor(node) ? of("self") + of("other") : -kUnknown;
}

double least_of_within(const Value& value, int depth) {
  if (value.is_constant() || !has_elements(value)) return -reach(&value);
  const Affine q = affine(value);
  const double least = q.scale * (q.min - q.zero);
  if (depth == kMaxDepth || !value.producer) return least;
  if (!is_unannotated_int16(value, unit_of_result_within(*value.producer, 0))) return least;
  return std::max(least, least_of_node(*value.producer, depth));
}

}  // namespace

bool selects_values(const Node& node) {
  constexpr std::string_view kChoices[] = {"aten.amax.default",
                                           "aten.amin.default",
                                           "aten.index.Tensor",
                                           "aten.index_put.default",
                                           "aten.masked_fill.Scalar",
                                           "aten.masked_scatter.default",
                                           "aten.max.dim",
                                           "aten.scatter.src",
                                           "aten.scatter.value",
                                           "aten.select_scatter.default",
                                           "aten.slice_scatter.default",
                                           "aten.max_pool2d.default",
                                           "aten.max_pool2d_with_indices.default",
                                           "aten.maximum.default",
                                           "aten.min.dim",
                                           "aten.minimum.default",
                                           "aten.where.self"};
  if (node.is("aten.index_put.default") && node.boolean("accumulate")) return false;
  return only_moves(node) ||
         std::any_of(std::begin(kChoices), std::end(kChoices), [&](std::string_view each) { return node.is(each); });
}

bool is_unannotated_int16(const Value& value) {
  return value.producer && is_unannotated_int16(value, unit_of_result_within(*value.producer, 0));
}

double unit_of(const Value& value) { return unit_of_within(value, 0); }

double unit_of_result(const Node& node) { return unit_of_result_within(node, 0); }

double int16_scale(const Node& node, double largest) { return scale_of_made(node, largest, unit_of_result(node)); }

bool is_exact(const Value& value) {
  const double unit = unit_of(value);
  return unit > 0 && is_integer(unit / affine(value).scale) && unit / affine(value).scale > 0.5;
}

double least_of(const Value& value) { return least_of_within(value, 0); }

}  // namespace wick::cortex_m
