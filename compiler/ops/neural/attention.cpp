// Scaled dot product attention.
#include <cmath>
#include <limits>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

const char* mask_name(const Node& node) { return has_argument(node, "attn_bias") ? "attn_bias" : "attn_mask"; }

Sizes attention_sizes(const Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  if (q->rank() < 2 || k->rank() < 2 || v->rank() < 2) reject("attention needs at least two dimensions");
  if (q->dtype() != k->dtype() || q->dtype() != v->dtype()) reject("attention: query, key and value differ in dtype");
  require_equal(q->sizes().back(), k->sizes().back(), "attention: features of query and key");
  require_equal(k->sizes()[k->rank() - 2], v->sizes()[v->rank() - 2], "attention: length of key and value");
  const bool grouped = has_argument(node, "enable_gqa") && node.boolean("enable_gqa");
  const size_t own = grouped ? 3 : 2;  // trailing dimensions that do not broadcast
  if (q->rank() < own || k->rank() < own || v->rank() < own) reject("grouped attention needs heads");
  const auto lead = [&](const Value* x) { return Sizes(x->sizes().begin(), x->sizes().end() - own); };
  Sizes sizes = broadcast(broadcast(lead(q), lead(k)), lead(v));
  sizes.insert(sizes.end(), q->sizes().end() - own, q->sizes().end());
  sizes.back() = v->sizes().back();
  return sizes;
}

void infer_sdpa(Node& node) {
  set_result(node, 0, node.tensor("query")->dtype(), attention_sizes(node));
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.op->parsed->returns[i] != ReturnType::tensor) continue;
    const Value* q = node.tensor("query");  // the result is the log-sum-exp of each row
    set_result(node, i, DType::f32, Sizes(q->sizes().begin(), q->sizes().end() - 1));
  }
}

// Repeats the heads of a key or value until it has as many as the query.
Value* repeat_heads(Builder& b, Value* x, const Sym& heads) {
  const size_t at = x->rank() - 3;
  const Sym own = x->sizes()[at];
  if (own == heads) return x;
  if (own.is_const() && heads.is_const() && (own.value() == 0 || heads.value() % own.value() != 0)) {
    reject("attention: the query heads are not a multiple of the key heads");
  }
  const Sym times = floor_div(heads, own);
  if (!own.is_const() || !heads.is_const()) {
    Compose c(b);
    Value* group = c.div_mode(c.arange(heads, DType::i64), c.tensor(times, DType::i64), "floor");
    return c.index_select(x, static_cast<int64_t>(at), group);
  }
  Sizes wide = x->sizes(), out = x->sizes();
  wide.insert(wide.begin() + static_cast<int64_t>(at) + 1, times);
  out[at] = heads;
  return b.reshape(b.expand(b.unsqueeze(x, static_cast<int64_t>(at) + 1), std::move(wide)), std::move(out));
}

// True where column <= row.
Value* causal_mask(Compose& c, const Sym& rows, const Sym& columns) {
  Value* row = c.b.reshape(c.arange(rows, DType::i64), {rows, 1});
  return c.compare("le", c.arange(columns, DType::i64), row);
}

Value* masked(Compose& c, Node& node, Value* scores) {
  const double lowest = -std::numeric_limits<double>::infinity();
  const Sym rows = scores->sizes()[scores->rank() - 2], columns = scores->sizes().back();
  if (has_argument(node, "is_causal") && node.boolean("is_causal"))
    scores = c.where(causal_mask(c, rows, columns), scores, lowest, scores->dtype());
  const char* name = mask_name(node);
  Value* mask = has_argument(node, name) ? node.optional_tensor(name) : nullptr;
  if (!mask) return scores;
  const Sizes together = broadcast(scores->sizes(), mask->sizes());
  if (together.size() != scores->rank()) reject("attention: the mask has more dimensions than the scores");
  if (mask->dtype() == DType::boolean) return c.where(mask, scores, lowest, scores->dtype());
  return c.add(scores, c.b.cast(mask, scores->dtype()));
}

// query * scale, widened. The default scale is 1 / sqrt(features). A power of two is an exact factor and is applied
// before widening, so that a preceding linear may absorb it. Not in f16, whose range is too small (6e-8 to 65504).
template <typename Widen>
Value* scaled_query(Compose& c, Node& node, Value* q, const Widen& widened) {
  double scale = 1;
  const Sym features = q->sizes().back();
  if (!node.is_none("scale")) {
    scale = node.real("scale");
  } else if (features.is_const()) {
    if (features.value() > 0) scale = 1.0 / std::sqrt(static_cast<double>(features.value()));
  } else {
    q = widened(q);
    Value* root = c.unary("aten.rsqrt", c.tensor(features, DType::f64));
    return c.mul(q, c.b.cast(root, q->dtype()));
  }
  if (scale == 1) return widened(q);
  int exponent = 0;
  const bool exact = std::frexp(scale, &exponent) == 0.5 && q->dtype() != DType::f16;
  return exact ? widened(c.mul(q, scale)) : c.mul(widened(q), scale);
}

// One node, for backends that keep matmuls of any rank.
Value* matmul(Compose& c, Value* x, Value* y) { return c.b.call("aten.matmul", {x, y}); }

// softmax(scores) @ v, with dropout on the weights if `node` (may be null) has it. The node gives the probability and,
// if it has a mask, the weights to keep.
Value* weighted(Compose& c, const Node* node, Value* scores, Value* v) {
  Value* weights = c.softmax(scores, static_cast<int64_t>(scores->rank()) - 1);
  const double p = node && has_argument(*node, "dropout_p") ? node->real("dropout_p") : 0;
  if (p == 0) return matmul(c, weights, v);
  require(p > 0 && p <= 1, "attention: the chance to drop a weight must lie between 0 and 1");
  Value* kept = has_argument(*node, "dropout_mask") ? node->optional_tensor("dropout_mask") : nullptr;
  if (kept)
    weights = c.mul(c.where(kept, weights, 0.0, weights->dtype()), 1 / (1 - p));
  else
    weights = c.b.call("aten.dropout", {weights, p, true});
  return matmul(c, weights, v);
}

// The same, but a row whose scores are all -inf (masked, or overflowed) gives 0, not NaN.
Value* guarded(Compose& c, const Node* node, Value* scores, Value* v) {
  const double lowest = -std::numeric_limits<double>::infinity();
  Value* live = c.any(c.compare("ne", scores, lowest), {static_cast<int64_t>(scores->rank()) - 1}, true);
  return c.where(live, weighted(c, node, scores, v), 0.0, v->dtype());
}

// softmax(query * scale @ key^T + mask) @ value
Value* attend(Compose& c, Node& node, Value* q, Value* k, Value* v) {
  return guarded(c, &node, masked(c, node, matmul(c, q, c.b.transpose(k, -2, -1))), v);
}

// Keys and values, with as many heads as the query if the node shares them.
std::pair<Value*, Value*> keys_and_values(Builder& b, Node& node, const Value& q) {
  Value *k = node.tensor("key"), *v = node.tensor("value");
  k = b.cast(k, wide_dtype(k->dtype())), v = b.cast(v, wide_dtype(v->dtype()));
  if (!has_argument(node, "enable_gqa") || !node.boolean("enable_gqa")) return {k, v};
  require(q.rank() >= 3 && k->rank() >= 3 && v->rank() >= 3, "grouped attention needs heads");
  const Sym heads = q.sizes()[q.rank() - 3];
  return {repeat_heads(b, k, heads), repeat_heads(b, v, heads)};
}

void infer_attention(Node& node) {
  infer_sdpa(node);
  Sizes scores = node.result()->sizes();
  scores.back() = node.tensor("key")->sizes()[node.tensor("key")->rank() - 2];
  for (const char* name : {"bias", "keep"}) {
    const Value* mask = node.optional_tensor(name);
    if (mask && broadcast(scores, mask->sizes()) != scores) reject("attention: a mask is larger than the scores");
  }
  if (const Value* keep = node.optional_tensor("keep"); keep && keep->dtype() != DType::boolean)
    reject("attention: `keep` holds no bools");
}

Results decompose_attention(Builder& b, Node& node) {
  Compose c(b);
  Value* q = node.tensor("query");
  const auto [k, v] = keys_and_values(b, node, *q);
  const DType dtype = q->dtype();
  Value* scores = matmul(c, b.cast(q, wide_dtype(dtype)), b.transpose(k, -2, -1));
  if (node.real("scale") != 1) scores = c.mul(scores, node.real("scale"));
  if (Value* bias = node.optional_tensor("bias")) {
    Value* sums = c.add(scores, b.cast(bias, scores->dtype()));
    scores = b.cast(b.cast(sums, is_16_bit(bias->dtype()) ? bias->dtype() : scores->dtype()), scores->dtype());
  }
  if (Value* keep = node.optional_tensor("keep")) scores = c.where(keep, scores, node.real("fill"), scores->dtype());
  if (node.boolean("is_causal")) {
    Value* seen = causal_mask(c, scores->sizes()[scores->rank() - 2], scores->sizes().back());
    scores = c.where(seen, scores, -std::numeric_limits<double>::infinity(), scores->dtype());
  }
  return {b.cast(node.boolean("guarded") ? guarded(c, nullptr, scores, v) : weighted(c, nullptr, scores, v), dtype)};
}

// Eager computes scores and weights of 16-bit floats in f32.
Results decompose_sdpa(Builder& b, Node& node) {
  Compose c(b);
  Value* q = node.tensor("query");
  const DType dtype = q->dtype();
  q = scaled_query(c, node, q, [&](Value* x) { return b.cast(x, wide_dtype(dtype)); });
  const auto [k, v] = keys_and_values(b, node, *q);
  Results results{b.cast(attend(c, node, q, k, v), dtype)};
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() != 0) reject("only the first result of this attention operator is supported");
    results.push_back(nullptr);
  }
  return results;
}

}  // namespace

const OpDef kAttentionRows[] = {
    {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
     "dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
     infer_sdpa, decompose_sdpa, "wick::sdpa.out", kNoStock | kNoNegativeZero | Growth::matrices,
     Cases("f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 8]",
           "f32[1, 2, 6, 8], f32[1, 2, 6, 8], f32[1, 2, 6, 8], None, 0.0, true",
           "f32[1, 2, 3, 8], f32[1, 2, 5, 8], f32[1, 2, 5, 8], bool[3, 5], scale=0.3",
           "f32[1, 4, 3, 8], f32[1, 2, 5, 8], f32[1, 2, 5, 8], f32[1, 1, 3, 5], enable_gqa=true",
           "f32[4, 3, 8], f32[2, 2, 5, 8], f32[2, 2, 5, 8], enable_gqa=true",
           "f32[4, 3, 8], f32[2, 5, 8], f32[6, 1, 5, 7], enable_gqa=true"),
     &kManyTerms},
    {"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., "
     "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     infer_sdpa, decompose_sdpa, nullptr, kPure, Cases()},
    {"aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
     "dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> "
     "(Tensor, Tensor)",
     infer_sdpa, decompose_sdpa, nullptr, kPure, Cases()},
    // Attention that a model has written out: softmax(query @ key^T * scale + bias) @ value. Where `keep` is false, the
    // score is `fill`; with `is_causal`, scores of keys behind the query are -inf. With a 16-bit bias, the sums are
    // rounded to its dtype. `guarded`: a row whose scores are all -inf gives 0.
    {"wick::attention(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? keep, float fill, float scale, "
     "bool is_causal, bool guarded, bool enable_gqa) -> Tensor",
     infer_attention, decompose_attention, nullptr, kPure, Cases()},
};
const size_t kAttentionCount = std::size(kAttentionRows);

}  // namespace wick::compiler
