// Gated linear units on int16: y = a sigmoid(b) for halves a and b of a dimension, the sigmoid a table.
#include <cmath>

#include "backends/cortex_m/compile/line_tables.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace int16_rules_glu {
namespace {

constexpr Affine kGate = {1.0 / 32767, 0, 0, 32767};
constexpr size_t kMaxRank = 4;  // mul_int16 takes no more

std::vector<int32_t> gate_table(const Affine& input) {
  std::vector<double> numbers;
  for (int32_t element = INT16_MIN; element <= INT16_MAX; ++element)
    numbers.push_back(1 / (1 + std::exp(-element * input.scale)));
  return int16_table(numbers, kGate);
}

std::optional<Requantization> product_factor(const Node& node) {
  const auto found = requantization(affine(*node.tensor("self")).scale * kGate.scale / affine(*node.result()).scale);
  return found && keeps_32_bits(int64_t{1} << 30, *found) ? found : std::nullopt;
}

Verdict supports_glu(const Node& node, const Configuration&) {
  const Refusal reason = refuse_int16(node);
  if (!reason.empty()) return refused(reason);
  const Value* x = node.tensor("self");
  const int64_t dim = compiler::wrap_dim(node.static_integer("dim"), x->rank());
  if (!x->sizes()[static_cast<size_t>(dim)].is_const())
    return refused({"the size that it halves is known only at run time", kFixedBatch});
  if (!product_factor(node))
    return refused({"the scale of its result is too far from that of its input", kNearerScale});
  return gate_table(affine(*node.tensor("self"))).empty()
             ? refused({"no table of up to 4097 elements with lines between them is within one step of its sigmoid",
                        "use a smaller scale of its input (its range is too wide), or int8"})
             : Verdict::yes();
}

std::vector<Value*> rewrite_glu(Builder& b, Node& node, const Configuration&) {
  Value* x = node.tensor("self");
  const int64_t dim = compiler::wrap_dim(node.static_integer("dim"), x->rank());
  const int64_t half = x->sizes()[static_cast<size_t>(dim)].value() / 2;
  Value *a = b.slice(x, dim, 0, half), *gate = b.slice(x, dim, half, 2 * half);
  if (x->rank() > kMaxRank) {
    const compiler::Sizes rows = {numel(a->sizes())};
    a = b.reshape(a, rows);
    gate = b.reshape(gate, rows);
  }
  std::vector<int32_t> table = gate_table(affine(*x));
  const auto count = static_cast<int64_t>(table.size());
  gate = b.call("wick_cortex_m.lookup_int16",
                {gate, constant(b, {count}, std::move(table), "lut"), int64_t{kGate.min}, int64_t{kGate.max}});
  const Requantization factor = *product_factor(node);
  const Affine to = affine(*node.result());
  Value* y = b.call("wick_cortex_m.mul_int16",
                    {a, gate, int64_t{factor.multiplier}, int64_t{factor.shift}, int64_t{to.min}, int64_t{to.max}});
  return {b.reshape(y, node.result()->sizes())};
}

constexpr OpRule kRules[] = {
    {"aten.glu.default", supports_glu, rewrite_glu, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace int16_rules_glu

const RuleFamily kInt16GluRules = {int16_rules_glu::kRules, std::size(int16_rules_glu::kRules)};

}  // namespace wick::cortex_m
