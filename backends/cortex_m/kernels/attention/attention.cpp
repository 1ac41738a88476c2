#include "backends/cortex_m/kernels/attention/attention.h"

#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {
namespace {

bool check_sizes(KernelContext& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                 DType dtype) {
  for (const Tensor* each : {&q, &k, &v, &out}) {
    if (!require_dtype(context, *each, dtype, dtype == DType::i8 ? "a tensor is not int8" : "a tensor is not int16") ||
        !require(context, each->rank == 3 && is_contiguous(*each), "a tensor is not contiguous with 3 dimensions"))
      return false;
  }
  return require(context,
                 k.sizes[0] == v.sizes[0] && q.sizes[0] == out.sizes[0] && q.sizes[1] == out.sizes[1] &&
                     k.sizes[1] == v.sizes[1] && q.sizes[2] == k.sizes[2] && v.sizes[2] == out.sizes[2],
                 "wanted a query [B, M, D], keys [G, N, D], values [G, N, E] and an output [B, M, E]") &&
         require(context, q.sizes[0] == 0 || (k.sizes[0] > 0 && q.sizes[0] % k.sizes[0] == 0),
                 "the batch of the query is no multiple of that of the keys") &&
         require(context, k.sizes[1] > 0 && k.sizes[1] <= kMostKeys && k.sizes[2] > 0 && k.sizes[2] <= kMostFeatures,
                 "wanted 1 to 32768 keys of 1 to 32768 features");
}

/// Reads `mask_bits`. Scores with so many additional fractional bits must fit 31 bits.
bool read_mask_bits(KernelContext& context, const EValue& mask, const EValue& value, int32_t features, int32_t* bits) {
  constexpr int32_t kMostScore = 255 * 128;  // largest score, for one feature
  return mask.is_none() || (read_int(context, value, 0, 30, bits, "the bits of the mask are outside 0 to 30") &&
                            require(context, int64_t{features} * kMostScore <= (int64_t{1} << 30) >> *bits,
                                    "the bits of the mask leave no room for the scores"));
}

}  // namespace

bool read_attention_sizes(KernelContext& context, Span<EValue*> args, const Tensor& out, DType dtype,
                          AttentionForm* form) {
  const Tensor &q = *args[0]->tensor, &k = *args[1]->tensor, &v = *args[2]->tensor;
  if (!check_sizes(context, q, k, v, out, dtype)) return false;
  form->batch = q.sizes[0];
  form->queries = q.sizes[1];
  form->features = q.sizes[2];
  form->keys = k.sizes[1];
  form->outputs = v.sizes[2];
  if (k.sizes[0] > 0) form->group = form->batch / k.sizes[0];
  return true;
}

// The mask is [B or 1, M or 1, N], int32 or boolean.
bool read_attention_mask(KernelContext& context, const EValue& value, int32_t bits, AttentionForm* form) {
  if (value.is_none()) return true;
  const Tensor& mask = *value.tensor;
  AttentionMask* to = &form->mask;
  to->bits = bits;
  if (!require(context,
               mask.rank == 3 && is_contiguous(mask) && (mask.sizes[0] == 1 || mask.sizes[0] == form->batch) &&
                   (mask.sizes[1] == 1 || mask.sizes[1] == form->queries) && mask.sizes[2] == form->keys,
               "wanted a contiguous mask [B, M, N], with 1 for B or M where all have the same"))
    return false;
  to->query_step = mask.sizes[1] == 1 ? 0 : mask.sizes[2];
  to->batch_step = mask.sizes[0] == 1 ? 0 : mask.sizes[1] * mask.sizes[2];
  if (mask.dtype == DType::boolean)
    to->seen = mask.as<const uint8_t>();
  else if (require_dtype(context, mask, DType::i32, "the mask is neither int32 nor boolean"))
    to->added = mask.as<const int32_t>();
  else
    return false;
  return true;
}

bool read_score_factor(KernelContext& context, const EValue& multiplier, const EValue& shift, AttentionForm* form) {
  OutputStage score;
  if (!read_requantization(context, multiplier.integer, shift.integer, &score)) return false;
  form->multiplier = score.multiplier;
  form->shift = score.shift;
  return require(context, score.multiplier >= 0, "the multiplier of the scores is negative");
}

bool read_attention(KernelContext& context, Span<EValue*> args, Attention* attention) {
  const Tensor& out = *args[14]->tensor;
  int32_t query_zero = 0, value_zero = 0, mask_bits = 0;
  if (!read_attention_sizes(context, args, out, DType::i8, attention) ||
      !read_zero_point(context, *args[5], &query_zero) || !read_zero_point(context, *args[6], &value_zero) ||
      !read_score_factor(context, *args[7], *args[8], attention) ||
      !read_zero_point(context, *args[10], &attention->stage.offset) ||
      !read_requantization(context, args[11]->integer, args[12]->integer, &attention->stage))
    return false;
  attention->query_offset = -query_zero;
  attention->value_offset = -value_zero;
  attention->is_causal = args[9]->boolean;
  attention->q = args[0]->tensor->as<const int8_t>();
  attention->k = args[1]->tensor->as<const int8_t>();
  attention->v = args[2]->tensor->as<const int8_t>();
  attention->y = out.as<int8_t>();
  const int64_t words = attention->keys + feature_words(attention->features);
  return read_mask_bits(context, *args[3], *args[4], attention->features, &mask_bits) &&
         read_attention_mask(context, *args[3], mask_bits, attention) &&
         read_scratch_words(context, args, 13, words, &attention->weights);
}

void mask_scores(const AttentionForm& attention, int32_t batch, int32_t query, int32_t* scores, int32_t count) {
  const AttentionMask& mask = attention.mask;
  const int32_t at = batch * mask.batch_step + query * mask.query_step;
  if (mask.seen != nullptr) {
    for (int32_t n = 0; n < count; ++n) scores[n] = mask.seen[at + n] != 0 ? scores[n] : kHidden;
  } else if (mask.added != nullptr) {
    const int32_t unit = int32_t{1} << mask.bits;
    for (int32_t n = 0; n < count; ++n) {
      const int32_t added = mask.added[at + n];
      const int64_t sum = int64_t{scores[n] * unit} + added;
      const int64_t bounded = sum > INT32_MAX ? INT32_MAX : sum <= kHidden ? kHidden + 1 : sum;
      scores[n] = added == kHidden ? kHidden : static_cast<int32_t>(bounded);
    }
  }
}

int32_t weights_of_scores(const Attention& attention, int32_t* scores, int32_t count) {
  const int32_t left = attention.shift > 0 ? attention.shift : 0, right = left - attention.shift;
  int32_t max = scores[0];
  for (int32_t n = 1; n < count; ++n) max = scores[n] > max ? scores[n] : max;
  int64_t sum = 0;
  for (int32_t n = 0; n < count; ++n) {
    const int32_t difference = saturating_shift(saturating_sub(scores[n], max), left);
    const int32_t exponent = divide_by_power_of_two(doubling_high_mul(difference, attention.multiplier), right);
    scores[n] = scores[n] == kHidden ? 0 : exp_of_negative(exponent);
    sum += scores[n];
  }
  if (sum == 0) return 0;  // all keys are hidden
  const WeightScale scale = scale_of_weights(sum, kWeightBits);
  int32_t total = 0;
  for (int32_t n = 0; n < count; ++n)
    total += scores[n] = divide_by_power_of_two(doubling_high_mul(scores[n], scale.inverse), scale.bits);
  return total;
}

}  // namespace wick::cortex_m
