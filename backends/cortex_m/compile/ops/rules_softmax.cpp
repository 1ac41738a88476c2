// Softmax. Stock's kernel reduces the innermost dimension and gives steps of 1/256 from -128 on; a table converts them
// to another scale. If these steps are too coarse for the result, or rows too long for its sums, int16 probabilities
// are computed instead.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/analysis/rounding_limits.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_softmax {
namespace {

constexpr int kIntegerBits = 5;                 // of x - max, the operand of exp
constexpr int64_t kLongestRow = (1 << 12) - 1;  // each of several equal elements adds 2^19 to a 31-bit sum
constexpr Affine kSteps = {1.0 / 256, -128};
constexpr double kFinestTable = compiler::kSoftmaxError * kSteps.scale;  // the result is within a step
constexpr Affine kWide = {0x1p-15, 0, 0, INT16_MAX};
constexpr int kExponentBits = 26, kQuotientBits = 30;  // softmax_int16's
constexpr int64_t kLongestWideRow = 1 << 20;

std::optional<Requantization> factor_of(const Affine& x) {
  return requantization(std::min(std::ldexp(x.scale, 31 - kIntegerBits), 0x1p31 - 1));
}

size_t dim_of(const Node& node) {
  return static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.tensor("self")->rank()));
}

Refusal refuse_narrow(const Node& node) {
  const Value* x = node.tensor("self");
  if (x->sizes()[dim_of(node)].value() > kLongestRow)
    return {"rows of more than 4095 elements", "use shorter rows, or another profile than stock"};
  const auto factor = factor_of(affine(*x));
  if (!factor || factor->shift < 0) return {"the scale of its input is too small", "use a larger scale of its input"};
  return affine(*node.result()).scale < kFinestTable
             ? Refusal{"steps of 1/256 are too coarse for its result",
                       "use a larger scale of its result, or another profile than stock"}
             : Refusal{};
}

std::optional<Requantization> wide_factor(const Affine& x) {
  return requantization(std::ldexp(x.scale, kExponentBits));
}

Verdict supports_softmax(const Node& node, const Configuration& configuration) {
  Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return refused({"a number", "give it a dimension: x.reshape(1)"});
  if (!x->sizes()[dim_of(node)].is_const())
    return refused({"its rows have a size that is known only at run time", kFixedBatch});
  reason = refuse_narrow(node);
  if (reason.empty()) return Verdict::yes();
  const bool wide = !configuration.stock_only && wide_factor(affine(*x)) &&
                    is_convertible(kWide, affine(*node.result())) &&
                    x->sizes()[dim_of(node)].value() <= kLongestWideRow;
  return wide ? Verdict::yes() : refused(reason);
}

// Softmax of rows of elements that stand for numbers by `x`, as probabilities on the scale of `to`.
Value* narrow_softmax(Builder& b, Value* rows, int64_t dim, const Affine& x, const Affine& to) {
  const Requantization factor = *factor_of(x);
  const double reach = std::floor(std::ldexp((1 << kIntegerBits) - 1, 31 - kIntegerBits - factor.shift));
  Value* y = b.call("cortex_m.softmax", {rows, dim, int64_t{x.zero}, int64_t{kSteps.zero}, int64_t{factor.multiplier},
                                         int64_t{factor.shift}, -static_cast<int64_t>(reach)});
  return same_numbers(to, kSteps) ? y : requantized(b, y, kSteps, to);
}

Value* wide_softmax(Builder& b, Value* rows, const Affine& x, const Affine& to) {
  const Requantization factor = *wide_factor(x), output = *requantization(std::ldexp(1 / kWide.scale, -kQuotientBits));
  rows = converted(b, rows, x, {x.scale, 0, INT16_MIN, INT16_MAX}, DType::i16);
  Value* y = b.call("wick_cortex_m.softmax_int16",
                    {rows, int64_t{factor.multiplier}, int64_t{factor.shift}, int64_t{output.multiplier},
                     int64_t{output.shift}, int64_t{kWide.min}, int64_t{kWide.max}});
  return converted(b, y, kWide, to, DType::i8);
}

std::vector<Value*> rewrite_softmax(Builder& b, Node& node, const Configuration&) {
  Value* x = node.tensor("self");
  const auto dim = static_cast<int64_t>(dim_of(node)), last = static_cast<int64_t>(x->rank()) - 1;
  const Affine from = affine(*x), to = affine(*node.result());
  const bool narrow = refuse_narrow(node).empty();
  // The kernel may reduce the channels of an image without a transpose.
  const bool in_place = dim == last || (narrow && x->rank() == 4 && dim == 1);
  Value* rows = in_place ? x : b.transpose(x, dim, last);
  Value* y = narrow ? narrow_softmax(b, rows, in_place ? dim : last, from, to) : wide_softmax(b, rows, from, to);
  return {in_place ? y : b.transpose(y, dim, last)};
}

// --- log_softmax: numbers with 20 fractional bits ---

constexpr int kNumberBits = 20, kLargestShift = 22;
constexpr int64_t kLongestLogRow = 1 << 20;

std::optional<Requantization> number_factor(const Affine& x) {
  return requantization(std::ldexp(x.scale, kNumberBits));
}
std::optional<Requantization> log_output(const Affine& y) {
  return requantization(std::ldexp(1 / y.scale, -kNumberBits));
}

Verdict supports_log_softmax(const Node& node, const Configuration& configuration) {
  const Refusal reason = refuse_int8(node);
  if (!reason.empty()) return refused(reason);
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return refused({"a number", "give it a dimension: x.reshape(1)"});
  if (!x->sizes()[dim_of(node)].is_const())
    return refused({"its rows have a size that is known only at run time", kFixedBatch});
  if (x->sizes()[dim_of(node)].value() > kLongestLogRow)
    return refused({"rows of more than 2^20 elements", "reduce shorter rows"});
  const auto factor = number_factor(affine(*x)), output = log_output(affine(*node.result()));
  if (!factor || factor->shift > kLargestShift)
    return refused({"the scale of its input is too large", "use a smaller scale of its input"});
  if (!output || output->shift > 0)
    return refused({"the scale of its result is too small", "use a larger scale of its result"});
  return configuration.stock_only ? refused({"stock has no integer form of it", kProfileAuto}) : Verdict::yes();
}

std::vector<Value*> rewrite_log_softmax(Builder& b, Node& node, const Configuration&) {
  Value* x = node.tensor("self");
  const auto dim = static_cast<int64_t>(dim_of(node)), last = static_cast<int64_t>(x->rank()) - 1;
  const Affine to = affine(*node.result());
  const Requantization factor = *number_factor(affine(*x)), output = *log_output(to);
  Value* y =
      b.call("wick_cortex_m.log_softmax",
             {dim == last ? x : b.transpose(x, dim, last), int64_t{factor.multiplier}, int64_t{factor.shift},
              int64_t{to.zero}, int64_t{output.multiplier}, int64_t{output.shift}, int64_t{to.min}, int64_t{to.max}});
  return {dim == last ? y : b.transpose(y, dim, last)};
}

constexpr OpRule kRules[] = {
    {"aten._log_softmax.default", supports_log_softmax, rewrite_log_softmax, true, false, OpenSizes::batch},
    {"aten._safe_softmax.default", supports_softmax, rewrite_softmax, false, false,
     OpenSizes::batch},  // elements are finite
    {"aten._softmax.default", supports_softmax, rewrite_softmax, false, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_softmax

const RuleFamily kSoftmaxRules = {rules_softmax::kRules, std::size(rules_softmax::kRules)};

}  // namespace wick::cortex_m
