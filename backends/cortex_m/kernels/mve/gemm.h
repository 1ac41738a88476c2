// Matmul on MVE: rows of int8 times rows of int8 weights, requantized to int8. Convolutions, linear and batched matmul
// use it. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/requantize.h"

namespace wick::cortex_m::mve {

/// y[row][n] = stage(sum_k (x[row][k] + input_offset) (w[n][k] + filter_offset) + addend[n]) for rows of `terms` bytes.
struct Gemm {
  int32_t terms = 0, channels = 0;
  int32_t input_offset = 0, filter_offset = 0;
  const int8_t* weights = nullptr;                          // [channels][terms]
  int32_t pitch = 0;                                        // gemm_tile.h: bytes between rows of weights; 0: terms
  const int32_t* addend = nullptr;                          // may be null
  OutputStage stage;                                        // of all channels, unless each has its own:
  const int32_t *multipliers = nullptr, *shifts = nullptr;  // both or neither
};

/// Selects the terms that are multiplied, in all rows and in the weights: `lines` lines of `line_terms` bytes; the
/// first one starts at `begin` of a row of weights.
struct GemmTerms {
  int32_t begin, lines, line_terms;
  int32_t pitch;  // from one line of weights to the next
};
/// Rows of x, `width` times `height` of them: neighbors are `step` bytes apart in the width, and `next` bytes in the
/// height.
struct GemmRows {
  const int8_t* x;
  int32_t step, next;
  int32_t width, height;
  int32_t pitch;  // from one line of a row to the next
};
/// Rows of y, arranged in the same way.
struct GemmOut {
  int8_t* y;
  int32_t step, next;
};

/// Channels of one pass, limited by the stack that their initial sums take.
constexpr int32_t kGemmChannels = 33;
/// How many rows have their sums on the stack at a time. An even number.
constexpr int32_t kGemmRows = 36;

/// Computes at most kGemmChannels channels, from `first` on.
class GemmPass {
 public:
  GemmPass(const Gemm& gemm, int32_t first);
  /// Selects the terms for the following runs. Terms that are left out must have x = -input_offset.
  void select(const GemmTerms& terms);
  /// Writes y[row][0 .. channels of the pass) for all rows. x and y do not overlap. Requires: terms are selected.
  void run(const GemmRows& rows, const GemmOut& out);

 private:
  static constexpr int32_t kTriple = 3;      // channels computed at a time
  static constexpr int32_t kPattern = 24;    // after so many sums, channels and positions in vectors repeat
  static constexpr int32_t kVectorSums = 8;  // sums that make the results of one vector
  // For a filter offset: rows computed at a time, and the index in sums_ of what each row adds.
  static constexpr int32_t kOffsetRows = 24, kRowTerms = kOffsetRows * kTriple + kVectorSums;
  static_assert(kRowTerms + kOffsetRows <= kGemmRows * kTriple + kVectorSums, "no room behind the sums");

  void set_out_step(int32_t step);
  void run_line(const GemmRows& rows, const GemmOut& out);
  void run_rows(const GemmRows& rows, const GemmOut& out);
  void set_row_terms(const GemmRows& rows);
  void add_row_terms(int32_t rows);
  int32_t most_rows() const { return gemm_.filter_offset == 0 ? kGemmRows : kOffsetRows; }
  template <bool kBounded>
  void write(int32_t channel, const GemmRows& rows, const GemmOut& out) const;
  void write_any(int32_t channel, const GemmRows& rows, const GemmOut& out) const;
  int32_t channel_of(int32_t channel, int32_t i) const { return channel + (i < channels_ ? i : channels_ - 1); }

  const Gemm& gemm_;
  GemmTerms terms_ = {};
  int32_t first_, channels_, out_step_ = -1;
  bool shifts_right_, by_vectors_ = false;
  uint16_t places_[kPattern];  // positions of sums in the output
  int32_t initial_[kGemmChannels];
  alignas(8) int32_t sums_[kGemmRows * kTriple + kVectorSums];  // [row][channel], and what vectors read beyond them
};

/// Computes all rows of contiguous matrices: x [rows][terms], y [rows][channels].
void multiply_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y);

}  // namespace wick::cortex_m::mve
