// The checked arguments of attention_int16. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/attention/attention.h"
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

constexpr int32_t kWideWeightBits = 30, kWideSumBits = 15;

struct AttentionInt16 : AttentionForm {
  const int16_t *q = nullptr, *k = nullptr, *v = nullptr;
  int16_t* y = nullptr;

  const int16_t* keys_of(int32_t of_batch) const { return k + of_batch / group * keys * features; }
  const int16_t* values_of(int32_t of_batch) const { return v + of_batch / group * keys * outputs; }
  /// r: with so many bits dropped, sums of products fit 32 bits.
  int32_t score_shift() const { return features == 1 ? 0 : 32 - __builtin_clz(static_cast<uint32_t>(features - 1)); }
  /// The element for a weighted sum of values.
  int16_t finish(int64_t sum) const {
    const auto rounded = static_cast<int32_t>((sum + (1 << (kWideSumBits - 1))) >> kWideSumBits);
    return clamp_int16(requantize(rounded, stage.multiplier, stage.shift), stage.min, stage.max);
  }
};
bool read_attention_int16(KernelContext& context, Span<EValue*> args, AttentionInt16* attention);

/// round(2^-shift sum), halves up.
inline int32_t rounded_score(int64_t sum, int32_t shift) {
  return static_cast<int32_t>(shift == 0 ? sum : (sum + (int64_t{1} << (shift - 1))) >> shift);
}

/// Converts the scores in weights[0 .. count) to weights that add up to about 2^kWideWeightBits, or to 0 if all keys
/// are hidden.
void weigh_scores(const AttentionInt16& attention, int32_t count);

}  // namespace wick::cortex_m
