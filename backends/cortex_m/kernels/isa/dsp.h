// The inner loops for the DSP extension (Cortex-M4, M7, M33): products of 16-bit pairs. C++17, freestanding.
#pragma once
#include <arm_acle.h>

#include "backends/cortex_m/kernels/gemm/tile.h"
#include "backends/cortex_m/kernels/isa/depthwise_loops.h"
#include "backends/cortex_m/kernels/isa/gemm_loops.h"

namespace wick::cortex_m {

struct Dsp {
  /// Words of 32 bits for four values of one row of a tile: values 0 and 2, later values 1 and 3, as pairs of int16.
  static constexpr int32_t kGroupWords = 2;

  /// The summand of widen(): the offset in both halves.
  static int32_t spread(int32_t offset) {
    return static_cast<int32_t>(static_cast<uint32_t>(offset) << 16 | (static_cast<uint32_t>(offset) & 0xFFFFu));
  }

  /// Four int8 values plus offset into one row of a tile with `rows` rows. Returns where the next four go.
  static uint32_t* widen(uint32_t four, int32_t offset, int32_t rows, uint32_t* to) {
    to[0] = static_cast<uint32_t>(__sxtab16(offset, static_cast<int32_t>(four)));
    to[rows] = static_cast<uint32_t>(__sxtab16(offset, static_cast<int32_t>(four >> 8 | four << 24)));
    return to + 2 * rows;
  }

  /// Four int16 values into one row of a tile with `rows` rows.
  static uint32_t* arrange(const int16_t* four, int32_t rows, uint32_t* to) {
    uint32_t low = 0, high = 0;
    memcpy(&low, four, sizeof(low));
    memcpy(&high, four + 2, sizeof(high));
    to[0] = (low & 0xFFFFu) | high << 16;
    to[rows] = low >> 16 | (high & 0xFFFF0000u);
    return to + 2 * rows;
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
    sum = __smlad(static_cast<int32_t>(tile[0]), __sxtb16(static_cast<int32_t>(four)), sum);
    return __smlad(static_cast<int32_t>(tile[rows]), __sxtb16(static_cast<int32_t>(four >> 8 | four << 24)), sum);
  }

  /// The exact sum of products of int16 elements.
  static int64_t dot_int16(const int16_t* a, const int16_t* b, int32_t count) {
    int64_t sum = 0;
    for (; count >= 4; count -= 4, a += 4, b += 4) {
      sum = __smlald(pair_at(a), pair_at(b), sum);
      sum = __smlald(pair_at(a + 2), pair_at(b + 2), sum);
    }
    for (; count > 0; --count) sum += *a++ * *b++;
    return sum;
  }
  static int32_t pair_at(const int16_t* from) {
    int32_t pair = 0;
    memcpy(&pair, from, sizeof(pair));
    return pair;
  }

  static void finish_rows(const int32_t* sums, const int32_t* multipliers, const int32_t* shifts, int8_t* out,
                          const RowResults* results);

  /// The number of words that widen() makes of four weights, for depthwise_pixels.
  static constexpr int32_t kDepthwiseWords = 2;
  /// Nothing to do: the input's offset is added to each value.
  static void fold_offset(const uint32_t*, DepthwiseBlock*) {}

  /// Computes block->count (more than 0) neighboring outputs of four channels. They read four input channels from x on,
  /// or one.
  static void depthwise_pixels(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block);
  /// Like depthwise_pixels, for outputs with all taps of a 3x3 window.
  static void depthwise_pixels_3x3(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block);
  static void depthwise_pixels_of_one(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block);

  /// requantize(value, multiplier, -right) + offset, for |value| < 2^30 and right >= 1. Under these conditions the
  /// product rounds like SMMULR of the doubled value; and the carry of the shift rounds halves up, which for negative
  /// numbers that are reduced by one is away from zero.
  static int32_t rescale(int32_t value, int32_t multiplier, int32_t right, int32_t offset) {
    int32_t result = 0;
    asm("lsl %0, %1, #1\n"
        "smmulr %0, %0, %2\n"
        "add %0, %0, %0, asr #31\n"
        "asrs %0, %0, %3\n"
        "adc %0, %0, %4\n"
        : "=&r"(result)
        : "r"(value), "r"(multiplier), "r"(right), "r"(offset)
        : "cc");
    return result;
  }
  static int32_t saturate_int8(int32_t value) { return __ssat(value, 8); }

  /// The maxima of the bytes of two words, as int8.
  static uint32_t larger_bytes(uint32_t a, uint32_t b) {
    uint32_t larger = 0;
    asm("ssub8 %0, %1, %2\n"  // sets a flag for each byte of the first that is not less
        "sel %0, %1, %2\n"
        : "=&r"(larger)
        : "r"(a), "r"(b));
    return larger;
  }

  /// Sums of bytes, two in a word: add() adds elements 0 and 2 of `word` to `even`, 1 and 3 to `odd`. low() and high()
  /// extract the sums of `count` elements from one of these.
  struct ByteSums {
    static void add(uint32_t word, uint32_t* even, uint32_t* odd) {
      *even = static_cast<uint32_t>(__sxtab16(static_cast<int32_t>(*even), static_cast<int32_t>(word)));
      *odd = static_cast<uint32_t>(__sxtab16(static_cast<int32_t>(*odd), static_cast<int32_t>(word >> 8 | word << 24)));
    }
    static int32_t low(uint32_t pair, int32_t) { return static_cast<int16_t>(pair & 0xFFFFu); }
    static int32_t high(uint32_t pair, int32_t) { return static_cast<int16_t>(pair >> 16); }
  };
};

}  // namespace wick::cortex_m
