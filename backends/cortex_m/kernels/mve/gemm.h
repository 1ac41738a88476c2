// Rows of int8 times rows of weights, requantized to int8: what convolutions, linear and batched matmul stand on. MVE.
// C++17, freestanding.
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
  OutputStage stage;                                        // of all channels, unless they have their own:
  const int32_t *multipliers = nullptr, *shifts = nullptr;  // both or neither
};

/// Which terms of all rows and of the weights are multiplied: lines of bytes from `begin` of a row of weights on.
struct GemmTerms {
  int32_t begin, lines, line_terms;
  int32_t pitch;  // from a line of weights to the next one
};
/// Rows of x in memory, `width` times `height`: each `step` bytes behind the one before, or `next` behind the one
/// above.
struct GemmRows {
  const int8_t* x;
  int32_t step, next;
  int32_t width, height;
  int32_t pitch;  // from a line of a row to its next one
};
/// Rows of y, as many.
struct GemmOut {
  int8_t* y;
  int32_t step, next;
};

/// Channels of one pass: what the initial sums of that many take on the stack.
constexpr int32_t kGemmChannels = 33;
/// Rows whose sums are on the stack at a time. An even number.
constexpr int32_t kGemmRows = 36;

/// A pass over at most kGemmChannels channels, from `first` on.
class GemmPass {
 public:
  GemmPass(const Gemm& gemm, int32_t first);
  /// Terms of what runs next. Those that are left out have x = -input_offset.
  void select(const GemmTerms& terms);
  /// Writes y[row][0 .. channels of the pass) for all rows. x and y do not overlap. Requires: terms are selected.
  void run(const GemmRows& rows, const GemmOut& out);

 private:
  static constexpr int32_t kTriple = 3;      // channels at a time
  static constexpr int32_t kPattern = 24;    // sums after which channels and places in vectors repeat
  static constexpr int32_t kVectorSums = 8;  // of the results of one vector
  // With a filter offset: rows at a time, and where in sums_ stands what each adds.
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
  uint16_t places_[kPattern];  // of sums in the output
  int32_t initial_[kGemmChannels];
  alignas(8) int32_t sums_[kGemmRows * kTriple + kVectorSums];  // [row][channel], and what vectors read behind them
};

/// All rows of contiguous matrices: x [rows][terms], y [rows][channels].
void multiply_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y);

}  // namespace wick::cortex_m::mve
