// The inner loops for cores without vector or DSP instructions. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/gemm/tile.h"
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/isa/depthwise_loops.h"
#include "backends/cortex_m/kernels/isa/gemm_loops.h"

namespace wick::cortex_m {

struct Scalar {
  /// Words of 32 bits for four values of one row of a tile: one int32 for each.
  static constexpr int32_t kGroupWords = 4;

  static int32_t spread(int32_t offset) { return offset; }

  /// Four int8 values plus offset into one row of a tile with `rows` rows. Returns where the next four go.
  static uint32_t* widen(uint32_t four, int32_t offset, int32_t rows, uint32_t* to) {
    for (uint32_t i = 0; i < 4; ++i, to += rows)
      *to = static_cast<uint32_t>(static_cast<int8_t>(four >> 8 * i) + offset);
    return to;
  }

  /// Four int16 values into one row of a tile with `rows` rows.
  static uint32_t* arrange(const int16_t* four, int32_t rows, uint32_t* to) {
    for (int32_t i = 0; i < 4; ++i, to += rows) *to = static_cast<uint32_t>(int32_t{four[i]});
    return to;
  }

  /// sums[n][p] += row p of the tile times row n of the weights, for four rows of the tile.
  static void accumulate_rows(const uint32_t* tile, const int8_t* weights, int32_t* sums, const WeightRows* rows);

  /// sums[c] += the tile's only row times row c of the weights, for four rows `stride` bytes apart.
  static void dot1(const uint32_t* tile, const int8_t* weights, int32_t stride, int32_t groups, int32_t* sums);

  /// The same for packed 4-bit weights; the 8 that each of them has too much is not subtracted. The unit is words of
  /// eight weights instead of groups of four.
  static void accumulate_rows_int4(const uint32_t* tile, const int8_t* weights, int32_t* sums, const WeightRows* rows);
  static void dot1_int4(const uint32_t* tile, const int8_t* weights, int32_t stride, int32_t words, int32_t* sums);

  /// sum + four values of one row times four weights.
  static int32_t dot_group(const uint32_t* tile, int32_t rows, uint32_t four, int32_t sum) {
    uint32_t total = static_cast<uint32_t>(sum);
    for (uint32_t i = 0; i < 4; ++i, tile += rows)
      total += *tile * static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(four >> 8 * i)));
    return static_cast<int32_t>(total);
  }

  static void finish_rows(const int32_t* sums, const int32_t* multipliers, const int32_t* shifts, int8_t* out,
                          const RowResults* results);

  /// The number of words that widen() makes of four weights, for depthwise_pixels.
  static constexpr int32_t kDepthwiseWords = 4;
  /// Adds to the bias the total that the input's offset contributes to each sum over the block's taps.
  static void fold_offset(const uint32_t* weights, DepthwiseBlock* block);

  /// Computes block->count (more than 0) neighboring outputs of four channels. They read four input channels from x on,
  /// or one.
  static void depthwise_pixels(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block);
  /// Like depthwise_pixels, for outputs with all taps of a 3x3 window.
  static void depthwise_pixels_3x3(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block);
  static void depthwise_pixels_of_one(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block);

  /// requantize(value, multiplier, -right) + offset, for |value| < 2^30 and right >= 1.
  static int32_t rescale(int32_t value, int32_t multiplier, int32_t right, int32_t offset) {
    const int64_t product = static_cast<int64_t>(value * 2) * multiplier;
    int32_t high = static_cast<int32_t>(product >> 32) + static_cast<int32_t>(static_cast<uint32_t>(product) >> 31);
    high += high >> 31;
    return ((high + (1 << (right - 1))) >> right) + offset;
  }
  static int32_t saturate_int8(int32_t value) {
    return value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value;
  }

  /// The maxima of the bytes of two words, as int8.
  static uint32_t larger_bytes(uint32_t a, uint32_t b) {
    constexpr uint32_t kSigns = 0x80808080u;
    // As unsigned bytes: the top bit says whether the byte of a is not less; the mask has all its bits.
    const uint32_t x = a ^ kSigns, y = b ^ kSigns, difference = (x | kSigns) - (y & ~kSigns);
    const uint32_t not_less = ((x & ~y) | (~(x ^ y) & difference)) & kSigns;
    const uint32_t mask = (not_less << 1) - (not_less >> 7);
    return b ^ ((a ^ b) & mask);
  }

  /// The exact sum of products of int16 elements.
  static int64_t dot_int16(const int16_t* a, const int16_t* b, int32_t count) {
    return cortex_m::dot_int16(a, b, count);
  }

  /// Sums of bytes, two in a word: add() adds elements 0 and 2 of `word` to `even`, 1 and 3 to `odd`. low() and high()
  /// extract the sums of `count` elements from one of these. Elements are summed plus 128, so that they are not
  /// negative.
  struct ByteSums {
    static constexpr uint32_t kSigns = 0x80808080u, kEven = 0x00FF00FFu;

    static void add(uint32_t word, uint32_t* even, uint32_t* odd) {
      word ^= kSigns;
      *even += word & kEven;
      *odd += word >> 8 & kEven;
    }
    static int32_t low(uint32_t pair, int32_t count) { return static_cast<int32_t>(pair & 0xFFFFu) - 128 * count; }
    static int32_t high(uint32_t pair, int32_t count) { return static_cast<int32_t>(pair >> 16) - 128 * count; }
  };
};

}  // namespace wick::cortex_m
