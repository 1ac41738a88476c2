// gemm.h for packed 4-bit weights (int4.h). MVE. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/int4.h"
#include "backends/cortex_m/kernels/mve/gemm.h"

namespace wick::cortex_m::mve {

/// Channels of one pass, whose sums for a row take 128 bytes, and rows that are computed at a time.
constexpr int32_t kInt4Channels = 32, kInt4Rows = 3;

/// Computes at most kInt4Channels channels, from `first` on, of a Gemm with packed weights. Requires: terms > 0.
class Int4Pass {
 public:
  Int4Pass(const Gemm& gemm, int32_t first);
  int32_t channels() const { return channels_; }
  /// Writes y[row][0 .. channels()) for `count` rows, 1 to kInt4Rows; y[row] is out + row * out_stride.
  void run(const int8_t* const rows[kInt4Rows], int32_t count, int8_t* out, int32_t out_stride);

 private:
  static constexpr int32_t kBlockTerms = 128;  // for three rows; three times as many for a single row

  void accumulate_rows(const int8_t* const rows[kInt4Rows], int32_t count);
  void accumulate_row(const int8_t* row);
  void write(int32_t count, int8_t* out, int32_t out_stride) const;

  const Gemm& gemm_;
  int32_t channels_, row_bytes_;
  const int8_t* weights_;
  int32_t row_sums_[kInt4Rows];
  alignas(8) int32_t initial_[kInt4Channels];
  alignas(8) int32_t sums_[kInt4Rows * kInt4Channels];
  alignas(16) int8_t tile_[kInt4Rows * kBlockTerms];
};

/// Computes all rows of contiguous matrices: x [rows][terms], y [rows][channels].
void multiply_int4_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y);

}  // namespace wick::cortex_m::mve
