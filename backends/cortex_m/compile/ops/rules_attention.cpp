// Attention whole: softmax(q k^T scale) v of int8 operands and an int8 result. The model says nothing of how scores and
// probabilities are quantized, so they are not: scores are exact, and probabilities have 22 bits.
#include <cmath>

#include "backends/cortex_m/compile/convolution_calls.h"
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
  int64_t batch = 1, queries = 1, keys = 1, features = 1, outputs = 1;
  Requantization score, output;
};

bool same_leading(const Value& a, const Value& b) {
  return a.rank() == b.rank() && std::equal(a.sizes().begin(), a.sizes().end() - 2, b.sizes().begin());
}

double scale_of_scores(const Node& node, int64_t features) {
  return node.is_none("scale") ? 1 / std::sqrt(static_cast<double>(features)) : node.real("scale");
}

std::string refuse_form(const Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  if (!node.is_none("attn_mask")) return "it has a mask";
  if (node.real("dropout_p") != 0) return "it drops out";
  if (q->rank() < 3 || !same_leading(*q, *k) || !same_leading(*q, *v))
    return "wanted a query, keys and values of as many heads each";
  for (const Value* each : {q, k, v}) {
    for (const compiler::Sym& size : each->sizes()) {
      if (size.is(0)) return "an operand without elements";
    }
  }
  return "";
}

std::string read_attention(const Node& node, Attention* attention) {
  std::string reason = refuse_int8(node);
  if (reason.empty()) reason = refuse_form(node);
  if (!reason.empty()) return reason;
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  const size_t rank = q->rank();
  for (size_t d = 0; d + 2 < rank; ++d) attention->batch *= q->sizes()[d].value();
  attention->queries = q->sizes()[rank - 2].value();
  attention->features = q->sizes()[rank - 1].value();
  attention->keys = k->sizes()[rank - 2].value();
  attention->outputs = v->sizes()[rank - 1].value();
  if (attention->keys > kMost || attention->features > kMost) return "more than 32768 keys or features";
  const double scale = scale_of_scores(node, attention->features);
  if (!(scale > 0)) return "a scale of scores that is not positive";
  const auto score = requantization(std::ldexp(affine(*q).scale * affine(*k).scale * scale, kExponentBits));
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
  const auto stacked = [&](const char* name, int64_t rows, int64_t columns) {
    return b.reshape(node.tensor(name), {a.batch, rows, columns});
  };
  const int64_t bytes = 4 * (a.keys + (a.features + 3) / 4 * 4);
  Value* y = b.call("wick_cortex_m.attention",
                    {stacked("query", a.queries, a.features), stacked("key", a.keys, a.features),
                     stacked("value", a.keys, a.outputs), int64_t{affine(*node.tensor("query")).zero},
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
