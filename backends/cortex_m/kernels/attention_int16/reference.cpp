// attention_int16(q, k, v, mask?, score_multiplier, score_shift, is_causal, output_multiplier, output_shift,
// activation_min, activation_max, scratch): attention of int16 tensors without zero points, with a word of scratch for
// each key. For each query:
//   s[n] = round(2^-r sum_d q[d] k[n][d]) + mask[n]   r: the least with 2^r >= D. INT32_MIN in the mask hides the key
//   e[n] = exp(2^-26 round((s[n] - max s) multiplier 2^(shift - 31))), that of softmax; of -32 at least
//   p[n] = round(2^30 e[n] / sum of e), 0 if all keys are hidden
//   y[e] = clamp(requantize(round(2^-15 sum_n p[n] v[n][e])))
// Sums are exact in 64 bits, so weights are off by what half a unit of scores is, by half a unit of 2^-30, and by a few
// units of 2^-31 of exp.
#include "backends/cortex_m/kernels/attention/attention.h"
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int32_t kWideWeightBits = 30, kSumShift = 15;

int32_t rounded(int64_t sum, int32_t shift) {
  return static_cast<int32_t>(shift == 0 ? sum : (sum + (int64_t{1} << (shift - 1))) >> shift);
}

struct AttentionInt16 : AttentionForm {
  const int16_t *q = nullptr, *k = nullptr, *v = nullptr;
  int16_t* y = nullptr;

  /// weights[0 .. count): scores become weights.
  void weigh(int32_t count) const {
    int32_t max = weights[0];
    for (int32_t n = 1; n < count; ++n) max = weights[n] > max ? weights[n] : max;
    int64_t sum = 0;
    for (int32_t n = 0; n < count; ++n) {
      const int32_t exponent = exponent_of(saturating_sub(weights[n], max), multiplier, shift);
      weights[n] = weights[n] == kHidden ? 0 : exp_of_negative(exponent);
      sum += weights[n];
    }
    if (sum == 0) return;
    const WeightScale scale = scale_of_weights(sum, kWideWeightBits);
    for (int32_t n = 0; n < count; ++n)
      weights[n] = divide_by_power_of_two(doubling_high_mul(weights[n], scale.inverse), scale.bits);
  }

  void attend(int32_t of_batch, int32_t query) const {
    const int32_t row = of_batch * queries + query, count = seen_by(query), source = of_batch / group * keys;
    const int32_t score_shift = features == 1 ? 0 : 32 - __builtin_clz(static_cast<uint32_t>(features - 1));
    const int16_t *x = q + row * features, *key = k + source * features;
    for (int32_t n = 0; n < count; ++n, key += features) {
      int64_t sum = 0;
      for (int32_t d = 0; d < features; ++d) sum += x[d] * key[d];
      weights[n] = rounded(sum, score_shift);
    }
    mask_scores(*this, of_batch, query, weights, count);
    weigh(count);
    for (int32_t e = 0; e < outputs; ++e) {
      const int16_t* value = v + source * outputs + e;
      int64_t sum = 0;
      for (int32_t n = 0; n < count; ++n, value += outputs) sum += int64_t{weights[n]} * *value;
      y[row * outputs + e] =
          clamp_int16(requantize(rounded(sum, kSumShift), stage.multiplier, stage.shift), stage.min, stage.max);
    }
  }
};

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

}  // namespace

void attention_int16(KernelContext& context, Span<EValue*> args) {
  AttentionInt16 a;
  if (!read_attention_int16(context, args, &a)) return;
  for (int32_t b = 0; b < a.batch; ++b) {
    for (int32_t m = 0; m < a.queries; ++m) a.attend(b, m);
  }
}

}  // namespace wick::cortex_m::reference
