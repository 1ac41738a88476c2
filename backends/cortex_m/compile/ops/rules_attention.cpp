// Scaled dot-product attention as one operator: softmax(q k^T scale) v with int8 or int16 operands and a result of the
// same dtype. Models do not quantize scores and probabilities. The kernels compute scores as exact sums (30 bits for
// int16), and probabilities with 22 bits (30 for int16).
#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/ops/attention_mask.h"
#include "backends/cortex_m/compile/ops/int16/int16_rules.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace rules_attention {
namespace {

constexpr int64_t kMost = 32768;                     // keys, features
constexpr int kExponentBits = 26, kWeightBits = 22;  // fractional bits of exponents; bits of a row's sum
constexpr int kWideSumBits = 15;                     // .. of which the int16 kernel keeps 15
constexpr double kMostScore = 255.0 * 128.0;         // largest score, for one feature of int8
// The coarsest unit of int16 scores. A score is off by up to half a unit, which scales a weight by exp(unit / 2). It
// puts a sum of values of either sign off by up to unit / 2 * 2^15 of their steps; one of these is `ratio` steps of the
// result. With unit * ratio at this limit: an eighth of a step of the result.
constexpr double kCoarsestUnit = 0x1p-17;
// The largest number of keys times `ratio`. Each weight is off by half a unit of 2^-30, and by a few units of 2^-31
// because of exp, all in one direction if keys have the same score. At this limit: half a step of the result.
constexpr double kMostKeySteps = 0x1p13;

struct Attention {
  AttentionScores scores;
  int64_t features = 1, key_batch = 1, outputs = 1;
  AttentionMaskElements mask;
  Requantization score, output;
};

int64_t leading_product(const Value& value) {
  int64_t product = 1;
  for (size_t d = 0; d + 2 < value.rank(); ++d) product *= value.sizes()[d].value();
  return product;
}

// Whether keys and values have as many heads as the query, or with enable_gqa a divisor of that.
bool heads_fit(const Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  const size_t rank = q->rank(), leading = rank - 2;
  if (k->rank() != rank || v->rank() != rank) return false;
  for (size_t d = 0; d < leading; ++d) {
    const int64_t of_q = q->sizes()[d].value(), of_k = k->sizes()[d].value();
    const bool grouped = node.boolean("enable_gqa") && d + 1 == leading;
    if (of_k != v->sizes()[d].value() || (grouped ? of_k == 0 || of_q % of_k != 0 : of_q != of_k)) return false;
  }
  return true;
}

double scale_of_scores(const Node& node, int64_t features) {
  return node.is_none("scale") ? 1 / std::sqrt(static_cast<double>(features)) : node.real("scale");
}

Refusal refuse_form(const Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  const bool wide = computes_on_int16(node);
  for (const Value* each : {q, k, v, static_cast<const Value*>(node.result())}) {
    const char* what = each == node.result() ? "the result" : "an operand";
    Refusal reason = wide ? refuse_int16(*each, what) : refuse_int8(*each, what);
    if (!reason.empty()) return reason;
  }
  if (node.real("dropout_p") != 0) return {"it drops out", "export the model in eval mode"};
  if (q->rank() < 3 || !heads_fit(node))
    return {"wanted a query, keys and values of as many heads each",
            "give query, keys and values a batch, and heads that divide those of the query"};
  for (const Value* each : {q, k, v}) {
    for (const compiler::Sym& size : each->sizes()) {
      if (size.is(0)) return {"an operand without elements", "leave attention over nothing out of the model"};
    }
  }
  return {};
}

// Finds the unit of scores and their largest magnitude.
void read_scores(const Node& node, double scale, Attention* attention) {
  AttentionScores& scores = attention->scores;
  scores.unit = affine(*node.tensor("query")).scale * affine(*node.tensor("key")).scale * scale;
  scores.most = kMostScore * static_cast<double>(attention->features);
  if (!computes_on_int16(node)) return;
  int shift = 0;
  while (int64_t{1} << shift < attention->features) ++shift;
  scores.unit = std::ldexp(scores.unit, shift);
  scores.most = 0x1p30;
}

Refusal read_attention(const Node& node, Attention* attention) {
  Refusal reason = refuse_form(node);
  if (!reason.empty()) return reason;
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  const size_t rank = q->rank();
  AttentionScores& scores = attention->scores;
  scores.batch = leading_product(*q);
  attention->key_batch = leading_product(*k);
  scores.queries = q->sizes()[rank - 2].value();
  attention->features = q->sizes()[rank - 1].value();
  scores.keys = k->sizes()[rank - 2].value();
  attention->outputs = v->sizes()[rank - 1].value();
  if (scores.keys > kMost || attention->features > kMost)
    return {"more than 32768 keys or features", "attend to fewer keys at a time"};
  const double scale = scale_of_scores(node, attention->features);
  if (!(scale > 0)) return {"a scale of scores that is not positive", "use a positive scale, and a negated query"};
  read_scores(node, scale, attention);
  const bool wide = computes_on_int16(node);
  const double ratio = affine(*v).scale / affine(*node.result()).scale;
  if (wide && scores.unit * std::max(ratio, 1.0) > kCoarsestUnit)
    return {"the range of its scores is too large for 30 bits",
            "use smaller scales of query and key: calibrate them on inputs like the device's"};
  if (wide && static_cast<double>(scores.keys) * ratio > kMostKeySteps)
    return {"the steps of its result are too fine for 30 bits of probabilities",
            "use a larger scale of its result, or int8"};
  reason = read_attention_mask(node, scores, &attention->mask);
  if (!reason.empty()) return reason;
  const int exponent_bits = kExponentBits - static_cast<int>(attention->mask.bits);
  const auto score = requantization(std::ldexp(scores.unit, exponent_bits));
  const auto output = requantization(std::ldexp(ratio, wide ? -kWideSumBits : -kWeightBits));
  if (!score || !output) return {"the scale of its result is too far from those of its operands", kNearerScale};
  attention->score = *score;
  attention->output = *output;
  return {};
}

Verdict supports_attention(const Node& node, const Configuration& configuration) {
  Attention attention;
  const Refusal reason = read_attention(node, &attention);
  if (!reason.empty()) return refused(reason);
  if (configuration.stock_only) return refused({"stock has no integer form of it", kProfileAuto});
  return Verdict::yes("its scores and probabilities, which the model does not quantize, are integers of 32 bits");
}

std::vector<Value*> rewrite_attention(Builder& b, Node& node, const Configuration& configuration) {
  Attention a;
  read_attention(node, &a);
  const AttentionScores& s = a.scores;
  const auto stacked = [&](const char* name, int64_t batch, int64_t rows, int64_t columns) {
    return b.reshape(node.tensor(name), {batch, rows, columns});
  };
  const bool wide = computes_on_int16(node);
  const int64_t bytes = 4 * (s.keys + (wide ? 0 : (a.features + 3) / 4 * 4));
  Value *mask = attention_mask(b, node, s, a.mask), *memory = scratch(b, {bytes, bytes, bytes}, configuration.isa);
  const Affine to = affine(*node.result());
  const compiler::Arg q = stacked("query", s.batch, s.queries, a.features),
                      k = stacked("key", a.key_batch, s.keys, a.features),
                      v = stacked("value", a.key_batch, s.keys, a.outputs),
                      m = mask ? compiler::Arg(mask) : compiler::Arg();
  const int64_t score[] = {a.score.multiplier, a.score.shift}, output[] = {a.output.multiplier, a.output.shift};
  Value* y =
      wide ? b.call("wick_cortex_m.attention_int16", {q, k, v, m, score[0], score[1], node.boolean("is_causal"),
                                                      output[0], output[1], int64_t{to.min}, int64_t{to.max}, memory})
           : b.call("wick_cortex_m.attention",
                    {q, k, v, m, a.mask.bits, int64_t{affine(*node.tensor("query")).zero},
                     int64_t{affine(*node.tensor("value")).zero}, score[0], score[1], node.boolean("is_causal"),
                     int64_t{to.zero}, output[0], output[1], memory});
  return {b.reshape(y, node.result()->sizes())};
}

constexpr OpRule kRules[] = {
    {"aten.scaled_dot_product_attention.default", supports_attention, rewrite_attention},
};

}  // namespace
}  // namespace rules_attention

const RuleFamily kAttentionRules = {rules_attention::kRules, std::size(rules_attention::kRules)};

}  // namespace wick::cortex_m
