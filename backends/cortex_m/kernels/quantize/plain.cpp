// quantize_per_tensor on cores without vectors. A floating-point unit's conversion rounds, saturates and converts NaN
// to 0 as required. Without such a unit the product is rounded twice in integer arithmetic: to f32, and to a whole
// number. C++17, freestanding.
#include <string.h>

#include "backends/cortex_m/kernels/quantize/quantize.h"

namespace wick::cortex_m::plain {
namespace {

#if defined(__ARM_FP) && (__ARM_FP & 4)

/// Rounds products with a fixed factor.
class RoundedProduct {
 public:
  explicit RoundedProduct(float factor) : factor_(factor) {}
  int32_t operator()(float value) const {
    float steps = value * factor_;
    asm("vcvtr.s32.f32 %0, %0" : "+t"(steps));  // to nearest, halves to even
    int32_t bits = 0;
    memcpy(&bits, &steps, sizeof(bits));
    return bits;
  }

 private:
  float factor_;
};

#else

class RoundedProduct {
 public:
  /// The factor is positive and finite.
  explicit RoundedProduct(float factor) {
    uint32_t bits = bits_of(factor), exponent = bits >> kFraction;
    mantissa_ = bits & kFractionMask;
    if (exponent == 0) {  // subnormal
      const uint32_t shift = static_cast<uint32_t>(__builtin_clz(mantissa_)) - 8;
      mantissa_ <<= shift;
      exponent_ = 1 - static_cast<int32_t>(shift);
    } else {
      mantissa_ |= kHidden;
      exponent_ = static_cast<int32_t>(exponent);
    }
  }

  /// value * factor, rounded to f32 and then to a whole number, halves to even both times; saturates beyond 2^22. A
  /// subnormal product counts as 0, because it rounds to 0.
  int32_t operator()(float value) const {
    const uint32_t bits = bits_of(value);
    const int32_t magnitude = rounded(bits & 0x7FFFFFFFu);
    return bits >> 31 ? -magnitude : magnitude;
  }

 private:
  static constexpr uint32_t kFraction = 23, kHidden = 1u << kFraction, kFractionMask = kHidden - 1;
  static constexpr int32_t kLargest = 1 << 30, kBias = 127;

  static uint32_t bits_of(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  int32_t rounded(uint32_t bits) const {
    int32_t exponent = static_cast<int32_t>(bits >> kFraction);
    uint32_t mantissa = bits & kFractionMask;
    if (exponent == 255) return mantissa == 0 ? kLargest : 0;
    if (exponent == 0) {
      if (mantissa == 0) return 0;
      const uint32_t shift = static_cast<uint32_t>(__builtin_clz(mantissa)) - 8;
      mantissa <<= shift;
      exponent = 1 - static_cast<int32_t>(shift);
    } else {
      mantissa |= kHidden;
    }
    const uint64_t product = static_cast<uint64_t>(mantissa << 8) * mantissa_;  // in [2^54, 2^56)
    const uint32_t high = static_cast<uint32_t>(product >> 32), low = static_cast<uint32_t>(product);
    // 24 bits are left: of 55 or of 56.
    const uint32_t has_56 = high >> kFraction;
    uint32_t kept = has_56 ? high : high << 1 | low >> 31;
    const uint32_t rest = has_56 ? low : low << 1;
    kept += rest > 1u << 31 || (rest == 1u << 31 && (kept & 1) != 0);
    // kept * 2^-below, and below 24 there is a whole part.
    const int32_t below = 2 * kBias + 23 - exponent - exponent_ - static_cast<int32_t>(has_56);
    if (below > 25) return 0;
    if (below < 1) return kLargest;
    const uint32_t odd = kept >> below & 1;
    return static_cast<int32_t>((kept + (1u << (below - 1)) - 1 + odd) >> below);
  }

  uint32_t mantissa_;
  int32_t exponent_;
};

#endif

template <typename T>
__attribute__((noinline)) void quantize_elements(const Quantize& c) {
  const RoundedProduct steps(1.0f / c.range.scale);
  const int32_t zero_point = c.range.zero_point, min = c.range.min - zero_point, max = c.range.max - zero_point;
  const float* x = c.x;
  T* q = static_cast<T*>(c.q);
  for (T* end = q + c.count; q != end;) {
    const int32_t value = steps(*x++);
    *q++ = static_cast<T>((value < min ? min : value > max ? max : value) + zero_point);
  }
}

}  // namespace

void quantize_per_tensor(KernelContext& context, Span<EValue*> args) {
  Quantize c;
  if (!read_quantize(context, args, &c)) return;
  if (c.dtype == DType::i8) return quantize_elements<int8_t>(c);
  quantize_elements<int16_t>(c);
}

}  // namespace wick::cortex_m::plain
