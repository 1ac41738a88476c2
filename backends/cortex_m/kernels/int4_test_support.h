// 4-bit weights for tests, packed bit by bit. C++20, hosted.
#pragma once
#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {

inline std::vector<int64_t> random_int4(Random& random, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  const bool ends = random.one_in(10);
  for (int64_t& value : values) value = ends ? (random.one_in(2) ? -8 : 7) : random.in(-8, 7);
  return values;
}

/// Packs rows of `count` weights. The unused part of their last words is random.
inline std::vector<int64_t> packed_int4(Random& random, const std::vector<int64_t>& weights, int64_t count) {
  std::vector<int64_t> bytes;
  for (size_t first = 0; count > 0 && first < weights.size(); first += static_cast<size_t>(count)) {
    for (int64_t at = 0; at < count; at += 8) {
      uint32_t word = 0;
      for (int64_t i = 0; i < 8; ++i) {
        const int64_t weight = at + i < count ? weights[first + static_cast<size_t>(at + i)] : random.in(-8, 7);
        const int64_t bit = i < 4 ? 8 * i : 8 * (i - 4) + 4;
        word |= static_cast<uint32_t>(weight + 8) << bit;
      }
      for (int64_t i = 0; i < 4; ++i) bytes.push_back(word >> (8 * i) & 255);
    }
  }
  return bytes;
}

}  // namespace wick::cortex_m
