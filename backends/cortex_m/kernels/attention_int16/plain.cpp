// attention_int16 on cores without vectors: four outputs at a time. C++17, freestanding.
#include "backends/cortex_m/kernels/attention_int16/attention_int16.h"
#include "backends/cortex_m/kernels/isa/chosen.h"

namespace wick::cortex_m::plain {
namespace {

/// The weighted sums of columns [e, e + 4) of the values.
void four_weighted_sums(const AttentionInt16& a, const int16_t* v, int32_t count, int16_t* y) {
  int64_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  const int32_t stride = a.outputs, *const end = a.weights + count;
  for (const int32_t* weight = a.weights; weight != end; ++weight, v += stride) {
    const int64_t p = *weight;
    sum0 += p * v[0];
    sum1 += p * v[1];
    sum2 += p * v[2];
    sum3 += p * v[3];
  }
  y[0] = a.finish(sum0);
  y[1] = a.finish(sum1);
  y[2] = a.finish(sum2);
  y[3] = a.finish(sum3);
}

void weighted_sums(const AttentionInt16& a, const int16_t* v, int32_t count, int16_t* y) {
  int32_t e = 0;
  for (; e + 4 <= a.outputs; e += 4) four_weighted_sums(a, v + e, count, y + e);
  for (; e < a.outputs; ++e) {
    int64_t sum = 0;
    for (int32_t n = 0; n < count; ++n) sum += int64_t{a.weights[n]} * v[n * a.outputs + e];
    y[e] = a.finish(sum);
  }
}

}  // namespace

void attention_int16(KernelContext& context, Span<EValue*> args) {
  AttentionInt16 a;
  if (!read_attention_int16(context, args, &a)) return;
  const int32_t shift = a.score_shift();
  for (int32_t b = 0; b < a.batch; ++b) {
    const int16_t *k = a.keys_of(b), *v = a.values_of(b);
    for (int32_t m = 0; m < a.queries; ++m) {
      const int32_t row = b * a.queries + m, count = a.seen_by(m);
      const int16_t* q = a.q + row * a.features;
      for (int32_t n = 0; n < count; ++n)
        a.weights[n] = rounded_score(Isa::dot_int16(q, k + n * a.features, a.features), shift);
      mask_scores(a, b, m, a.weights, count);
      weigh_scores(a, count);
      weighted_sums(a, v, count, a.y + row * a.outputs);
    }
  }
}

}  // namespace wick::cortex_m::plain
