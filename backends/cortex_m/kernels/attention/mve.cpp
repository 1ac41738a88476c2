// attention, four keys or sixteen outputs at a time. The equation: reference.cpp.
#include "backends/cortex_m/kernels/attention/attention.h"
#include "backends/cortex_m/kernels/mve/exponential.h"

namespace wick::cortex_m::mve {
namespace {

/// sum_d (q[d] + offset) k[d] for four keys, `stride` bytes apart.
void four_scores(const int8_t* q, const int8_t* k, int32_t stride, int32_t depth, int32_t offset, int32_t* scores) {
  int32_t dots[4] = {0, 0, 0, 0}, sums[4] = {0, 0, 0, 0};
  const int8_t *k1 = k + stride, *k2 = k1 + stride, *k3 = k2 + stride;
  for (int32_t d = 0; d < depth; d += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(depth - d));
    const int8x16_t x = vldrbq_z_s8(q + d, live);
    const int8x16_t y0 = vldrbq_z_s8(k + d, live), y1 = vldrbq_z_s8(k1 + d, live), y2 = vldrbq_z_s8(k2 + d, live),
                    y3 = vldrbq_z_s8(k3 + d, live);
    dots[0] = vmladavaq_s8(dots[0], x, y0);
    dots[1] = vmladavaq_s8(dots[1], x, y1);
    dots[2] = vmladavaq_s8(dots[2], x, y2);
    dots[3] = vmladavaq_s8(dots[3], x, y3);
    sums[0] = vaddvaq_s8(sums[0], y0);
    sums[1] = vaddvaq_s8(sums[1], y1);
    sums[2] = vaddvaq_s8(sums[2], y2);
    sums[3] = vaddvaq_s8(sums[3], y3);
  }
  for (int32_t i = 0; i < 4; ++i) scores[i] = dots[i] + offset * sums[i];
}

void scores_of(const Attention& a, const int8_t* q, const int8_t* k, int32_t count) {
  const int32_t depth = a.features;
  int32_t n = 0;
  for (; n + 4 <= count; n += 4) four_scores(q, k + n * depth, depth, depth, a.query_offset, a.weights + n);
  for (; n < count; ++n) {
    int32_t four[4];
    four_scores(q, k + n * depth, 0, depth, a.query_offset, four);
    a.weights[n] = four[0];
  }
}

/// weights_of_scores(), vectorized.
int32_t weights_of(const Attention& a, int32_t* scores, int32_t count) {
  const int32_t left = a.shift > 0 ? a.shift : 0, right = a.shift - left;
  int32_t max = INT32_MIN;
  for (int32_t n = 0; n < count; n += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
    max = vmaxvq_p_s32(max, vldrwq_z_s32(scores + n, live), live);
  }
  if (max == kHidden) {
    fill_bytes(reinterpret_cast<int8_t*>(scores), 0, count * static_cast<int32_t>(sizeof(int32_t)));
    return 0;
  }
  int64_t sum = 0;
  for (int32_t n = 0; n < count; n += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
    const int32x4_t score = vldrwq_z_s32(scores + n, live);
    const int32x4_t difference = vqsubq_n_s32(score, max);
    int32x4_t x = vqrdmulhq_n_s32(vqshlq_r_s32(difference, left), a.multiplier);
    if (right < 0) x = divide_rounding(x, right);
    const int32x4_t value = vdupq_m_n_s32(exp_of_negative(x), 0, vcmpeqq_n_s32(score, kHidden));
    vstrwq_p_s32(scores + n, value, live);
    sum = vaddlvaq_p_s32(sum, value, live);
  }
  const WeightScale scale = scale_of_weights(sum, kWeightBits);
  int32_t total = 0;
  for (int32_t n = 0; n < count; n += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - n));
    const int32x4_t value = vqrdmulhq_n_s32(vldrwq_z_s32(scores + n, live), scale.inverse);
    const int32x4_t weight = vrshlq_n_s32(value, -scale.bits);
    vstrwq_p_s32(scores + n, weight, live);
    total = vaddvaq_p_s32(total, weight, live);
  }
  return total;
}

void write_four(const Attention& a, int32x4_t sums, int8_t* y, mve_pred16_t live) {
  const int32x4_t scaled = vaddq_n_s32(requantize_any(sums, a.stage.multiplier, a.stage.shift), a.stage.offset);
  vstrbq_p_s32(y, clamp(scaled, vdupq_n_s32(INT8_MIN), vdupq_n_s32(INT8_MAX)), live);
}

void sums_of(const Attention& a, const int8_t* v, int32_t count, int32_t initial, int8_t* y) {
  const int32_t stride = a.outputs;
  int32_t e = 0;
  for (; e + 16 <= stride; e += 16) {
    int32x4_t sum0 = vdupq_n_s32(initial), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    const int8_t* at = v + e;
    for (int32_t n = 0; n < count; ++n, at += stride) {
      const int32_t weight = a.weights[n];
      sum0 = vmlaq_n_s32(sum0, vldrbq_s32(at), weight);
      sum1 = vmlaq_n_s32(sum1, vldrbq_s32(at + 4), weight);
      sum2 = vmlaq_n_s32(sum2, vldrbq_s32(at + 8), weight);
      sum3 = vmlaq_n_s32(sum3, vldrbq_s32(at + 12), weight);
    }
    const mve_pred16_t all = vctp32q(4);
    write_four(a, sum0, y + e, all);
    write_four(a, sum1, y + e + 4, all);
    write_four(a, sum2, y + e + 8, all);
    write_four(a, sum3, y + e + 12, all);
  }
  for (; e < stride; e += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(stride - e));
    int32x4_t sum = vdupq_n_s32(initial);
    const int8_t* at = v + e;
    for (int32_t n = 0; n < count; ++n, at += stride) sum = vmlaq_n_s32(sum, vldrbq_z_s32(at, live), a.weights[n]);
    write_four(a, sum, y + e, live);
  }
}

}  // namespace

void attention(KernelContext& context, Span<EValue*> args) {
  Attention a;
  if (!read_attention(context, args, &a)) return;
  for (int32_t b = 0; b < a.batch; ++b) {
    const int8_t *k = a.keys_of(b), *v = a.values_of(b);
    for (int32_t m = 0; m < a.queries; ++m) {
      const int32_t row = b * a.queries + m, count = a.seen_by(m);
      scores_of(a, a.q + row * a.features, k, count);
      mask_scores(a, b, m, a.weights, count);
      const int32_t total = weights_of(a, a.weights, count);
      sums_of(a, v, count, total * a.value_offset, a.y + row * a.outputs);
    }
  }
}

}  // namespace wick::cortex_m::mve
