// Operators with a factor for each channel: batch norm (alone), and prelu.
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/convolution/channelwise.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_channels {
namespace {

Refusal refuse_elements_of(const Value& x, const Value& y) {
  for (const Refusal& reason : {refuse_elements(x, "its input"), refuse_elements(y, "its result")}) {
    if (!reason.empty()) return reason;
  }
  return x.dtype() == y.dtype()
             ? Refusal{}
             : Refusal{"its input and its result differ in dtype", "quantize both to int8, or both to int16"};
}

// --- batch norm: y = x k + (bias - mean k), k = weight / sqrt(variance + eps) ---

// The numbers of a per-channel constant; `usual` if it is left out; empty: it is computed or has another size.
std::vector<double> of_channels(const Value* constant, size_t channels, double usual) {
  if (!constant) return std::vector<double>(channels, usual);
  if (!constant->is_constant()) return {};
  std::vector<double> found = numbers(*constant);
  return found.size() == channels ? found : std::vector<double>();
}

Refusal read_batch_norm(const Node& node, Channelwise* out) {
  const Value *x = node.tensor("input"), *y = node.result();
  Refusal reason = refuse_elements_of(*x, *y);
  if (!reason.empty()) return reason;
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() > 0)
      return {"its mean or deviation is read", "compute mean and deviation in nodes of their own, quantized"};
  }
  const auto channels = static_cast<size_t>(x->rank() < 2 ? 0 : x->sizes()[1].value());
  const std::vector<double> mean = of_channels(node.tensor("running_mean"), channels, 0),
                            variance = of_channels(node.tensor("running_var"), channels, 1),
                            weight = of_channels(node.optional_tensor("weight"), channels, 1),
                            bias = of_channels(node.optional_tensor("bias"), channels, 0);
  if (channels == 0 || mean.empty() || variance.empty() || weight.empty() || bias.empty())
    return {"its statistics, weight or bias are computed", kConstantWeights};
  *out = {affine(*x), affine(*y), {}, {}, x->dtype() == DType::i16};
  for (size_t c = 0; c < channels; ++c) {
    const double factor = weight[c] / std::sqrt(variance[c] + node.real("eps"));
    out->factors.push_back(factor);
    out->offsets.push_back(bias[c] - mean[c] * factor);
  }
  return refuse_channelwise(*x, *out);
}

Verdict supports_batch_norm(const Node& node, const Configuration&) {
  Channelwise read;
  const Refusal reason = read_batch_norm(node, &read);
  return reason.empty() ? Verdict::yes("a depthwise convolution of single pixels") : refused(reason);
}

std::vector<Value*> rewrite_batch_norm(Builder& b, Node& node, const Configuration& configuration) {
  Channelwise read;
  read_batch_norm(node, &read);
  std::vector<Value*> results = {channelwise(b, node.tensor("input"), read, configuration.isa)};
  for (size_t i = 1; i < node.results().size(); ++i)
    results.push_back(b.full(node.result(i)->sizes(), 0.0, node.result(i)->dtype()));
  return results;
}

// --- prelu: max(x, slope x) where every slope is at most 1, min(x, slope x) where every slope is at least 1 ---

// Whether one table for all channels computes it.
bool has_one_slope(const Value& x, const Channelwise& prelu) {
  if (prelu.wide) return false;
  return x.rank() < 2 ||
         std::all_of(
             prelu.factors.begin(), prelu.factors.end(), [&](double slope) { return slope == prelu.factors[0]; });
}

Refusal read_prelu(const Node& node, Channelwise* out) {
  const Value *x = node.tensor("self"), *y = node.result(), *weight = node.tensor("weight");
  Refusal reason = refuse_elements_of(*x, *y);
  if (!reason.empty()) return reason;
  if (!weight->is_constant() || numbers(*weight).empty()) return {"its slopes are computed", kConstantWeights};
  std::vector<double> slopes = numbers(*weight);
  const auto channels = static_cast<size_t>(x->rank() < 2 ? 1 : x->sizes()[1].value());
  if (slopes.size() == 1) slopes.assign(channels, slopes[0]);
  if (slopes.size() != channels)
    return {"its slopes are not one for each channel", "give it one slope, or one for each channel"};
  const auto [least, most] = std::minmax_element(slopes.begin(), slopes.end());
  if (*least < 1 && *most > 1)
    return {"some of its slopes are below 1 and some above", "divide all by the largest slope, and multiply behind it"};
  *out = {affine(*x), affine(*y), slopes, {}, x->dtype() == DType::i16};
  return has_one_slope(*x, *out) ? Refusal{} : refuse_channelwise(*x, *out);
}

Verdict supports_prelu(const Node& node, const Configuration& configuration) {
  Channelwise read;
  Refusal reason = read_prelu(node, &read);
  if (reason.empty()) reason = refuse_conversion(*node.tensor("self"), *node.result(), configuration);
  return verdict_of(reason);
}

std::vector<Value*> rewrite_prelu(Builder& b, Node& node, const Configuration& configuration) {
  Channelwise read;
  read_prelu(node, &read);
  Value* x = node.tensor("self");
  const Affine &from = read.input, &to = read.output;
  if (has_one_slope(*x, read)) {
    std::vector<int8_t> table;
    for (int32_t element = -128; element <= 127; ++element) {
      const double number = static_cast<double>(element - from.zero) * from.scale;
      table.push_back(static_cast<int8_t>(quantize(number > 0 ? number : number * read.factors[0], to)));
    }
    return {b.call("cortex_m.quantized_activation", {x, constant(b, {256}, std::move(table), "lut")})};
  }
  const bool falls = *std::max_element(read.factors.begin(), read.factors.end()) <= 1;
  Value* plain = converted(b, x, from, to, x->dtype());
  Value* sloped = channelwise(b, x, read, configuration.isa);
  if (read.wide) return {b.call(falls ? "aten.maximum" : "aten.minimum", {plain, sloped})};
  const compiler::Sym count = numel(x->sizes());
  const bool few = x->rank() <= 4;
  Value* y = b.call(falls ? "cortex_m.maximum" : "cortex_m.minimum",
                    {few ? plain : b.reshape(plain, {count}), few ? sloped : b.reshape(sloped, {count})});
  return {b.reshape(y, x->sizes())};
}

constexpr OpRule kRules[] = {
    {"aten._native_batch_norm_legit_no_training.default", supports_batch_norm, rewrite_batch_norm, true, false,
     OpenSizes::batch},
    {"aten.prelu.default", supports_prelu, rewrite_prelu, true, false, OpenSizes::batch},
};

}  // namespace
}  // namespace rules_channels

const RuleFamily kChannelRules = {rules_channels::kRules, std::size(rules_channels::kRules)};

}  // namespace wick::cortex_m
