// Layer norm, RMS norm and group norm, by operators of Wick: stock has none. Scales and offsets are in steps of the
// result.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_normalization {
namespace {

constexpr int64_t kLongestRow = 32768, kLargestGroup = 262144, kLargestWideGroup = 32768;  // of int16
constexpr double kLargestEpsilon = 0x1p60, kUsualEpsilon = 0x1p-23;  // rms_norm's default: that of f32
constexpr int kScaleBits = 30, kMaxShift = 40, kOffsetBits = 16, kMaxEpsilonBits = 32;

struct Norm {
  int64_t rows = 1, count = 1;  // elements of a row
  int64_t parameters = 1;       // how many weights there are: one for each element of a row, or for each channel
  int64_t epsilon = 0, epsilon_bits = 0, shift = 0;
  bool centered = true;
  std::vector<int32_t> scales, offsets;
};

std::vector<double> parameters(const Value* constant, int64_t count, double usual) {
  return constant ? numbers(*constant) : std::vector<double>(static_cast<size_t>(count), usual);
}

Refusal read_parameters(const Norm& sizes, const Value* weight, const Value* bias, double step, Norm* norm) {
  if ((weight && !weight->is_constant()) || (bias && !bias->is_constant()))
    return {"its weight or bias is computed", kConstantWeights};
  std::vector<double> scales = parameters(weight, sizes.parameters, 1), offsets = parameters(bias, sizes.parameters, 0);
  double largest = 0;
  for (double& scale : scales) largest = std::max(largest, std::abs(scale /= step));
  int exponent = 0;
  std::frexp(largest, &exponent);
  if (!(largest < std::ldexp(1, kScaleBits)))
    return {"the scale of its result is too small for its weight", "use a larger scale of its result"};
  norm->shift = std::min(kScaleBits - exponent, kMaxShift);
  for (const double scale : scales)
    norm->scales.push_back(static_cast<int32_t>(round_half_even(std::ldexp(scale, static_cast<int>(norm->shift)))));
  for (const double offset : offsets) {
    const double steps = std::ldexp(offset / step, kOffsetBits);
    if (!(std::abs(steps) < 0x1p31))
      return {"the scale of its result is too small for its bias", "use a larger scale of its result"};
    norm->offsets.push_back(static_cast<int32_t>(round_half_even(steps)));
  }
  return {};
}

Refusal refuse_values(const Node& node) {
  const Value *x = node.tensor("input"), *y = node.result();
  for (Refusal reason : {refuse_elements(*x, "its input"), refuse_elements(*y, "its result")}) {
    if (!reason.empty()) return reason;
  }
  if (x->dtype() != y->dtype())
    return {"its input and its result differ in dtype", "quantize both to int8, or both to int16"};
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() > 0)
      return {"its mean or deviation is read", "compute mean and deviation in nodes of their own, quantized"};
  }
  return {};
}

// Reads epsilon in units of the kernel's variance, (count * element)^2, with fractional bits: variances of short rows
// are few units.
Refusal read_epsilon(const Node& node, Norm* norm) {
  const double epsilon = node.is_none("eps") ? kUsualEpsilon : node.real("eps");
  const double in_steps = epsilon * std::pow(static_cast<double>(norm->count) / affine(*node.tensor("input")).scale, 2);
  if (!(in_steps >= 0 && in_steps <= kLargestEpsilon))
    return {"the scale of its input is too small", "use a larger scale of its input"};
  while (norm->epsilon_bits < kMaxEpsilonBits && std::ldexp(in_steps, norm->epsilon_bits + 1) <= kLargestEpsilon)
    ++norm->epsilon_bits;
  norm->epsilon = static_cast<int64_t>(round_half_even(std::ldexp(in_steps, norm->epsilon_bits)));
  return {};
}

Refusal read_norm(const Node& node, Norm* norm) {
  Refusal reason = refuse_values(node);
  if (!reason.empty()) return reason;
  const Value* x = node.tensor("input");
  const size_t inner = node.ints("normalized_shape").size(), rank = x->rank();
  for (size_t d = 0; d < rank; ++d) (d + inner < rank ? norm->rows : norm->count) *= x->sizes()[d].value();
  if (norm->count > kLongestRow) return {"rows of more than 32768 elements", "normalize shorter rows"};
  norm->parameters = norm->count;
  const bool rms = node.is("aten.rms_norm.default");
  norm->centered = !rms;
  reason = read_epsilon(node, norm);
  if (!reason.empty()) return reason;
  return read_parameters(*norm, node.optional_tensor("weight"), rms ? nullptr : node.optional_tensor("bias"),
                         affine(*node.result()).scale, norm);
}

Refusal read_group_norm(const Node& node, Norm* norm) {
  Refusal reason = refuse_values(node);
  if (!reason.empty()) return reason;
  const Value* x = node.tensor("input");
  const int64_t groups = node.static_integer("group");
  if (x->rank() < 2 || groups <= 0 || x->sizes()[1].value() % groups != 0)
    return {"its groups do not divide its channels", "use groups that divide the channels"};
  norm->parameters = x->sizes()[1].value();
  norm->count = norm->parameters / groups;
  for (size_t d = 2; d < x->rank(); ++d) norm->count *= x->sizes()[d].value();
  if (norm->count > (x->dtype() == DType::i16 ? kLargestWideGroup : kLargestGroup))
    return {"groups of more than 262144 elements, or 32768 of int16", "use smaller groups or images, or int8"};
  reason = read_epsilon(node, norm);
  if (!reason.empty()) return reason;
  return read_parameters(*norm, node.optional_tensor("weight"), node.optional_tensor("bias"),
                         affine(*node.result()).scale, norm);
}

template <auto read>
Verdict supports_norm(const Node& node, const Configuration& configuration) {
  Norm norm;
  const Refusal reason = read(node, &norm);
  if (!reason.empty()) return refused(reason);
  return configuration.stock_only ? refused({"stock has no integer form of it", kProfileAuto}) : Verdict::yes();
}

// Mean and standard deviation have no reader: they become constants.
std::vector<Value*> with_statistics(Builder& b, Node& node, Value* y) {
  std::vector<Value*> results = {y};
  for (size_t i = 1; i < node.results().size(); ++i)
    results.push_back(b.full(node.result(i)->sizes(), 0.0, node.result(i)->dtype()));
  return results;
}

std::vector<Value*> rewrite_norm(Builder& b, Node& node, const Configuration&) {
  Norm norm;
  read_norm(node, &norm);
  const Affine from = affine(*node.tensor("input")), to = affine(*node.result());
  Value* rows = b.reshape(node.tensor("input"), {norm.rows, norm.count});
  Value* y = b.call("wick_cortex_m.layer_norm",
                    {rows, constant(b, {norm.count}, norm.scales, "scales"),
                     constant(b, {norm.count}, norm.offsets, "offsets"), norm.centered, int64_t{from.zero},
                     norm.epsilon, norm.shift, int64_t{to.zero}, int64_t{to.min}, int64_t{to.max}, norm.epsilon_bits});
  return with_statistics(b, node, b.reshape(y, node.result()->sizes()));
}

std::vector<Value*> rewrite_group_norm(Builder& b, Node& node, const Configuration&) {
  Norm norm;
  read_group_norm(node, &norm);
  const Affine from = affine(*node.tensor("input")), to = affine(*node.result());
  return with_statistics(
      b, node,
      b.call("wick_cortex_m.group_norm",
             {node.tensor("input"), constant(b, {norm.parameters}, norm.scales, "scales"),
              constant(b, {norm.parameters}, norm.offsets, "offsets"), node.static_integer("group"), int64_t{from.zero},
              norm.epsilon, norm.shift, int64_t{to.zero}, int64_t{to.min}, int64_t{to.max}, norm.epsilon_bits}));
}

constexpr OpRule kRules[] = {
    {"aten.layer_norm.default", supports_norm<read_norm>, rewrite_norm, true},
    {"aten.native_group_norm.default", supports_norm<read_group_norm>, rewrite_group_norm, true},
    {"aten.native_layer_norm.default", supports_norm<read_norm>, rewrite_norm, true},
    {"aten.rms_norm.default", supports_norm<read_norm>, rewrite_norm, true},
};

}  // namespace
}  // namespace rules_normalization

const RuleFamily kNormalizationRules = {rules_normalization::kRules, std::size(rules_normalization::kRules)};

}  // namespace wick::cortex_m
