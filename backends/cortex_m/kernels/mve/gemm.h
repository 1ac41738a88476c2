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
  const int32_t* addend = nullptr;                          // may be null
  OutputStage stage;                                        // of all channels, unless they have their own:
  const int32_t *multipliers = nullptr, *shifts = nullptr;  // both or neither
};

/// Channels of one pass: what the constants of that many take on the stack.
constexpr int32_t kGemmChannels = 32;
/// Rows that are computed at a time. A tile holds them 16 bytes of each in turn.
constexpr int32_t kGemmRows = 3;
constexpr int32_t kTileStep = 16 * kGemmRows;
inline int32_t tile_bytes(int32_t terms) { return kGemmRows * ((terms + 15) & ~15); }

/// Copies bytes of a row to its place in a tile and returns where the next 16 go. `count` is a multiple of 16, or the
/// end of the row.
int8_t* pack_row(int8_t* tile, const int8_t* from, int32_t count);

/// A pass over at most kGemmChannels channels, from `first` on; over kGemmRows times as many for a single row.
class GemmPass {
 public:
  GemmPass(const Gemm& gemm, int32_t first, bool single_row = false);
  int32_t channels() const { return channels_; }
  /// Writes y[row][0 .. channels()) for `count` rows, 1 to kGemmRows; y[row] is out + row * out_stride.
  void run(const int8_t* const rows[kGemmRows], int32_t count, int8_t* out, int32_t out_stride);
  /// The same for the only row of a pass for one.
  void run_single(const int8_t* row, int8_t* out);
  /// The same for a tile that holds the rows with all their terms. Requires filter_offset 0.
  void run_tile(const int8_t* tile, int32_t count, int8_t* out, int32_t out_stride);

 private:
  /// What the assembly reads, in this order.
  struct Dot {
    int32_t count;                         // of the loop: terms, or blocks of 32
    const int8_t* tile;                    //
    const int8_t *weights, *next_weights;  // r7, r9: rows of a pair of channels
    const int32_t* initial;                // r11: of a pair, three times
    int32_t* sums;                         // r12: three rows, kGemmChannels apart
    int32_t step;                          // r5: from the end of a row's block to that of the next pair
    const int32_t* end;                    // r3: of the first row of sums
    void (*function)(const Dot*);
  };
  /// The same for one row and six channels at a time.
  struct DotSingle {
    static constexpr int32_t kChannels = 6;
    int32_t count;  // of terms
    const int8_t* row;
    int32_t* sums;  // hold initial values before
    const int32_t* end;
    int32_t step;  // from the end of a row to that of the next six
    const int8_t* weights[kChannels];
  };
  static constexpr int32_t kBlockTerms = 128;

  Dot prepare(const int8_t* tile, int32_t begin, int32_t terms);
  void accumulate(const Dot& dot) const;
  void write(int32_t count, int8_t* out, int32_t out_stride) const;
  template <int32_t kCount>
  int32_t write_eights(int8_t* out, int32_t out_stride) const;

  const Gemm& gemm_;
  int32_t channels_;
  const int8_t* weights_;
  const int32_t *multipliers_, *shifts_;
  int32_t scale_step_ = 1;  // 0 where all channels have one scale
  bool shifts_right_ = true;
  Dot first_;  // of the first block of terms
  int32_t scales_[16];
  int32_t row_terms_[kGemmRows] = {0, 0, 0};
  alignas(8) int32_t initial_[3 * kGemmChannels];  // of each pair of channels, three times; for a single row, once
  alignas(8) int32_t sums_[kGemmRows * kGemmChannels];
  alignas(16) int8_t tile_[kGemmRows * kBlockTerms];
};

/// All rows of contiguous matrices: x [rows][terms], y [rows][channels].
void multiply_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y);

}  // namespace wick::cortex_m::mve
