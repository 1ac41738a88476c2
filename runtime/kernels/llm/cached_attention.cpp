// Attention over a cache of keys and values [batch, length, heads, features], and the attention of a step together with
// the update of both caches.
// Without a mask, query i stands at position start_pos + i: keys from start_pos + queries on are not read, and
// is_causal hides those after the query's own. A mask [queries, length] is added to the scores of all keys instead.
// Query heads in a row share a key head. Dropout is ignored. A row that the mask hides completely gives NaN.
// In int8, every row of query, key and value has a scale and a zero point; `is_seq_at_dim_2` swaps length and heads.
//   Source: llama::custom_sdpa, custom_quantized_sdpa, sdpa_with_kv_cache of ExecuTorch's library of LLM operators.
#include "common/math/math.h"
#include "runtime/kernels/llm/cache.h"
#include "runtime/kernels/neural/attention/attention_blocks.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace kernels {
namespace {

/// Scales f32 and zero points i8 of each row of a matrix.
struct RowParameters {
  const Tensor *scales = nullptr, *zero_points = nullptr;
};

struct CachedAttention {
  const Tensor *query, *key, *value;
  RowParameters of_query, of_key, of_value;
  const EValue *mask, *scale;
  int64_t start_pos = 0;
  bool causal = false, length_second = true;  // [batch, length, heads, features]; else [batch, heads, length, features]
  Tensor* out;
  int length_dim() const { return length_second ? 1 : 2; }
  int heads_dim() const { return length_second ? 2 : 1; }
};

bool check_sizes(KernelContext& context, const CachedAttention& c) {
  const Tensor &q = *c.query, &k = *c.key, &v = *c.value;
  const int length = c.length_dim(), heads = c.heads_dim();
  const bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && q.sizes[0] == k.sizes[0] && q.sizes[0] == v.sizes[0] &&
                    k.sizes[length] == v.sizes[length] && k.sizes[heads] == v.sizes[heads] &&
                    q.sizes[3] == k.sizes[3] && q.sizes[3] == v.sizes[3];
  if (!require(context, fits, Error::InvalidArgument,
               "cached attention: query, key and value of rank 4 must agree in all but length and query heads"))
    return false;
  const bool multiple = k.sizes[heads] > 0 ? q.sizes[heads] % k.sizes[heads] == 0 : q.sizes[heads] == 0;
  if (!require(context, multiple, Error::InvalidArgument,
               "cached attention: the query heads are not a multiple of the key heads"))
    return false;
  return require(context, is_contiguous(q) && is_contiguous(k) && is_contiguous(v), Error::NotSupported,
                 "cached attention: query, key and value must be row-major");
}

bool check_types(KernelContext& context, const CachedAttention& c, bool quantized) {
  const DType dtype = c.query->dtype;
  const bool known =
      quantized ? dtype == DType::i8 : dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  return require(
      context,
      known && c.key->dtype == dtype && c.value->dtype == dtype && c.out->dtype == (quantized ? DType::f32 : dtype),
      Error::InvalidType,
      quantized ? "cached attention: wanted query, key and value in int8, out in f32"
                : "cached attention: wanted query, key, value and out in one of f32, f16 and bf16");
}

bool check_parameters(KernelContext& context, const Tensor& x, const RowParameters& p) {
  const char* const message = "cached attention: wanted f32 scales and int8 zero points for each row";
  if (!require(context, p.scales && p.zero_points, Error::InvalidArgument, message)) return false;
  for (const Tensor* t : {p.scales, p.zero_points}) {
    bool fits = t->rank == 4 && is_contiguous(*t) && t->dtype == (t == p.scales ? DType::f32 : DType::i8);
    for (int d = 0; fits && d < 4; ++d) fits = t->sizes[d] == (d == 3 ? 1 : x.sizes[d]);
    if (!require(context, fits, Error::InvalidArgument, message)) return false;
  }
  return true;
}

/// The number of keys that are read. Fails the context if there are fewer.
bool read_positions(KernelContext& context, const CachedAttention& c, Attention& a) {
  const int64_t length = c.key->sizes[c.length_dim()];
  a.keys = length;
  if (!c.mask->is_none()) {
    const Tensor& mask = *c.mask->tensor;
    if (!require(context, !c.causal, Error::InvalidArgument, "cached attention: is_causal together with a mask"))
      return false;
    const bool fits = mask.rank == 2 && mask.dtype == DType::f32 && is_contiguous(mask) && mask.sizes[0] == a.queries &&
                      mask.sizes[1] == length;
    if (!require(context, fits, Error::InvalidArgument, "cached attention: wanted an f32 mask [queries, keys]"))
      return false;
    if (mask.numel != 0) a.mask.data = mask.data;
    a.mask.row_stride = mask.strides[0];
    a.mask.column_stride = 1;
    return true;
  }
  if (!require(context, c.start_pos >= 0 && c.start_pos <= length && a.queries <= length - c.start_pos,
               Error::InvalidArgument, "cached attention: start_pos is outside the cache"))
    return false;
  a.keys = c.start_pos + a.queries;
  a.causal = c.causal;
  a.first_position = c.start_pos;
  return true;
}

void read_strides(const CachedAttention& c, const Tensor& tensor, int64_t* heads, int64_t* row) {
  heads[0] = tensor.strides[0];
  heads[1] = tensor.strides[c.heads_dim()];
  *row = tensor.strides[c.length_dim()];
}
void read_matrices(const CachedAttention& c, const Tensor& tensor, const RowParameters& parameters, HeadMatrices& out) {
  out.data = tensor.data;
  out.dtype = tensor.dtype;
  read_strides(c, tensor, out.head_strides, &out.row_stride);
  if (!parameters.scales) return;
  out.scales = parameters.scales->as<float>();
  out.zero_points = parameters.zero_points->as<int8_t>();
  read_strides(c, *parameters.scales, out.parameter_head_strides, &out.parameter_row_stride);
}

void run(KernelContext& context, const CachedAttention& c, bool quantized) {
  if (!check_sizes(context, c) || !check_types(context, c, quantized)) return;
  if (quantized && (!check_parameters(context, *c.query, c.of_query) || !check_parameters(context, *c.key, c.of_key) ||
                    !check_parameters(context, *c.value, c.of_value)))
    return;
  const Tensor& q = *c.query;
  Attention a;
  a.queries = q.sizes[c.length_dim()];
  if (!read_positions(context, c, a)) return;
  if (!resize_or_fail(context, *c.out, q.sizes, 4, "cached attention: out has a different shape")) return;
  if (!require(context, is_contiguous(*c.out), Error::NotSupported, "cached attention: out must be row-major")) return;
  if (c.out->numel == 0) return;
  a.lead = 2;
  a.lead_sizes[0] = q.sizes[0];
  a.lead_sizes[1] = q.sizes[c.heads_dim()];
  a.group = a.lead_sizes[1] / c.key->sizes[c.heads_dim()];
  a.width = a.value_width = q.sizes[3];
  read_matrices(c, q, c.of_query, a.query);
  read_matrices(c, *c.key, c.of_key, a.key);
  read_matrices(c, *c.value, c.of_value, a.value);
  a.out = c.out->data;
  a.out_dtype = c.out->dtype;
  read_strides(c, *c.out, a.out_head_strides, &a.out_row_stride);
  a.scale = c.scale->is_none() ? 1.0f / math::sqrt(static_cast<float>(a.width)) : static_cast<float>(c.scale->real);
  a.empty_rows_are_nan = true;
  attend(context, a);
}

const Tensor* optional_tensor(const EValue& value) { return value.is_none() ? nullptr : value.tensor; }

}  // namespace

// (query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, out)
void custom_sdpa(KernelContext& context, Span<EValue*> args) {
  CachedAttention c{args[0]->tensor,
                    args[1]->tensor,
                    args[2]->tensor,
                    {},
                    {},
                    {},
                    args[4],
                    args[7],
                    args[3]->integer,
                    args[6]->boolean,
                    true,
                    args[8]->tensor};
  run(context, c, false);
}

// (query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, q_zero_points, q_scales, k_zero_points,
// k_scales, v_zero_points, v_scales, is_seq_at_dim_2, out)
void custom_quantized_sdpa(KernelContext& context, Span<EValue*> args) {
  const bool quantized = args[0]->tensor->dtype == DType::i8;
  const auto parameters = [&](size_t zero_points) {  // float operands do not use them
    return quantized ? RowParameters{optional_tensor(*args[zero_points + 1]), optional_tensor(*args[zero_points])}
                     : RowParameters();
  };
  CachedAttention c{args[0]->tensor,    args[1]->tensor, args[2]->tensor, parameters(8),    parameters(10),
                    parameters(12),     args[4],         args[7],         args[3]->integer, args[6]->boolean,
                    !args[14]->boolean, args[15]->tensor};
  run(context, c, quantized);
}

// (query, key, value, key_cache, value_cache, start_pos, seq_len, attn_mask, drpout_p, is_causal, scale, out)
void sdpa_with_kv_cache(KernelContext& context, Span<EValue*> args) {
  const Tensor &key = *args[1]->tensor, &value = *args[2]->tensor;
  const int64_t start_pos = args[5]->integer;
  const bool lengths =
      key.rank == 4 && value.rank == 4 && key.sizes[1] == args[6]->integer && value.sizes[1] == args[6]->integer;
  if (!require(context, lengths, Error::InvalidArgument,
               "sdpa_with_kv_cache: seq_len is not the length of key and value"))
    return;
  // Checks everything before it writes anything.
  if (!check_cache(context, key, *args[3]->tensor) || !check_cache(context, value, *args[4]->tensor) ||
      !check_cache_range(context, key, *args[3]->tensor, start_pos) ||
      !check_cache_range(context, value, *args[4]->tensor, start_pos))
    return;
  write_cache(key, *args[3]->tensor, start_pos);
  write_cache(value, *args[4]->tensor, start_pos);
  CachedAttention c{args[0]->tensor,
                    args[3]->tensor,
                    args[4]->tensor,
                    {},
                    {},
                    {},
                    args[7],
                    args[10],
                    start_pos,
                    args[9]->boolean,
                    true,
                    args[11]->tensor};
  run(context, c, false);
}

}  // namespace kernels
}  // namespace wick
