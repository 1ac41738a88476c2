#include "backends/cortex_m/kernels/attention/attention.h"

#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {
namespace {

bool check_sizes(KernelContext& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out) {
  for (const Tensor* each : {&q, &k, &v, &out}) {
    if (!require_dtype(context, *each, DType::i8, "a tensor is not int8") ||
        !require(context, each->rank == 3 && is_contiguous(*each), "a tensor is not contiguous with 3 dimensions"))
      return false;
  }
  return require(context,
                 q.sizes[0] == k.sizes[0] && q.sizes[0] == v.sizes[0] && q.sizes[0] == out.sizes[0] &&
                     q.sizes[1] == out.sizes[1] && k.sizes[1] == v.sizes[1] && q.sizes[2] == k.sizes[2] &&
                     v.sizes[2] == out.sizes[2],
                 "wanted a query [B, M, D], keys [B, N, D], values [B, N, E] and an output [B, M, E]") &&
         require(context, k.sizes[1] > 0 && k.sizes[1] <= kMostKeys && k.sizes[2] > 0 && k.sizes[2] <= kMostFeatures,
                 "wanted 1 to 32768 keys of 1 to 32768 features");
}

bool read_scratch(KernelContext& context, const Tensor& scratch, Attention* attention) {
  const size_t words = static_cast<size_t>(attention->keys + feature_words(attention->features));
  if (!require(context, !scratch.read_only && scratch.nbytes() / sizeof(int32_t) >= words,
               "the scratch tensor has no word for each key and feature") ||
      !require(context, reinterpret_cast<uintptr_t>(scratch.data) % sizeof(int32_t) == 0,
               "the scratch tensor is not aligned to words"))
    return false;
  attention->weights = scratch.as<int32_t>();
  return true;
}

}  // namespace

bool read_attention(KernelContext& context, Span<EValue*> args, Attention* attention) {
  const Tensor &q = *args[0]->tensor, &k = *args[1]->tensor, &v = *args[2]->tensor, &out = *args[12]->tensor;
  OutputStage score;
  int32_t query_zero = 0, value_zero = 0;
  if (!check_sizes(context, q, k, v, out) || !read_zero_point(context, *args[3], &query_zero) ||
      !read_zero_point(context, *args[4], &value_zero) ||
      !read_requantization(context, args[5]->integer, args[6]->integer, &score) ||
      !require(context, score.multiplier >= 0, "the multiplier of the scores is negative") ||
      !read_zero_point(context, *args[8], &attention->stage.offset) ||
      !read_requantization(context, args[9]->integer, args[10]->integer, &attention->stage))
    return false;
  attention->query_offset = -query_zero;
  attention->value_offset = -value_zero;
  attention->multiplier = score.multiplier;
  attention->shift = score.shift;
  attention->is_causal = args[7]->boolean;
  attention->batch = q.sizes[0];
  attention->queries = q.sizes[1];
  attention->features = q.sizes[2];
  attention->keys = k.sizes[1];
  attention->outputs = v.sizes[2];
  attention->q = q.as<const int8_t>();
  attention->k = k.as<const int8_t>();
  attention->v = v.as<const int8_t>();
  attention->y = out.as<int8_t>();
  return read_scratch(context, *args[11]->tensor, attention);
}

int32_t weights_of_scores(const Attention& attention, int32_t* scores, int32_t count) {
  const int32_t left = attention.shift > 0 ? attention.shift : 0, right = left - attention.shift;
  int32_t max = scores[0];
  for (int32_t n = 1; n < count; ++n) max = scores[n] > max ? scores[n] : max;
  int64_t sum = 0;
  for (int32_t n = 0; n < count; ++n) {
    const int32_t high = doubling_high_mul(saturating_shift(scores[n] - max, left), attention.multiplier);
    scores[n] = exp_of_negative(divide_by_power_of_two(high, right));
    sum += scores[n];
  }
  const WeightScale scale = scale_of_weights(sum);
  int32_t total = 0;
  for (int32_t n = 0; n < count; ++n)
    total += scores[n] = divide_by_power_of_two(doubling_high_mul(scores[n], scale.inverse), scale.bits);
  return total;
}

}  // namespace wick::cortex_m
