// Matmul on MVE of few rows and many channels: for too few rows with the same terms, gemm.h is not profitable. C++17,
// freestanding.
#pragma once
#include "backends/cortex_m/kernels/mve/gemm.h"

namespace wick::cortex_m::mve {

/// Rows of a tile, interleaved: 16 terms of the first, 16 of the second, 16 of the third, and so on.
constexpr int32_t kTileRows = 3;
constexpr int32_t kTileVector = 16;
constexpr int32_t tile_bytes(int32_t terms) { return kTileRows * ((terms + kTileVector - 1) & -kTileVector); }
/// Channels of one pass, limited by the stack that their sums take.
constexpr int32_t kTileChannels = 64;

/// Copies terms to a row of a tile. Returns where the next ones go, if `count` is a multiple of 16.
int8_t* copy_to_tile(int8_t* tile, const int8_t* from, int32_t count);

/// Computes at most kTileChannels channels, from `first` on, of the rows that are in `tile` when it runs. Requires:
/// filter_offset 0, at least one term, and multipliers for each channel.
class TilePass {
 public:
  TilePass(const Gemm& gemm, int32_t first, const int8_t* tile);
  /// Writes y[row][0 .. channels of the pass) for the first `rows` rows of the tile; rows of y are `step` bytes apart.
  void run(int32_t rows, int8_t* y, int32_t step);

 private:
  void accumulate();
  int32_t write_eights(int32_t rows, int8_t* y, int32_t step) const;

  const Gemm& gemm_;
  int32_t first_, channels_, pitch_;
  bool shifts_right_ = true;
  const int8_t* tile_;
  alignas(8) int32_t initial_[kTileChannels + 1];
  alignas(8) int32_t sums_[kTileRows * kTileChannels];  // [row][channel]
};

}  // namespace wick::cortex_m::mve
