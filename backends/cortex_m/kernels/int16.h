// Shared by the operators on int16. Their zero points are 0, weights are int8, and sums have 32 or 64 bits. C++17,
// freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"
#include "backends/cortex_m/kernels/requantize.h"

namespace wick::cortex_m {

inline int16_t clamp_int16(int32_t value, int32_t min, int32_t max) {
  return static_cast<int16_t>(value < min ? min : value > max ? max : value);
}

/// The exact sum of products.
inline int64_t dot_int16(const int16_t* a, const int16_t* b, int32_t count) {
  int64_t sum = 0;
  for (; count > 0; --count) sum += *a++ * *b++;
  return sum;
}

/// Converts sums of products to elements, per channel. Sums have 64 bits if, and only if, the bias is int64.
struct Int16Channels {
  const int32_t* bias = nullptr;
  const int64_t* wide_bias = nullptr;                       // null if `bias` is not
  const int32_t *multipliers = nullptr, *shifts = nullptr;  // those of channel 0 ..
  int32_t step = 1;                                         // .. distance to those of the next channel; 0: one for all
  int32_t min = INT16_MIN, max = INT16_MAX;

  bool is_wide() const { return wide_bias != nullptr; }
  int32_t initial(int64_t channel) const { return bias != nullptr ? bias[channel] : 0; }
  /// `sum` includes the bias, and is wrapped at 32 bits.
  int16_t finish(int32_t sum, int64_t channel) const {
    return clamp_int16(requantize(sum, multipliers[channel * step], shifts[channel * step]), min, max);
  }
  /// `products`: the sum without the bias.
  int16_t finish_products(int64_t products, int64_t channel) const {
    if (!is_wide()) return finish(wrapping_add(static_cast<int32_t>(products), initial(channel)), channel);
    const auto sum = static_cast<int64_t>(static_cast<uint64_t>(products) + static_cast<uint64_t>(wide_bias[channel]));
    return clamp_int16(requantize_wide(sum, multipliers[channel * step], shifts[channel * step]), min, max);
  }
};

/// Reads contiguous rows: a bias (or None) with one element per channel, and multipliers and shifts with one element,
/// or one per channel. Requires INT16_MIN <= min <= max <= INT16_MAX.
bool read_int16_channels(KernelContext& context, const EValue& bias, const Tensor& multipliers, const Tensor& shifts,
                         const EValue& min, const EValue& max, int64_t channels, const Tensor& written,
                         Int16Channels* out);

/// Requires INT16_MIN <= min <= max <= INT16_MAX.
bool read_int16_range(KernelContext& context, const EValue& min, const EValue& max, int32_t* out_min, int32_t* out_max);

bool require_int16(KernelContext& context, const Tensor& a, const Tensor& b);

}  // namespace wick::cortex_m
