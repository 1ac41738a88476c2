// gemm.h for rows of int16: the same inner loops on a tile of the same form. C++17, freestanding.
//   y[r][n] = channels.finish_products(sum_k x[r][k] w[n][k], n)
// A 64-bit sum is computed as the total of blocks whose sums fit 32 bits.
#pragma once
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/int16.h"

namespace wick::cortex_m {

struct GemmInt16 {
  int32_t num_rows, depth, num_outputs;
  const int8_t* weights;  // [n][k]
  const Int16Channels* channels;
  int32_t first_channel;  // the channel of n = 0
  int32_t row_stride;     // of the output, in elements
};

/// Writes one row of a tile, like TileRow.
template <typename Isa>
class TileRowInt16 {
 public:
  TileRowInt16(uint32_t* tile, int32_t row, int32_t rows) : at_(tile + row), rows_(rows) {}

  void append(const int16_t* values, int32_t count) {
    for (; num_pending_ != 0 && count > 0; --count) push(*values++);
    for (; count >= 4; count -= 4, values += 4) at_ = Isa::arrange(values, rows_, at_);
    for (; count > 0; --count) push(*values++);
  }
  void append_padding(int32_t count) {
    for (; count > 0; --count) push(0);
  }
  /// Fills the last group of four with zeros.
  void finish() {
    while (num_pending_ != 0) push(0);
  }

 private:
  void push(int16_t value) {
    pending_[num_pending_++] = value;
    if (num_pending_ < 4) return;
    at_ = Isa::arrange(pending_, rows_, at_);
    num_pending_ = 0;
  }

  uint32_t* at_;
  int32_t rows_, num_pending_ = 0;
  int16_t pending_[4];
};

template <typename Isa>
class GemmInt16Tile {
 public:
  /// Requires: `tile` holds at least one group of four rows; depth > 0.
  GemmInt16Tile(const GemmInt16& gemm, Span<uint32_t> tile)
      : gemm_(gemm), tile_(tile.data()), words_(static_cast<int32_t>(tile.size())) {}

  /// rows(r, k, count, TileRowInt16&) must append the values [k, k + count) of row r.
  template <typename Rows>
  void run(const Rows& rows, int16_t* out) {
    for (int32_t row = 0; row < gemm_.num_rows; row += num_rows_) {
      const int32_t left = gemm_.num_rows - row;
      lanes_ = left == 1 ? 1 : kTileRows;
      num_rows_ = left < kTileRows ? left : kTileRows;
      multiply(rows, row, out + row * gemm_.row_stride);
    }
  }

 private:
  static constexpr int32_t kWideTerms = 504;  // so many products of int16 and int8 have a sum of 31 bits

  template <typename Rows>
  void multiply(const Rows& rows, int32_t row, int16_t* out) {
    const int32_t depth = gemm_.depth, most = lanes_ == 1 ? kGemmSums / 2 : kGemmSums / 2 / kTileRows;
    const bool wide = gemm_.channels->is_wide();
    int32_t block = words_ / (Isa::kGroupWords * lanes_) * 4;
    if (wide && block > kWideTerms) block = kWideTerms;
    if (block > depth) block = depth;
    for (int32_t n = 0; n < gemm_.num_outputs; n += most) {
      const int32_t left = gemm_.num_outputs - n, count = left < most ? left : most;
      for (int32_t i = 0; i < count * lanes_; ++i) sums_[i] = 0;
      for (int32_t i = 0; wide && i < count * lanes_; ++i) totals_[i] = 0;
      for (int32_t k = 0; k < depth; k += block) {
        const int32_t length = depth - k < block ? depth - k : block;
        if (n == 0 || block < depth) fill(rows, row, k, length);
        accumulate(n, count, k, length);
        if (wide) move_to_totals(count * lanes_);
      }
      finish(n, count, out + n);
    }
  }

  template <typename Rows>
  void fill(const Rows& rows, int32_t row, int32_t k, int32_t length) {
    for (int32_t lane = 0; lane < num_rows_; ++lane) {
      TileRowInt16<Isa> to(tile_, lane, lanes_);
      rows(row + lane, k, length, to);
      to.finish();
    }
  }

  void accumulate(int32_t n, int32_t count, int32_t k, int32_t length) {
    const int32_t depth = gemm_.depth, groups = length / 4, rest = length % 4;
    const int8_t* weights = gemm_.weights + n * depth + k;
    int32_t* sums = sums_;
    if (groups > 0 && lanes_ == kTileRows) {
      const WeightRows rows = {groups, depth - 4 * groups, count};
      Isa::accumulate_rows(tile_, weights, sums, &rows);
    } else if (groups > 0) {
      int32_t c = 0;
      for (; c + 4 <= count; c += 4) Isa::dot1(tile_, weights + c * depth, depth, groups, sums + c);
      for (; c < count; ++c) {
        for (int32_t g = 0; g < groups; ++g)
          sums[c] = Isa::dot_group(tile_ + g * Isa::kGroupWords, 1, load_word(weights + c * depth + 4 * g), sums[c]);
      }
    }
    if (rest > 0) accumulate_rest(weights + 4 * groups, groups, rest, count);
  }

  /// Accumulates the last one to three values of each row.
  void accumulate_rest(const int8_t* weights, int32_t groups, int32_t rest, int32_t count) {
    const uint32_t* tile = tile_ + groups * Isa::kGroupWords * lanes_;
    int32_t* sum = sums_;
    for (int32_t c = 0; c < count; ++c, weights += gemm_.depth) {
      uint32_t four = 0;
      for (int32_t i = 0; i < rest; ++i) four |= static_cast<uint32_t>(static_cast<uint8_t>(weights[i])) << (8 * i);
      for (int32_t lane = 0; lane < lanes_; ++lane, ++sum) *sum = Isa::dot_group(tile + lane, lanes_, four, *sum);
    }
  }

  void move_to_totals(int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      totals_[i] += sums_[i];
      sums_[i] = 0;
    }
  }

  void finish(int32_t n, int32_t count, int16_t* out) const {
    const Int16Channels& channels = *gemm_.channels;
    for (int32_t c = 0; c < count; ++c) {
      const int32_t channel = gemm_.first_channel + n + c;
      for (int32_t row = 0; row < num_rows_; ++row) {
        const int32_t at = c * lanes_ + row;
        out[row * gemm_.row_stride + c] =
            channels.is_wide() ? channels.finish_products(totals_[at], channel)
                               : channels.finish(wrapping_add(sums_[at], channels.initial(channel)), channel);
      }
    }
  }

  const GemmInt16& gemm_;
  uint32_t* tile_;
  int32_t words_;
  int32_t lanes_ = kTileRows, num_rows_ = kTileRows;
  int32_t sums_[kGemmSums / 2];
  int64_t totals_[kGemmSums / 2];
};

}  // namespace wick::cortex_m
