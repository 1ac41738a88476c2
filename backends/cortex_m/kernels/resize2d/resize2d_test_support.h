// Shared by the tests of resize2d and resize2d_int16: {first, weight} for each row or column. C++20, hosted.
#pragma once
#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {

/// Taps on `size` pixels, with weights of up to `one`, or only copies.
inline std::vector<int64_t> random_taps(Random& random, int32_t size, int64_t one) {
  std::vector<int64_t> taps;
  const bool copies = random.one_in(3);
  for (int64_t count = random.in(1, 9); count > 0; --count) {
    const int64_t first = random.in(0, size - 1);
    taps.push_back(first);
    taps.push_back(copies || first + 1 == size || random.one_in(8) ? 0 : random.one_in(8) ? one : random.in(0, one));
  }
  return taps;
}

/// Taps on two pixels that kernels must refuse.
inline std::vector<std::vector<int64_t>> taps_outside(int64_t one) {
  return {{-1, 0}, {2, 0}, {1, 1}, {0, -1}, {0, one + 1}, {INT32_MAX, 1}};
}

}  // namespace wick::cortex_m
