#include "backends/cortex_m/kernels/attention_int16/attention_int16.h"

#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m {

bool read_attention_int16(KernelContext& context, Span<EValue*> args, AttentionInt16* a) {
  const Tensor& out = *args[12]->tensor;
  if (!read_attention_sizes(context, args, out, DType::i16, a) || !read_score_factor(context, *args[4], *args[5], a) ||
      !read_requantization(context, args[7]->integer, args[8]->integer, &a->stage) ||
      !read_int16_range(context, *args[9], *args[10], &a->stage.min, &a->stage.max) ||
      !read_attention_mask(context, *args[3], 0, a) || !read_scratch_words(context, args, 11, a->keys, &a->weights))
    return false;
  a->is_causal = args[6]->boolean;
  a->q = args[0]->tensor->as<const int16_t>();
  a->k = args[1]->tensor->as<const int16_t>();
  a->v = args[2]->tensor->as<const int16_t>();
  a->y = out.as<int16_t>();
  return true;
}

void weigh_scores(const AttentionInt16& a, int32_t count) {
  int32_t max = a.weights[0];
  for (int32_t n = 1; n < count; ++n) max = a.weights[n] > max ? a.weights[n] : max;
  int64_t sum = 0;
  for (int32_t n = 0; n < count; ++n) {
    const int32_t exponent = exponent_of(saturating_sub(a.weights[n], max), a.multiplier, a.shift);
    a.weights[n] = a.weights[n] == kHidden ? 0 : exp_of_negative(exponent);
    sum += a.weights[n];
  }
  if (sum == 0) return;
  const WeightScale scale = scale_of_weights(sum, kWideWeightBits);
  for (int32_t n = 0; n < count; ++n)
    a.weights[n] = divide_by_power_of_two(doubling_high_mul(a.weights[n], scale.inverse), scale.bits);
}

}  // namespace wick::cortex_m
