// attention_int16, two keys or one output at a time. The equation: reference.cpp.
#include "backends/cortex_m/kernels/attention_int16/attention_int16.h"
#include "backends/cortex_m/kernels/mve/exponential.h"

namespace wick::cortex_m::mve {
namespace {

/// sum_d q[d] k[d] for two keys, `stride` elements apart, rounded.
void two_scores(const int16_t* q, const int16_t* k, int32_t stride, int32_t depth, int32_t shift, int32_t* scores) {
  int64_t first = 0, second = 0;
  const int16_t* next = k + stride;
  for (int32_t d = 0; d < depth; d += 8) {
    const mve_pred16_t live = vctp16q(static_cast<uint32_t>(depth - d));
    const int16x8_t x = vldrhq_z_s16(q + d, live);
    first = vmlaldavaq_s16(first, x, vldrhq_z_s16(k + d, live));
    second = vmlaldavaq_s16(second, x, vldrhq_z_s16(next + d, live));
  }
  scores[0] = rounded_score(first, shift);
  scores[1] = rounded_score(second, shift);
}

void scores_of(const AttentionInt16& a, const int16_t* q, const int16_t* k, int32_t count) {
  const int32_t depth = a.features, shift = a.score_shift();
  int32_t n = 0;
  for (; n + 2 <= count; n += 2) two_scores(q, k + n * depth, depth, depth, shift, a.weights + n);
  if (n == count) return;
  int32_t scores[2];
  two_scores(q, k + n * depth, 0, depth, shift, scores);
  a.weights[n] = scores[0];
}

/// weigh_scores(), vectorized.
void weigh(int32_t* scores, int32_t count, const Exponents& exponents) {
  int32_t max = INT32_MIN;
  for (int32_t n = 0; n < count; n += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
    max = vmaxvq_p_s32(max, vldrwq_z_s32(scores + n, live), live);
  }
  if (max == kHidden) return fill_bytes(reinterpret_cast<int8_t*>(scores), 0, 4 * count);
  int64_t sum = 0;
  for (int32_t n = 0; n < count; n += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
    const int32x4_t score = vldrwq_z_s32(scores + n, live);
    const int32x4_t weight = exp_of_negative(exponents(vqsubq_n_s32(score, max)));
    const int32x4_t seen = vdupq_m_n_s32(weight, 0, vcmpeqq_n_s32(score, kHidden));
    vstrwq_p_s32(scores + n, seen, live);
    sum = vaddlvaq_p_s32(sum, seen, live);
  }
  const WeightScale scale = scale_of_weights(sum, kWideWeightBits);
  for (int32_t n = 0; n < count; n += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
    const int32x4_t weight = vqrdmulhq_n_s32(vldrwq_z_s32(scores + n, live), scale.inverse);
    vstrwq_p_s32(scores + n, vrshlq_n_s32(weight, -scale.bits), live);
  }
}

/// Weighted sums, for the values of four keys at a time, which are `outputs` elements apart.
void sums_of(const AttentionInt16& a, const int16_t* v, int32_t count, int16_t* y) {
  const int32_t stride = a.outputs;
  const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(stride));
  for (int32_t e = 0; e < stride; ++e) {
    const int16_t* from = v + e;
    int64_t sum = 0;
    for (int32_t n = 0; n < count; n += 4, from += 4 * stride) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
      const int32x4_t values = vldrhq_gather_shifted_offset_z_s32(from, places, live);
      sum = vmlaldavaq_s32(sum, values, vldrwq_z_s32(a.weights + n, live));
    }
    y[e] = a.finish(sum);
  }
}

}  // namespace

void attention_int16(KernelContext& context, Span<EValue*> args) {
  AttentionInt16 a;
  if (!read_attention_int16(context, args, &a)) return;
  const Exponents exponents(a.multiplier, a.shift);
  for (int32_t b = 0; b < a.batch; ++b) {
    const int16_t *k = a.keys_of(b), *v = a.values_of(b);
    for (int32_t m = 0; m < a.queries; ++m) {
      const int32_t row = b * a.queries + m, count = a.seen_by(m);
      scores_of(a, a.q + row * a.features, k, count);
      mask_scores(a, b, m, a.weights, count);
      weigh(a.weights, count, exponents);
      sums_of(a, v, count, a.y + row * a.outputs);
    }
  }
}

}  // namespace wick::cortex_m::mve
