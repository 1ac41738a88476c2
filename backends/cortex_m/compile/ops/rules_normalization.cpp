// Layer norm and RMS norm of rows: an operator of Wick, as stock has none. Scales and offsets count steps of the
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

namespace {

constexpr int64_t kLongestRow = 32768;
constexpr double kLargestEpsilon = 0x1p60, kUsualEpsilon = 0x1p-23;  // of rms_norm: that of f32
constexpr int kScaleBits = 30, kMaxShift = 40, kOffsetBits = 16;

struct Norm {
  int64_t rows = 1, count = 1, epsilon = 0, shift = 0;
  bool centered = true;
  std::vector<int32_t> scales, offsets;
};

std::vector<double> parameters(const Value* constant, int64_t count, double usual) {
  return constant ? numbers(*constant) : std::vector<double>(static_cast<size_t>(count), usual);
}

std::string read_parameters(const Norm& sizes, const Value* weight, const Value* bias, double step, Norm* norm) {
  if ((weight && !weight->is_constant()) || (bias && !bias->is_constant())) return "its weight or bias is computed";
  std::vector<double> scales = parameters(weight, sizes.count, 1), offsets = parameters(bias, sizes.count, 0);
  double largest = 0;
  for (double& scale : scales) largest = std::max(largest, std::abs(scale /= step));
  int exponent = 0;
  std::frexp(largest, &exponent);
  if (!(largest < std::ldexp(1, kScaleBits))) return "the scale of its result is too small for its weight";
  norm->shift = std::min(kScaleBits - exponent, kMaxShift);
  for (const double scale : scales)
    norm->scales.push_back(static_cast<int32_t>(round_half_even(std::ldexp(scale, static_cast<int>(norm->shift)))));
  for (const double offset : offsets) {
    const double steps = std::ldexp(offset / step, kOffsetBits);
    if (!(std::abs(steps) < 0x1p31)) return "the scale of its result is too small for its bias";
    norm->offsets.push_back(static_cast<int32_t>(round_half_even(steps)));
  }
  return "";
}

std::string read_norm(const Node& node, Norm* norm) {
  const Value *x = node.tensor("input"), *y = node.result();
  for (const std::string& reason : {refuse_int8(*x, "its input"), refuse_int8(*y, "its result")}) {
    if (!reason.empty()) return reason;
  }
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() > 0) return "its mean or deviation is read";
  }
  const size_t inner = node.ints("normalized_shape").size(), rank = x->rank();
  for (size_t d = 0; d < rank; ++d) (d + inner < rank ? norm->rows : norm->count) *= x->sizes()[d].value();
  if (norm->count > kLongestRow) return "rows of more than 32768 elements";
  const bool rms = node.is("aten.rms_norm.default");
  norm->centered = !rms;
  const double epsilon = node.is_none("eps") ? kUsualEpsilon : node.real("eps");
  const double in_steps = epsilon * std::pow(static_cast<double>(norm->count) / affine(*x).scale, 2);
  if (!(in_steps >= 0 && in_steps <= kLargestEpsilon)) return "the scale of its input is too small";
  norm->epsilon = static_cast<int64_t>(round_half_even(std::min(in_steps, kLargestEpsilon)));
  return read_parameters(*norm, node.optional_tensor("weight"), rms ? nullptr : node.optional_tensor("bias"),
                         affine(*y).scale, norm);
}

Verdict supports_norm(const Node& node, const Configuration& configuration) {
  Norm norm;
  const std::string reason = read_norm(node, &norm);
  if (!reason.empty()) return Verdict::no(reason);
  return configuration.stock_only ? Verdict::no("stock has no integer form of it") : Verdict::yes();
}

std::vector<Value*> rewrite_norm(Builder& b, Node& node, const Configuration&) {
  Norm norm;
  read_norm(node, &norm);
  const Affine from = affine(*node.tensor("input")), to = affine(*node.result());
  Value* rows = b.reshape(node.tensor("input"), {norm.rows, norm.count});
  Value* y = b.call("wick_cortex_m.layer_norm",
                    {rows, constant(b, {norm.count}, norm.scales, "scales"),
                     constant(b, {norm.count}, norm.offsets, "offsets"), norm.centered, int64_t{from.zero},
                     norm.epsilon, norm.shift, int64_t{to.zero}, int64_t{to.min}, int64_t{to.max}});
  std::vector<Value*> results = {b.reshape(y, node.result()->sizes())};
  // Nobody reads mean and deviation.
  for (size_t i = 1; i < node.results().size(); ++i)
    results.push_back(b.full(node.result(i)->sizes(), 0.0, node.result(i)->dtype()));
  return results;
}

constexpr OpRule kRules[] = {
    {"aten.layer_norm.default", supports_norm, rewrite_norm, true},
    {"aten.native_layer_norm.default", supports_norm, rewrite_norm, true},
    {"aten.rms_norm.default", supports_norm, rewrite_norm, true},
};

}  // namespace

const RuleFamily kNormalizationRules = {kRules, std::size(kRules)};

}  // namespace wick::cortex_m
