// 4-bit weights, eight in a word of four bytes: byte j of a word holds weight j in its low half and weight 4 + j in its
// high half, each plus 8. A row consists of whole words; the unused part of the last word may hold anything. C++17,
// freestanding.
#pragma once
#include <stdint.h>

namespace wick::cortex_m {

constexpr int32_t kInt4Zero = 8;  // represents the weight 0

inline constexpr int64_t int4_row_bytes(int64_t count) { return ((count + 7) >> 3) * 4; }

/// Weight k of a row, in [-8, 7].
inline int32_t int4_weight(const int8_t* row, int64_t k) {
  const auto byte = static_cast<uint8_t>(row[k / 8 * 4 + k % 4]);
  return (byte >> (k & 4) & 15) - kInt4Zero;
}

}  // namespace wick::cortex_m
