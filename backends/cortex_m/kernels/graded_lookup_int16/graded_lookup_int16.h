// The checked arguments of graded_lookup_int16, and its function of one element. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

constexpr int32_t kGradedFraction = 6, kMostGradedBits = 14;

struct GradedLookup {
  const int32_t *of_positive = nullptr, *of_negative = nullptr;
  int32_t bits = 0, min = 0, max = 0;
  bool negative_is_constant = false;
  size_t count = 0;
  const int16_t* x = nullptr;
  int16_t* y = nullptr;

  static size_t half_size(int32_t bits) { return (static_cast<size_t>(16 - bits) << bits) + 2; }

  int32_t at(const int32_t* table, int32_t from) const {
    const int32_t width = 32 - __builtin_clz(static_cast<uint32_t>(from) | 1U);  // floor(log2 from) + 1
    const int32_t e = width - 1 > bits ? width - 1 - bits : 0, rest = from & ((1 << e) - 1);
    const int32_t* pair = table + (e << bits) + (from >> e);
    if (rest == 0) return pair[0];
    const int32_t rise = wrapping_mul(wrapping_add(pair[1], wrapping_mul(pair[0], -1)), rest) >> e;
    return wrapping_add(pair[0], rise);
  }
  int16_t operator()(int32_t from) const {
    const int32_t value = from >= 0              ? at(of_positive, from)
                          : negative_is_constant ? *of_negative
                                                 : at(of_negative, -from);
    return clamp_int16(wrapping_add(value, 1 << (kGradedFraction - 1)) >> kGradedFraction, min, max);
  }
};

bool read_graded_lookup_int16(KernelContext& context, Span<EValue*> args, GradedLookup* lookup);

/// Processes one element at a time.
inline void write_graded_lookup(const GradedLookup& lookup) {
  const GradedLookup table = lookup;  // a copy that no store can change
  const int16_t* x = table.x;
  int16_t* y = table.y;
  for (size_t left = table.count; left > 0; --left) *y++ = table(*x++);
}

}  // namespace wick::cortex_m
