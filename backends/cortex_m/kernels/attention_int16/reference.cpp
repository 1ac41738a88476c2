// attention_int16(q, k, v, mask?, score_multiplier, score_shift, is_causal, output_multiplier, output_shift,
// activation_min, activation_max, scratch): attention of int16 tensors without zero points; scratch has a word for each
// key. For each query:
//   s[n] = round(2^-r sum_d q[d] k[n][d]) + mask[n]   r: the least with 2^r >= D. INT32_MIN in the mask hides the key
//   e[n] = exp(2^-26 round((s[n] - max s) multiplier 2^(shift - 31))), softmax's; the exponent is at least -32
//   p[n] = round(2^30 e[n] / sum of e), 0 if all keys are hidden
//   y[e] = clamp(requantize(round(2^-15 sum_n p[n] v[n][e])))
// Sums are exact in 64 bits. The error of a weight is that of half a unit of scores, plus half a unit of 2^-30, plus a
// few units of 2^-31 because of exp.
#include "backends/cortex_m/kernels/attention_int16/attention_int16.h"

namespace wick::cortex_m::reference {
namespace {

void attend(const AttentionInt16& a, int32_t batch, int32_t query) {
  const int32_t row = batch * a.queries + query, count = a.seen_by(query);
  const int16_t *x = a.q + row * a.features, *key = a.keys_of(batch);
  for (int32_t n = 0; n < count; ++n, key += a.features)
    a.weights[n] = rounded_score(dot_int16(x, key, a.features), a.score_shift());
  mask_scores(a, batch, query, a.weights, count);
  weigh_scores(a, count);
  for (int32_t e = 0; e < a.outputs; ++e) {
    const int16_t* value = a.values_of(batch) + e;
    int64_t sum = 0;
    for (int32_t n = 0; n < count; ++n, value += a.outputs) sum += int64_t{a.weights[n]} * *value;
    a.y[row * a.outputs + e] = a.finish(sum);
  }
}

}  // namespace

void attention_int16(KernelContext& context, Span<EValue*> args) {
  AttentionInt16 a;
  if (!read_attention_int16(context, args, &a)) return;
  for (int32_t b = 0; b < a.batch; ++b) {
    for (int32_t m = 0; m < a.queries; ++m) attend(a, b, m);
  }
}

}  // namespace wick::cortex_m::reference
