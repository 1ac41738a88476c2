// Fused operators of torch.nn's encoder layers: what TransformerEncoderLayer.eval() calls where no gradient is wanted.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

enum MaskType : int64_t { kOfPositions = 0, kOfKeys = 1, kOfScores = 2 };

// --- masked softmax ---

// `mask`, reshaped to broadcast with `scores`. True elements are masked. The shape of the mask by mask_type:
//   0: [rows, columns]      1: [batch, columns]      2, none: that of the scores
Value* broadcast_mask(Compose& c, const Node& node, Value* mask, const Value* scores) {
  if (mask->dtype() != DType::boolean) mask = c.compare("ne", mask, 0);
  const int64_t type = node.is_none("mask_type") ? kOfScores : node.static_integer("mask_type");
  const size_t rank = scores->rank();
  if (type == kOfScores) {
    require(mask->rank() == rank, "a mask has other dimensions than the scores");
    return mask;
  }
  require(type == kOfPositions || type == kOfKeys, "mask_type must be 0, 1 or 2");
  require(rank == 4 && mask->rank() == 2, "a mask of this type has two dimensions, the scores four");
  const Sizes& sizes = mask->sizes();
  return type == kOfPositions ? mask : c.b.reshape(mask, {sizes[0], 1, 1, sizes[1]});
}

// A fully masked row gives NaN, as in eager.
Value* masked_softmax(Compose& c, const Node& node, Value* scores, Value* mask, int64_t dim) {
  const double lowest = -std::numeric_limits<double>::infinity();
  return c.softmax(c.where(broadcast_mask(c, node, mask, scores), lowest, scores, scores->dtype()), dim);
}

void infer_masked_softmax(Node& node) {
  const Value *x = node.tensor("self"), *mask = node.tensor("mask");
  require(is_floating(x->dtype()), "masked softmax of integers");
  require(mask->dtype() == DType::boolean, "the mask of a masked softmax must be of truth values");
  set_result(node, x->dtype(), x->sizes());
}
Results decompose_masked_softmax(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const int64_t dim = node.is_none("dim") ? -1 : node.static_integer("dim");
  return {masked_softmax(c, node, x, node.tensor("mask"), wrap_dim(dim, x->rank()))};
}

// --- attention with packed weights ---

// [batch, length, heads * size] -> [batch, heads, length, size]
Value* split_heads(Compose& c, Value* x, const Sym& heads) {
  const Sizes& sizes = x->sizes();
  return c.b.permute(c.b.reshape(x, {sizes[0], sizes[1], heads, floor_div(sizes[2], heads)}), {0, 2, 1, 3});
}
Value* merge_heads(Compose& c, Value* x) {
  const Sizes& sizes = x->sizes();
  return c.b.reshape(c.b.permute(x, {0, 2, 1, 3}), {sizes[0], sizes[2], sizes[1] * sizes[3]});
}

double head_scale(const Sym& size) {
  require(size.is_const() && size.value() > 0, "attention with heads of a size that is not known");
  return 1 / std::sqrt(static_cast<double>(size.value()));
}

// Queries, keys, values: [batch, heads, length, size] each, queries not scaled.
std::array<Value*, 3> project(Compose& c, const Node& node, const std::array<Value*, 3>& inputs, const Sym& heads) {
  Builder& b = c.b;
  Value *weight = node.tensor("qkv_weight"), *bias = node.tensor("qkv_bias");
  const Sym width = floor_div(weight->sizes()[0], 3);
  const bool same = inputs[0] == inputs[1] && inputs[1] == inputs[2];
  Value* packed = same ? b.call("aten.linear", {inputs[0], weight, bias}) : nullptr;
  std::array<Value*, 3> parts{};
  for (int64_t i = 0; i < 3; ++i) {
    const Sym start = width * i, end = width * (i + 1);
    Value* part = same ? b.slice(packed, 2, start, end)
                       : b.call("aten.linear", {inputs[static_cast<size_t>(i)], b.slice(weight, 0, start, end),
                                                b.slice(bias, 0, start, end)});
    parts[static_cast<size_t>(i)] = split_heads(c, part, heads);
  }
  return parts;
}

struct Attended {
  Value* output;
  Value* weights = nullptr;  // [batch, heads, queries, keys], where they were wanted
};

Attended attend_heads(Compose& c, const Node& node, const std::array<Value*, 3>& inputs, const Sym& heads,
                      bool weighted) {
  Builder& b = c.b;
  const auto [q, k, v] = project(c, node, inputs, heads);
  Value* mask = node.optional_tensor("mask");
  Attended result{};
  Value* context;
  if (!mask && !weighted) {
    context = b.call("aten.scaled_dot_product_attention", {q, k, v});
  } else {
    Value* scores = c.matmul(c.mul(q, head_scale(q->sizes()[3])), b.transpose(k, -2, -1));
    result.weights = mask ? masked_softmax(c, node, scores, mask, 3) : c.softmax(scores, 3);
    context = c.matmul(result.weights, v);
  }
  result.output =
      b.call("aten.linear", {merge_heads(c, context), node.tensor("proj_weight"), node.tensor("proj_bias")});
  return result;
}

void check_packed(const Node& node, const Value* query, const Sym& width, const Sym& heads) {
  require_rank(query, 3, "attention");
  const Value* weight = node.tensor("qkv_weight");
  require(weight->rank() == 2, "attention: the packed weight has two dimensions");
  require_equal(query->sizes()[2], width, "attention: width of the queries");
  require_equal(weight->sizes()[0], width * 3, "attention: rows of the packed weight");
  require(heads.is_const() && heads.value() > 0, "attention: the number of heads must be known");
  if (width.is_const()) require(width.value() % heads.value() == 0, "attention: the heads do not divide the width");
}

void infer_native_attention(Node& node) {
  const Value *query = node.tensor("query"), *key = node.tensor("key");
  require_rank(key, 3, "attention");
  require_rank(node.tensor("value"), 3, "attention");
  check_packed(node, query, node.integer("embed_dim"), node.integer("num_head"));
  const Sizes& sizes = query->sizes();
  set_result(node, 0, query->dtype(), sizes);
  Sizes weights = {sizes[0], sizes[1], key->sizes()[1]};
  if (!node.boolean("average_attn_weights")) weights.insert(weights.begin() + 1, node.integer("num_head"));
  set_result(node, 1, query->dtype(), std::move(weights));
}
Results decompose_native_attention(Builder& b, Node& node) {
  Compose c(b);
  const bool weighted = node.boolean("need_weights");
  const Attended attended = attend_heads(c, node, {node.tensor("query"), node.tensor("key"), node.tensor("value")},
                                         node.integer("num_head"), weighted);
  if (!weighted) {
    require(node.result(1)->num_uses() == 0, "attention weights are read that were not asked for");
    return {attended.output, nullptr};
  }
  return {attended.output, node.boolean("average_attn_weights") ? c.mean(attended.weights, {1}) : attended.weights};
}

void infer_bias_rescale(Node& node) {
  const Value *x = node.tensor("qkv"), *bias = node.tensor("qkv_bias");
  require_rank(x, 3, "packed queries, keys and values");
  require_rank(bias, 1, "their bias");
  const Sym heads = node.integer("num_heads"), width = floor_div(x->sizes()[2], 3);
  require(heads.is_const() && heads.value() > 0, "the number of heads must be known");
  if (x->sizes()[2].is_const()) {
    const int64_t size = x->sizes()[2].value();
    require(size % heads.value() == 0 && size / heads.value() % 3 == 0, "the heads do not divide the width");
  }
  for (size_t i = 0; i < 3; ++i)
    set_result(node, i, x->dtype(), {x->sizes()[0], heads, x->sizes()[1], floor_div(width, heads)});
}
Results decompose_bias_rescale(Builder& b, Node& node) {
  Compose c(b);
  Value* sum = c.add(node.tensor("qkv"), node.tensor("qkv_bias"));
  const Sym heads = node.integer("num_heads"), width = floor_div(sum->sizes()[2], 3);
  Results parts;
  for (int64_t i = 0; i < 3; ++i) parts.push_back(split_heads(c, b.slice(sum, 2, width * i, width * (i + 1)), heads));
  parts[0] = c.mul(parts[0], head_scale(parts[0]->sizes()[3]));
  return parts;
}

// --- a whole layer ---

void infer_encoder_layer(Node& node) {
  const Value* x = node.tensor("src");
  check_packed(node, x, node.integer("embed_dim"), node.integer("num_heads"));
  set_result(node, x->dtype(), x->sizes());
}

Value* normalized(Compose& c, const Node& node, Value* x, const char* weight, const char* bias) {
  return c.b.call("aten.layer_norm",
                  {x, Ints{node.integer("embed_dim")}, node.tensor(weight), node.tensor(bias), node.real("eps")});
}

// after:   x = norm1(x + attention(x)),  norm2(x + feed_forward(x))
// before:  x = x + attention(norm1(x)),  x + feed_forward(norm2(x))
Results decompose_encoder_layer(Builder& b, Node& node) {
  Compose c(b);
  const bool before = node.boolean("norm_first");
  Value* x = node.tensor("src");
  Value* in = before ? normalized(c, node, x, "norm_weight_1", "norm_bias_1") : x;
  x = c.add(attend_heads(c, node, {in, in, in}, node.integer("num_heads"), false).output, x);
  if (!before) x = normalized(c, node, x, "norm_weight_1", "norm_bias_1");
  in = before ? normalized(c, node, x, "norm_weight_2", "norm_bias_2") : x;
  Value* hidden = b.call("aten.linear", {in, node.tensor("ffn_weight_1"), node.tensor("ffn_bias_1")});
  hidden = node.boolean("use_gelu") ? b.call("aten.gelu", {hidden}) : b.call("aten.relu", {hidden});
  x = c.add(b.call("aten.linear", {hidden, node.tensor("ffn_weight_2"), node.tensor("ffn_bias_2")}), x);
  return {before ? x : normalized(c, node, x, "norm_weight_2", "norm_bias_2")};
}

}  // namespace

#define LAYER_WEIGHTS "f32[12, 4], f32[12], f32[4, 4], f32[4], "
#define LAYER_REST "1e-5, f32[4], f32[4], f32[4], f32[4], f32[6, 4], f32[6], f32[4, 6], f32[4]"
const OpDef kTransformerRows[] = {
    {"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor "
     "qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, "
     "Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor "
     "ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
     infer_encoder_layer, decompose_encoder_layer, nullptr, kPure,
     Cases("f32[2, 5, 4], 4, 2, " LAYER_WEIGHTS "false, false, " LAYER_REST,
           "f32[2, 5, 4], 4, 1, " LAYER_WEIGHTS "true, true, " LAYER_REST,
           "f32[2, 3, 4], 4, 2, " LAYER_WEIGHTS "false, true, " LAYER_REST
           ", bool[3, 3]{=0, 1, 1, 0, 0, 1, 0, 1, 0}, 0",
           "f32[2, 3, 4], 4, 2, " LAYER_WEIGHTS "true, false, " LAYER_REST ", bool[2, 3]{=0, 0, 1, 1, 1, 0}, 1",
           "f32[2, 3, 4], 4, 2, " LAYER_WEIGHTS "true, false, " LAYER_REST
           ", f32[2, 2, 3, 3]{=0, -inf, -inf, 0, 0, -inf, 0, 0, 1}, 2"),
     &kManyTerms},
    {"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor "
     "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, "
     "bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
     infer_native_attention, decompose_native_attention, nullptr, kPure,
     Cases("f32[2, 3, 4], f32[2, 3, 4], f32[2, 3, 4], 4, 2, f32[12, 4], f32[12], f32[4, 4], f32[4]",
           "f32[2, 3, 4], f32[2, 3, 4], f32[2, 3, 4], 4, 2, f32[12, 4], f32[12], f32[4, 4], f32[4], "
           "bool[2, 3]{=0, 1, 0, 1, 0, 0}, true, false, 1",
           "f32[1, 3, 4], f32[1, 3, 4], f32[1, 3, 4], 4, 1, f32[12, 4], f32[12], f32[4, 4], f32[4], "
           "bool[3, 3]{=0, 1, 1, 1, 1, 1, 0, 0, 0}, true, true, 0"),
     &kManyTerms},
    {"aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)",
     infer_bias_rescale, decompose_bias_rescale, nullptr, kPure,
     Cases("f32[2, 3, 12], f32[12], 2", "f64[1, 2, 6], f64[6], 1")},
    {"aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor",
     infer_masked_softmax, decompose_masked_softmax, nullptr, kPure,
     Cases("f32[2, 2, 3, 3], bool[3, 3]{=0, 1, 1, 0, 0, 1, 0, 1, 0}, 3, 0",
           "f32[2, 2, 3, 3], bool[2, 3]{=0, 1, 0, 1, 1, 0}, 3, 1", "f64[2, 2, 3, 4], bool[2, 2, 3, 4], 1, 2",
           "f16[2, 3, 4, 2], bool[2, 3, 4, 2]{=0, 1}, None, 2", "! f32[2, 2, 3, 3], f32[3, 3], 3, 0")},
};
#undef LAYER_WEIGHTS
#undef LAYER_REST
const size_t kTransformerCount = std::size(kTransformerRows);

}  // namespace wick::compiler
