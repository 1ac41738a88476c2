// Attention whole: softmax(q k^T scale) v of int8 operands and an int8 result. The model says nothing of how scores and
// probabilities are quantized, so they are not: scores are exact, and probabilities have 22 bits.
#include <cmath>

#include "backends/cortex_m/compile/convolution_calls.h"
#include "backends/cortex_m/compile/ops/attention_mask.h"
#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Verdict;

namespace {

constexpr int64_t kMost = 32768;                     // keys, features
constexpr int kExponentBits = 26, kWeightBits = 22;  // of exponents behind the point; of the sum of all probabilities

struct Attention {
  AttentionScores scores;
  int64_t key_batch = 1, outputs = 1;
  AttentionMaskElements mask;
  Requantization score, output;
};

int64_t leading_product(const Value& value) {
  int64_t product = 1;
  for (size_t d = 0; d + 2 < value.rank(); ++d) product *= value.sizes()[d].value();
  return product;
}

// As many heads of keys and values as of the query, or with enable_gqa a divisor of that.
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

std::string refuse_form(const Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  for (const Value* each : {q, k, v, static_cast<const Value*>(node.result())}) {
    std::string reason = refuse_int8(*each, each == node.result() ? "the result" : "an operand");
    if (!reason.empty()) return reason;
  }
  if (node.real("dropout_p") != 0) return "it drops out";
  if (q->rank() < 3 || !heads_fit(node)) return "wanted a query, keys and values of as many heads each";
  for (const Value* each : {q, k, v}) {
    for (const compiler::Sym& size : each->sizes()) {
      if (size.is(0)) return "an operand without elements";
    }
  }
  return "";
}

std::string read_attention(const Node& node, Attention* attention) {
  std::string reason = refuse_form(node);
  if (!reason.empty()) return reason;
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  const size_t rank = q->rank();
  AttentionScores& scores = attention->scores;
  scores.batch = leading_product(*q);
  attention->key_batch = leading_product(*k);
  scores.queries = q->sizes()[rank - 2].value();
  scores.features = q->sizes()[rank - 1].value();
  scores.keys = k->sizes()[rank - 2].value();
  attention->outputs = v->sizes()[rank - 1].value();
  if (scores.keys > kMost || scores.features > kMost) return "more than 32768 keys or features";
  const double scale = scale_of_scores(node, scores.features);
  if (!(scale > 0)) return "a scale of scores that is not positive";
  scores.unit = affine(*q).scale * affine(*k).scale * scale;
  reason = read_attention_mask(node, scores, &attention->mask);
  if (!reason.empty()) return reason;
  const int exponent_bits = kExponentBits - static_cast<int>(attention->mask.bits);
  const auto score = requantization(std::ldexp(scores.unit, exponent_bits));
  const auto output = requantization(std::ldexp(affine(*v).scale / affine(*node.result()).scale, -kWeightBits));
  if (!score || !output) return "the scale of its result is too far from those of its operands";
  attention->score = *score;
  attention->output = *output;
  return "";
}

Verdict supports_attention(const Node& node, const Configuration& configuration) {
  Attention attention;
  const std::string reason = read_attention(node, &attention);
  if (!reason.empty()) return Verdict::no(reason);
  if (configuration.stock_only) return Verdict::no("stock has no integer form of it");
  return Verdict::yes("its scores and probabilities, which the model does not quantize, are integers of 32 bits");
}

std::vector<Value*> rewrite_attention(Builder& b, Node& node, const Configuration& configuration) {
  Attention a;
  read_attention(node, &a);
  const AttentionScores& s = a.scores;
  const auto stacked = [&](const char* name, int64_t batch, int64_t rows, int64_t columns) {
    return b.reshape(node.tensor(name), {batch, rows, columns});
  };
  const int64_t bytes = 4 * (s.keys + (s.features + 3) / 4 * 4);
  Value* mask = attention_mask(b, node, s, a.mask);
  Value* y = b.call("wick_cortex_m.attention",
                    {stacked("query", s.batch, s.queries, s.features), stacked("key", a.key_batch, s.keys, s.features),
                     stacked("value", a.key_batch, s.keys, a.outputs), mask ? compiler::Arg(mask) : compiler::Arg(),
                     a.mask.bits, int64_t{affine(*node.tensor("query")).zero},
                     int64_t{affine(*node.tensor("value")).zero}, int64_t{a.score.multiplier}, int64_t{a.score.shift},
                     node.boolean("is_causal"), int64_t{affine(*node.result()).zero}, int64_t{a.output.multiplier},
                     int64_t{a.output.shift}, scratch(b, {bytes, bytes, bytes}, configuration.isa)});
  return {b.reshape(y, node.result()->sizes())};
}

constexpr OpRule kRules[] = {
    {"aten.scaled_dot_product_attention.default", supports_attention, rewrite_attention},
};

}  // namespace

const RuleFamily kAttentionRules = {kRules, std::size(kRules)};

}  // namespace wick::cortex_m
