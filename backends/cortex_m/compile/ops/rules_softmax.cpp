// Softmax: the kernel works along the innermost dimension and gives steps of 1/256 from -128 on. Another scale of the
// result is a table behind it.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr int kIntegerBits = 5;                 // of differences to the maximum, before exp
constexpr int64_t kLongestRow = (1 << 12) - 1;  // of equal elements, each of which adds 2^19 to a sum of 31 bits
constexpr Affine kSteps = {1.0 / 256, -128};

std::optional<Requantization> factor_of(const Affine& x) {
  return requantization(std::min(std::ldexp(x.scale, 31 - kIntegerBits), 0x1p31 - 1));
}

size_t dim_of(const Node& node) {
  return static_cast<size_t>(compiler::wrap_dim(node.static_integer("dim"), node.tensor("self")->rank()));
}

Verdict supports_softmax(const Node& node, const Configuration&) {
  const std::string reason = refuse_int8(node);
  if (!reason.empty()) return Verdict::no(reason);
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return Verdict::no("a number");
  if (x->sizes()[dim_of(node)].value() > kLongestRow) return Verdict::no("rows of more than 4095 elements");
  const auto factor = factor_of(affine(*x));
  if (!factor || factor->shift < 0) return Verdict::no("the scale of its input is too small");
  return Verdict::yes();
}

std::vector<Value*> rewrite_softmax(Builder& b, Node& node, const Configuration&) {
  Value* x = node.tensor("self");
  const auto dim = static_cast<int64_t>(dim_of(node)), last = static_cast<int64_t>(x->rank()) - 1;
  const Requantization factor = *factor_of(affine(*x));
  const double reach = std::floor(std::ldexp((1 << kIntegerBits) - 1, 31 - kIntegerBits - factor.shift));
  // Channels of an image may lie innermost as they are.
  const bool in_place = dim == last || (x->rank() == 4 && dim == 1);
  Value* rows = in_place ? x : b.transpose(x, dim, last);
  Value* y =
      b.call("cortex_m.softmax", {rows, in_place ? dim : last, int64_t{affine(*x).zero}, int64_t{kSteps.zero},
                                  int64_t{factor.multiplier}, int64_t{factor.shift}, -static_cast<int64_t>(reach)});
  if (!in_place) y = b.transpose(y, dim, last);
  const Affine to = affine(*node.result());
  return {same_numbers(to, kSteps) ? y : requantized(b, y, kSteps, to)};
}

// --- its logarithm: numbers with 20 bits behind the point ---

constexpr int kNumberBits = 20, kLargestShift = 22;
constexpr int64_t kLongestLogRow = 1 << 20;

std::optional<Requantization> number_factor(const Affine& x) {
  return requantization(std::ldexp(x.scale, kNumberBits));
}
std::optional<Requantization> log_output(const Affine& y) {
  return requantization(std::ldexp(1 / y.scale, -kNumberBits));
}

Verdict supports_log_softmax(const Node& node, const Configuration& configuration) {
  const std::string reason = refuse_int8(node);
  if (!reason.empty()) return Verdict::no(reason);
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return Verdict::no("a number");
  if (x->sizes()[dim_of(node)].value() > kLongestLogRow) return Verdict::no("rows of more than 2^20 elements");
  const auto factor = number_factor(affine(*x)), output = log_output(affine(*node.result()));
  if (!factor || factor->shift > kLargestShift) return Verdict::no("the scale of its input is too large");
  if (!output || output->shift > 0) return Verdict::no("the scale of its result is too small");
  return configuration.stock_only ? Verdict::no("stock has no integer form of it") : Verdict::yes();
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
    {"aten._log_softmax.default", supports_log_softmax, rewrite_log_softmax, true},
    {"aten._softmax.default", supports_softmax, rewrite_softmax},
};

}  // namespace

const RuleFamily kSoftmaxRules = {kRules, std::size(kRules)};

}  // namespace wick::cortex_m
