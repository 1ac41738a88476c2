// Matmul on MVE: rows of int16 times rows of int8 weights. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m::mve {

/// y[row][n] = channels.finish_products(sum_k x[row][k] w[n][k], first_channel + n).
struct GemmInt16 {
  static constexpr int32_t kRows = 3;  // computed at a time

  int32_t terms, num_channels;
  const int8_t* weights;  // [n][k]
  const Int16Channels* channels;
  int32_t first_channel;

  /// Computes all channels of `count` rows (1 to kRows); y[row] is out + row * out_stride.
  void run(const int16_t* const rows[kRows], int32_t count, int16_t* out, int32_t out_stride) const;

 private:
  static constexpr int32_t kBlock = 32;  // channels
  void run_block(const int16_t* const rows[kRows], int32_t count, int32_t first, int32_t channels, int16_t* out,
                 int32_t out_stride) const;
};

}  // namespace wick::cortex_m::mve
