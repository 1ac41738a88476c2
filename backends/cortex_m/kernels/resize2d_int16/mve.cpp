// resize2d_int16, four channels at a time, with 32-bit sums. The weights of the four pixels, which add up to 2^40, are
// split into a 2^28 + b 2^14 + c with b and c in [-2^13, 2^13): sums of four pixels times b, or times c, then have 31
// bits. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/resize2d_int16/resize2d_int16.h"

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kDigitBits = 14, kPixels = 4;

struct Digits {
  int32_t a[kPixels], b[kPixels], c[kPixels];
};

/// Removes the lowest digit of `weight` and returns it.
inline int32_t take_digit(int64_t* weight) {
  constexpr int32_t kUnused = 32 - kDigitBits;
  const int32_t digit = static_cast<int32_t>(static_cast<uint32_t>(*weight) << kUnused) >> kUnused;
  *weight = (*weight - digit) >> kDigitBits;
  return digit;
}

inline Digits digits_of(const Neighbourhood& pixels) {
  const int64_t both = int64_t{pixels.below} * pixels.right;
  const int64_t right = (int64_t{pixels.right} << kWideTapBits) - both;
  const int64_t below = (int64_t{pixels.below} << kWideTapBits) - both;
  const int64_t weights[] = {(int64_t{1} << 2 * kWideTapBits) - right - below - both, right, below, both};
  Digits digits = {};
  for (int32_t i = 0; i < kPixels; ++i) {
    int64_t weight = weights[i];
    digits.c[i] = take_digit(&weight);
    digits.b[i] = take_digit(&weight);
    digits.a[i] = static_cast<int32_t>(weight);
  }
  return digits;
}

/// round(2^-24 sum of w x) from the sums for a, b and c; the last two contribute one addition to the first.
inline int32x4_t rounded(int32x4_t a, int32x4_t b, int32x4_t c) {
  constexpr int32_t kRest = kWideSumShift - kDigitBits;
  const int32x4_t carry = vshrq_n_s32(vaddq_n_s32(c, 1 << (kWideSumShift - 1)), kDigitBits);
  return vaddq_s32(vshlq_n_s32(a, kDigitBits - kRest), vshrq_n_s32(vaddq_s32(b, carry), kRest));
}

}  // namespace

void resize2d_int16(KernelContext& context, Span<EValue*> args) {
  constexpr int64_t kLeastChannels = 4;  // with fewer channels, digits are not profitable
  ResizeInt16 r;
  if (!read_resize2d_int16(context, args, &r)) return;
  if (r.to.c < kLeastChannels) return reference::resize2d_int16(context, args);
  const auto count = static_cast<int32_t>(r.to.c);
  const OutputStage stage = r.stage;
  for_each_neighbourhood(r, [&](const Neighbourhood& pixels, int16_t* y) {
    const Digits digits = digits_of(pixels);
    for (int32_t at = 0; at < count; at += 4) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - at));
      int32x4_t a = vdupq_n_s32(0), b = a, c = a;
      for (int32_t i = 0; i < kPixels; ++i) {
        const int32x4_t x = vldrhq_z_s32(pixels.at[i] + at, live);
        a = vmlaq_n_s32(a, x, digits.a[i]);
        b = vmlaq_n_s32(b, x, digits.b[i]);
        c = vmlaq_n_s32(c, x, digits.c[i]);
      }
      const int32x4_t value = requantize_any(rounded(a, b, c), stage.multiplier, stage.shift);
      vstrhq_p_s32(y + at, clamp(value, vdupq_n_s32(stage.min), vdupq_n_s32(stage.max)), live);
    }
  });
}

}  // namespace wick::cortex_m::mve
