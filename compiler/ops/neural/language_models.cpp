// ExecuTorch's operators for language models (its library extension/llm/custom_ops): attention over a cache of keys and
// values [batch, length, heads, features], rows written into such a cache, the Hadamard transform, the recurrence of
// linear attention with a gated delta rule.
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

bool is_attention_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

// --- attention ---

bool length_is_second(const Node& node) {
  return node.op->parsed->find("is_seq_at_dim_2") < 0 || !node.boolean("is_seq_at_dim_2");
}

void check_mask(const Node& node, const Sym& queries, const Sym& keys) {
  const Value* mask = node.optional_tensor("attn_mask");
  if (!mask) return;
  require(!node.boolean("is_causal"), "cached attention: is_causal together with a mask");
  require(mask->dtype() == DType::f32, "cached attention: the mask is not float32");
  require_rank(mask, 2, "cached attention: the mask");
  require_equal(mask->sizes()[0], queries, "cached attention: rows of the mask and queries");
  require_equal(mask->sizes()[1], keys, "cached attention: columns of the mask and keys");
}

// Checks the sizes of query, key and value as far as they are known.
void check_attention(const Node& node, const Value* q, const Value* k, const Value* v) {
  for (const Value* x : {q, k, v}) require_rank(x, 4, "cached attention");
  const size_t length = length_is_second(node) ? 1 : 2, heads = 3 - length;
  for (size_t d : {size_t{0}, size_t{3}})
    require_equal(q->sizes()[d], k->sizes()[d], "cached attention: query and key");
  for (size_t d = 0; d < 4; ++d) require_equal(k->sizes()[d], v->sizes()[d], "cached attention: key and value");
  const Sym &own = q->sizes()[heads], &shared = k->sizes()[heads];
  require(own.is_const() && shared.is_const() && shared.value() > 0 && own.value() % shared.value() == 0,
          "cached attention: the query heads are not a multiple of the key heads");
  const Sym& start = node.integer("start_pos");
  if (!node.optional_tensor("attn_mask") && start.is_const()) {
    const Sym end = start + q->sizes()[length], &keys = k->sizes()[length];
    require(start.value() >= 0 && !(end.is_const() && keys.is_const() && end.value() > keys.value()),
            "cached attention: start_pos is outside the cache");
  }
  check_mask(node, q->sizes()[length], k->sizes()[length]);
}

void infer_custom_sdpa(Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  require(is_attention_float(q->dtype()) && k->dtype() == q->dtype() && v->dtype() == q->dtype(),
          "cached attention: wanted query, key and value in one of float32, float16 and bfloat16");
  check_attention(node, q, k, v);
  set_result(node, q->dtype(), q->sizes());
}

void check_parameters(const Value* x, const Value* scales, const Value* zero_points) {
  require(scales && zero_points && scales->dtype() == DType::f32 && zero_points->dtype() == DType::i8,
          "cached attention: wanted float32 scales and int8 zero points for query, key and value");
  for (const Value* parameter : {scales, zero_points}) {
    require_rank(parameter, 4, "cached attention: scales and zero points");
    for (size_t d = 0; d < 4; ++d)
      require_equal(parameter->sizes()[d], d == 3 ? Sym(1) : x->sizes()[d], "cached attention: scales and zero points");
  }
}

void infer_quantized_sdpa(Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  require(q->dtype() == DType::i8 && k->dtype() == DType::i8 && v->dtype() == DType::i8,
          "cached attention: query, key and value are not int8");
  check_attention(node, q, k, v);
  check_parameters(q, node.optional_tensor("q_scales"), node.optional_tensor("q_zero_points"));
  check_parameters(k, node.optional_tensor("k_scales"), node.optional_tensor("k_zero_points"));
  check_parameters(v, node.optional_tensor("v_scales"), node.optional_tensor("v_zero_points"));
  set_result(node, DType::f32, q->sizes());
}

// softmax(query * scale @ key^T + mask) @ value in float32. All are [batch, heads, length, features]. Consecutive query
// heads that share a key head become rows of one matrix.
Value* attend_cache(Compose& c, const Node& node, Value* q, Value* k, Value* v) {
  Builder& b = c.b;
  const Sizes& sizes = q->sizes();
  const Sym heads = k->sizes()[1], group = floor_div(sizes[1], heads), queries = sizes[2], keys = k->sizes()[2];
  const Sizes rows = {sizes[0], heads, group * queries, sizes[3]};
  const double features = static_cast<double>(node.tensor("query")->sizes()[3].value());
  const double scale = node.is_none("scale") ? 1.0 / std::sqrt(features) : node.real("scale");
  Value* scores = b.call("aten.matmul", {b.reshape(c.mul(q, scale), rows), b.transpose(k, -2, -1)});
  scores = b.reshape(scores, {sizes[0], heads, group, queries, keys});
  if (Value* mask = node.optional_tensor("attn_mask")) {
    scores = c.add(scores, mask);
  } else if (node.boolean("is_causal")) {
    Value* row = c.add(b.reshape(c.arange(queries, DType::i64), {queries, 1}), node.integer("start_pos"));
    Value* seen = c.compare("le", c.arange(keys, DType::i64), row);
    scores = c.where(seen, scores, -std::numeric_limits<double>::infinity(), DType::f32);
  }
  Value* weights = b.reshape(c.softmax(scores, 4), {sizes[0], heads, group * queries, keys});
  return b.reshape(b.call("aten.matmul", {weights, v}), sizes);
}

// The keys (or values) that are read: without a mask, those up to the last query's position.
Value* seen_keys(Builder& b, const Node& node, Value* x, int64_t length_dim) {
  if (node.optional_tensor("attn_mask")) return x;
  const Sym end = node.integer("start_pos") + node.tensor("query")->sizes()[static_cast<size_t>(length_dim)];
  return b.slice(x, length_dim, 0, end);
}

Results decompose_custom_sdpa(Builder& b, Node& node) {
  Compose c(b);
  const auto prepared = [&](Value* x) { return b.cast(b.permute(x, {0, 2, 1, 3}), DType::f32); };
  Value* out =
      attend_cache(c, node, prepared(node.tensor("query")), prepared(seen_keys(b, node, node.tensor("key"), 1)),
                   prepared(seen_keys(b, node, node.tensor("value"), 1)));
  return {b.cast(b.permute(out, {0, 2, 1, 3}), node.result()->dtype())};
}

Results decompose_quantized_sdpa(Builder& b, Node& node) {
  Compose c(b);
  const bool swap = length_is_second(node);
  const auto prepared = [&](const char* name, const std::string& letter, bool cached) {
    const auto part = [&](Value* x) {
      if (cached) x = seen_keys(b, node, x, swap ? 1 : 2);
      return b.cast(swap ? b.permute(x, {0, 2, 1, 3}) : x, DType::f32);
    };
    Value* centered = c.sub(part(node.tensor(name)), part(node.tensor(letter + "_zero_points")));
    return c.mul(centered, part(node.tensor(letter + "_scales")));
  };
  Value* q = prepared("query", "q", false);
  Value* k = prepared("key", "k", true);
  Value* out = attend_cache(c, node, q, k, prepared("value", "v", true));
  return {swap ? b.permute(out, {0, 2, 1, 3}) : out};
}

// --- caches ---

void check_update(const Value* value, const Value* cache) {
  require_rank(value, 4, "update_cache: the value");
  require_rank(cache, 4, "update_cache: the cache");
  require(value->dtype() == cache->dtype(), "update_cache: value and cache differ in dtype");
  for (size_t d : {size_t{0}, size_t{2}, size_t{3}})
    require_equal(value->sizes()[d], cache->sizes()[d], "update_cache: value and cache");
}

void check_range(const Sym& start, const Sym& rows, const Sym& length) {
  if (!start.is_const()) return;
  const bool inside =
      start.value() >= 0 && !(rows.is_const() && length.is_const() &&
                              (start.value() > length.value() || rows.value() > length.value() - start.value()));
  require(inside, "update_cache: the rows do not lie within the cache");
}

// Results: a one-element placeholder without contents, and the new cache.
void infer_update_cache(Node& node) {
  const Value *value = node.tensor("value"), *cache = node.tensor("cache");
  check_update(value, cache);
  if (node.op->parsed->find("indices") >= 0) {
    const Value* indices = node.tensor("indices");
    require(indices->dtype() == DType::i64, "update_cache: the indices are not int64");
    require_rank(indices, 2, "update_cache: the indices");
    for (size_t d : {size_t{0}, size_t{1}})
      require_equal(indices->sizes()[d], value->sizes()[d], "update_cache: indices and value");
  } else {
    check_range(node.integer("start_pos"), value->sizes()[1], cache->sizes()[1]);
  }
  set_result(node, 0, value->dtype(), {Sym(1)});
  set_result(node, 1, cache->dtype(), cache->sizes());
}

// index_put at the written positions; the rest of the cache stays.
Results decompose_update_cache(Builder& b, Node& node) {
  Compose c(b);
  Value *value = node.tensor("value"), *cache = node.tensor("cache");
  Value* positions = c.add(c.arange(value->sizes()[1], DType::i64), node.integer("start_pos"));
  return {nullptr, b.call("aten.index_put", {cache, Values{nullptr, positions}, value, false})};
}
Results decompose_update_with_indices(Builder& b, Node& node) {
  Compose c(b);
  Value *value = node.tensor("value"), *cache = node.tensor("cache"), *indices = node.tensor("indices");
  if (cache->sizes()[0].is(1)) {
    indices = b.reshape(indices, {value->sizes()[1]});
    return {nullptr, b.call("aten.index_put", {cache, Values{nullptr, indices}, value, false})};
  }
  Value* batch = b.reshape(c.arange(value->sizes()[0], DType::i64), {value->sizes()[0], 1});
  return {nullptr, b.call("aten.index_put", {cache, Values{batch, indices}, value, false})};
}

void infer_sdpa_with_cache(Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key_cache"), *v = node.tensor("value_cache");
  require(is_attention_float(q->dtype()) && k->dtype() == q->dtype() && v->dtype() == q->dtype(),
          "cached attention: wanted query, key and value in one of float32, float16 and bfloat16");
  check_update(node.tensor("key"), k);
  check_update(node.tensor("value"), v);
  for (const char* name : {"key", "value"}) {
    const Sym& rows = node.tensor(name)->sizes()[1];
    require_equal(rows, node.integer("seq_len"), "sdpa_with_kv_cache: rows and seq_len");
    check_range(node.integer("start_pos"), rows, k->sizes()[1]);
  }
  check_attention(node, q, k, v);
  set_result(node, 0, q->dtype(), q->sizes());
  set_result(node, 1, k->dtype(), k->sizes());
  set_result(node, 2, v->dtype(), v->sizes());
}

// Both caches are updated, then read.
Results decompose_sdpa_with_cache(Builder& b, Node& node) {
  const Arg& start = node.arg("start_pos");
  Value* k = b.call_multi("llama.update_cache", {node.tensor("key"), node.tensor("key_cache"), start})[1];
  Value* v = b.call_multi("llama.update_cache", {node.tensor("value"), node.tensor("value_cache"), start})[1];
  Value* out = b.call("llama.custom_sdpa", {node.tensor("query"), k, v, start, node.arg("attn_mask"),
                                            node.arg("drpout_p"), node.arg("is_causal"), node.arg("scale")});
  return {out, k, v};
}

// --- Hadamard transform ---

constexpr int64_t kOrder = 28, kBlock = 7;

// The size of a row is 2^k or 28 * 2^k.
void infer_hadamard(Node& node) {
  const Value* x = node.tensor("mat");
  require(x->rank() > 0 && (x->dtype() == DType::f32 || x->dtype() == DType::f64 || x->dtype() == DType::f16),
          "fast_hadamard_transform: wanted rows of float32, float64 or float16");
  const Sym& columns = x->sizes().back();
  require(columns.is_const(), "fast_hadamard_transform: the number of columns is not known");
  const int64_t powers = columns.value() % kOrder == 0 ? columns.value() / kOrder : columns.value();
  require((powers & (powers - 1)) == 0, "fast_hadamard_transform: wanted 2^k or 28 * 2^k columns");
  infer_same(node);
}

// Sylvester's matrix of 2^k rows, scaled to be orthogonal.
Value* sylvester(Compose& c, int64_t order) {
  std::vector<float> values;
  const float factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(order)));
  for (int64_t i = 0; i < order; ++i) {
    for (int64_t j = 0; j < order; ++j)
      values.push_back(__builtin_parityll(static_cast<uint64_t>(i & j)) ? -factor : factor);
  }
  return c.constant_f32(values, {order, order});
}

// The transpose of Williamson's matrix of 28 rows: four symmetric circulants of order 7, by their first rows.
Value* williamson_transposed(Compose& c) {
  constexpr int8_t kFirst[4][kBlock] = {
      {1, -1, -1, -1, -1, -1, -1}, {1, 1, -1, -1, -1, -1, 1}, {1, -1, 1, -1, -1, 1, -1}, {1, -1, -1, 1, 1, -1, -1}};
  constexpr int8_t kBlocks[4][4] = {{1, 2, 3, 4}, {-2, 1, -4, 3}, {-3, 4, 1, -2}, {-4, -3, 2, 1}};  // -i: minus i
  std::vector<float> values;
  for (int64_t column = 0; column < kOrder; ++column) {
    for (int64_t row = 0; row < kOrder; ++row) {
      const int block = kBlocks[row / kBlock][column / kBlock];
      const int sign = kFirst[std::abs(block) - 1][(column % kBlock - row % kBlock + kBlock) % kBlock];
      values.push_back(static_cast<float>(block < 0 ? -sign : sign));
    }
  }
  return c.constant_f32(values, {kOrder, kOrder});
}

// The matrix is a Kronecker product. The row is treated as an array with one dimension for each factor and is
// multiplied by each factor along its dimension. Each step multiplies along the last dimension and then moves it to the
// front, so that each dimension is last once.
Results decompose_hadamard(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("mat");
  const int64_t columns = x->sizes().back().value();
  if (columns == 0) return {x};
  constexpr int64_t kLargestFactor = 64;
  std::vector<std::pair<int64_t, Value*>> factors;  // from the last dimension to the first
  int64_t powers = columns % kOrder == 0 ? columns / kOrder : columns;
  for (; powers > 1; powers /= factors.back().first) {
    const int64_t order = std::min(powers, kLargestFactor);
    factors.emplace_back(order, sylvester(c, order));
  }
  if (columns % kOrder == 0) factors.emplace_back(kOrder, williamson_transposed(c));
  const Sym rows = numel(Sizes(x->sizes().begin(), x->sizes().end() - 1));
  const DType wide = x->dtype() == DType::f64 ? DType::f64 : DType::f32;
  Value* value = b.cast(x, wide);
  for (const auto& [order, matrix] : factors) {
    value = b.reshape(value, {rows, columns / order, order});
    value = b.transpose(b.call("aten.matmul", {value, b.cast(matrix, wide)}), 1, 2);
  }
  return {b.cast(b.reshape(value, x->sizes()), x->dtype())};
}

// --- gated delta rule ---

void check_gate(const Node& node, const Value* key) {
  const Value *decay = node.tensor("decay"), *beta = node.tensor("beta");
  require(decay->rank() == 3 || decay->rank() == 4, "gated_delta_rule: wanted a decay of rank 3 or 4");
  require_rank(beta, 3, "gated_delta_rule: beta");
  for (size_t d = 0; d < decay->rank(); ++d)
    require_equal(decay->sizes()[d], key->sizes()[d], "gated_delta_rule: decay and key");
  for (size_t d = 0; d < 3; ++d) require_equal(beta->sizes()[d], key->sizes()[d], "gated_delta_rule: beta and key");
}

// query [batch, own heads, length, K]; key [batch, heads, length, K]; value [batch, heads, length, V]; decay like key,
// or without K; beta [batch, heads, length]; initial_state [batch, heads, K, V].
void infer_gated_delta_rule(Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value"),
              *state = node.tensor("initial_state");
  for (const Value* x : {q, k, v, state}) require_rank(x, 4, "gated_delta_rule");
  for (const Value* x : node.operands()) require(x->dtype() == DType::f32, "gated_delta_rule: wanted float32 operands");
  for (size_t d : {size_t{0}, size_t{2}, size_t{3}})
    require_equal(q->sizes()[d], k->sizes()[d], "gated_delta_rule: query and key");
  for (size_t d : {size_t{0}, size_t{1}, size_t{2}})
    require_equal(k->sizes()[d], v->sizes()[d], "gated_delta_rule: key and value");
  const Sym &own = q->sizes()[1], &shared = k->sizes()[1];
  require(own.is_const() && shared.is_const() && shared.value() > 0 && own.value() % shared.value() == 0,
          "gated_delta_rule: the query heads are not a multiple of the key heads");
  check_gate(node, k);
  const Sizes wanted = {k->sizes()[0], shared, k->sizes()[3], v->sizes()[3]};
  for (size_t d = 0; d < 4; ++d) require_equal(state->sizes()[d], wanted[d], "gated_delta_rule: the initial state");
  set_result(node, 0, DType::f32, {q->sizes()[0], own, q->sizes()[2], v->sizes()[3]});
  set_result(node, 1, DType::f32, state->sizes());
}

// Step by step: state = state * decay + key (value - key^T state) beta, out = query^T state. Steps are matmuls of
// single rows.
Results decompose_gated_delta_rule(Builder& b, Node& node) {
  constexpr int64_t kMaxSteps = 64;
  Compose c(b);
  Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value"), *decay = node.tensor("decay");
  const Sizes &from = q->sizes(), &state_sizes = node.tensor("initial_state")->sizes();
  const Sym &length = from[2], heads = state_sizes[1], group = floor_div(from[1], heads);
  require(length.is_const() && length.value() >= 1 && length.value() <= kMaxSteps,
          "gated_delta_rule: without ExecuTorch's library of operators for language models the length must be known, "
          "from 1 to 64");
  const auto step_of = [&](Value* x, int64_t t, Sizes sizes) {
    return b.reshape(b.slice(x, 2, t, t + 1), std::move(sizes));
  };
  Value* state = node.tensor("initial_state");
  Values outs;
  for (int64_t t = 0; t < length.value(); ++t) {
    const Sym features = decay->rank() == 4 ? from[3] : Sym(1);
    state = c.mul(state, step_of(decay, t, {from[0], heads, features, 1}));
    Value *key = step_of(k, t, {from[0], heads, 1, from[3]}),
          *value = step_of(v, t, {from[0], heads, 1, state_sizes[3]});
    Value* error = c.sub(value, b.call("aten.matmul", {key, state}));
    error = c.mul(error, step_of(node.tensor("beta"), t, {from[0], heads, 1, 1}));
    state = c.add(state, c.mul(b.transpose(key, -2, -1), error));
    Value* out = b.call("aten.matmul", {step_of(q, t, {from[0], heads, group, from[3]}), state});
    outs.push_back(b.reshape(out, {from[0], from[1], 1, state_sizes[3]}));
  }
  return {outs.size() == 1 ? outs[0] : c.cat(std::move(outs), 2), state};
}

constexpr Cases kGatedDeltaCases(
    "f32[2, 3, 4, 5], f32[2, 3, 4, 5], f32[2, 3, 4, 6], f32[2, 3, 4, 5]{range=0..1}, f32[2, 3, 4]{range=0..1}, "
    "f32[2, 3, 5, 6]",
    "f32[1, 4, 3, 5], f32[1, 2, 3, 5], f32[1, 2, 3, 7], f32[1, 2, 3]{range=0..1}, f32[1, 2, 3]{range=0..1}, "
    "f32[1, 2, 5, 7]",
    "f32[1, 2, 1, 16], f32[1, 2, 1, 16], f32[1, 2, 1, 16], f32[1, 2, 1]{range=0..1}, f32[1, 2, 1]{range=0..1}, "
    "f32[1, 2, 16, 16]");

}  // namespace

#define LLAMA "llama::"
const OpDef kLanguageModelRows[] = {
    {"llama::custom_sdpa(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float "
     "drpout_p=0., bool is_causal=False, float? scale=None) -> Tensor",
     infer_custom_sdpa, decompose_custom_sdpa, LLAMA "custom_sdpa.out", kLlmLibrary,
     Cases("f32[1, 3, 4, 8], f32[1, 16, 4, 8], f32[1, 16, 4, 8], 5, None, 0.0, true",
           "f32[2, 1, 6, 4], f32[2, 9, 2, 4], f32[2, 9, 2, 4], 8, is_causal=true, scale=0.3",
           "f32[2, 3, 4, 8], f32[2, 16, 2, 8], f32[2, 16, 2, 8], 2",
           "f32[1, 3, 4, 8], f32[1, 7, 1, 8], f32[1, 7, 1, 8], 0, f32[3, 7]",
           "bf16[1, 7, 4, 8], bf16[1, 16, 2, 8], bf16[1, 16, 2, 8], 5, is_causal=true",
           "f16[1, 2, 2, 8], f16[1, 300, 2, 8], f16[1, 300, 2, 8], 298, is_causal=true"),
     &kManyTerms},
    {"llama::custom_quantized_sdpa(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, "
     "float drpout_p=0., bool is_causal=False, float? scale=None, Tensor? q_zero_points=None, Tensor? q_scales=None, "
     "Tensor? k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? v_scales=None, bool "
     "is_seq_at_dim_2=False) -> Tensor",
     infer_quantized_sdpa, decompose_quantized_sdpa, LLAMA "custom_quantized_sdpa.out", kLlmLibrary,
     Cases("i8[1, 3, 4, 8], i8[1, 9, 2, 8], i8[1, 9, 2, 8], 5, None, 0.0, true, None, i8[1, 3, 4, 1], f32[1, 3, 4, "
           "1]{range=0.01..0.1}, i8[1, 9, 2, 1], f32[1, 9, 2, 1]{range=0.01..0.1}, i8[1, 9, 2, 1], f32[1, 9, 2, "
           "1]{range=0.01..0.1}",
           "i8[1, 2, 6, 8], i8[1, 2, 9, 8], i8[1, 2, 9, 8], 0, f32[6, 9], 0.0, false, 0.2, i8[1, 2, 6, 1], f32[1, 2, "
           "6, 1]{range=0.01..0.1}, i8[1, 2, 9, 1], f32[1, 2, 9, 1]{range=0.01..0.1}, i8[1, 2, 9, 1], f32[1, 2, 9, "
           "1]{range=0.01..0.1}, true"),
     &kManyTerms},
    {"llama::sdpa_with_kv_cache(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, "
     "SymInt start_pos, SymInt seq_len, Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? "
     "scale=None) -> Tensor",
     infer_sdpa_with_cache, decompose_sdpa_with_cache, nullptr, kMutates,
     Cases("f32[1, 3, 4, 8], f32[1, 3, 2, 8], f32[1, 3, 2, 8], f32[1, 16, 2, 8], f32[1, 16, 2, 8], 5, 3, "
           "is_causal=true"),
     &kManyTerms},
    {"llama::update_cache(Tensor value, Tensor(a!) cache, SymInt start_pos) -> Tensor", infer_update_cache,
     decompose_update_cache, LLAMA "update_cache.out", kMutates | kNoResult | kLlmLibrary,
     Cases("f32[1, 2, 2, 3], f32[1, 6, 2, 3], 3", "f32[2, 4, 1, 3], f32[2, 4, 1, 3], 0")},
    {"llama::update_cache_with_indices(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices) -> Tensor",
     infer_update_cache, decompose_update_with_indices, LLAMA "update_cache_with_indices.out",
     kMutates | kNoResult | kLlmLibrary,
     Cases("f32[1, 2, 2, 3], f32[1, 6, 2, 3], 0, i64[1, 2]{=5, 0}",
           "f32[2, 2, 1, 3], f32[2, 6, 1, 3], 0, i64[2, 2]{=5, 0, 1, 2}")},
    {"llama::fast_hadamard_transform(Tensor mat) -> Tensor", infer_hadamard, decompose_hadamard,
     LLAMA "fast_hadamard_transform.out", kLlmLibrary,
     Cases("f32[3, 8]", "f32[2, 1]", "f32[2, 2, 256]", "f32[3, 28]", "f64[2, 112]", "f16[3, 16]"), &kManyTerms},
    {"llama::gated_delta_rule(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state) "
     "-> (Tensor, Tensor)",
     infer_gated_delta_rule, decompose_gated_delta_rule, LLAMA "gated_delta_rule.out", kLlmLibrary, kGatedDeltaCases,
     &kManyTerms},
    {"llama::channelwise_gated_delta_rule(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor "
     "initial_state) "
     "-> (Tensor, Tensor)",
     infer_gated_delta_rule, decompose_gated_delta_rule, LLAMA "channelwise_gated_delta_rule.out", kLlmLibrary,
     kGatedDeltaCases, &kManyTerms},
};
#undef LLAMA
const size_t kLanguageModelCount = std::size(kLanguageModelRows);

}  // namespace wick::compiler
