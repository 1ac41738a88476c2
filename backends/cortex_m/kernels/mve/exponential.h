// exp in fixed point, four numbers at a time. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {

/// exp_of_negative() of softmax.h, vectorized.
inline int32x4_t exp_of_negative(int32x4_t x) {
  constexpr int32_t kQuarterBits = 24, kExpOfEighth = 1895147668, kOneThird = 715827883;
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int32x4_t rest = vsubq_n_s32(vandq_s32(x, vdupq_n_s32((1 << kQuarterBits) - 1)), 1 << kQuarterBits);
  const int32x4_t r = vaddq_n_s32(vshlq_n_s32(rest, 5), 1 << 28);
  const int32x4_t r2 = vqrdmulhq_s32(r, r), r3 = vqrdmulhq_s32(r2, r), r4 = vqrdmulhq_s32(r2, r2);
  const int32x4_t inner = vaddq_s32(divide_rounding(r4, -2), r3);
  const int32x4_t tail = divide_rounding(vaddq_s32(vqrdmulhq_n_s32(inner, kOneThird), r2), -1);
  int32x4_t result = vaddq_n_s32(vqrdmulhq_n_s32(vaddq_s32(r, tail), kExpOfEighth), kExpOfEighth);
  const int32x4_t bits = vsubq_s32(rest, x);
  for (int32_t i = 0; i < 7; ++i) {
    const int32x4_t bit = vandq_s32(bits, vdupq_n_s32(static_cast<int32_t>(1u << (kQuarterBits + i))));
    result = vqrdmulhq_m_s32(result, result, vdupq_n_s32(kFactors[i]), vcmpneq_n_s32(bit, 0));
  }
  // Not vdupq_m_n_s32(): for extreme constants GCC 12 fails with an internal error in trunc_int_for_mode.
  return vmaxq_m_s32(result, result, vdupq_n_s32(INT32_MAX), vcmpeqq_n_s32(x, 0));
}

/// round(value multiplier / 2^right), halves up, wrapped to 32 bits. Requires: right in [1, 62].
inline int32x4_t scale_exactly(int32x4_t value, int32_t multiplier, int32_t right) {
  const int32x4_t high = vmulhq_s32(value, vdupq_n_s32(multiplier));
  if (right > 32) return vrshlq_n_s32(high, 32 - right);
  const uint32x4_t low = vreinterpretq_u32_s32(vmulq_n_s32(value, multiplier));
  return vaddq_s32(vshlq_r_s32(high, 32 - right), vreinterpretq_s32_u32(vrshlq_n_u32(low, -right)));
}

/// exponent_of() of softmax.h, vectorized.
class Exponents {
 public:
  Exponents(int32_t multiplier, int32_t shift) : multiplier_(multiplier), right_(31 - shift), least_(INT32_MIN) {
    if (shift <= 0 || multiplier == 0) return;
    // The least difference whose exponent is at least INT32_MIN.
    const int64_t least = -(((int64_t{1} << (31 + right_)) + (int64_t{1} << (right_ - 1))) / multiplier);
    if (least > INT32_MIN) least_ = static_cast<int32_t>(least);
  }
  int32x4_t operator()(int32x4_t difference) const {
    const int32x4_t exponent = scale_exactly(difference, multiplier_, right_);
    return vminq_m_s32(exponent, exponent, vdupq_n_s32(INT32_MIN), vcmpltq_n_s32(difference, least_));
  }

 private:
  int32_t multiplier_, right_, least_;
};

}  // namespace wick::cortex_m::mve
