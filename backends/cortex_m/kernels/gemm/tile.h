// A tile: the operands of four rows of a matmul (pixels of a convolution), or of one row, widened and interleaved so
// that a single pass over a row of weights serves all of them. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace wick::cortex_m {

constexpr int32_t kTileRows = 4;

inline uint32_t load_word(const int8_t* bytes) {
  uint32_t word = 0;
  memcpy(&word, bytes, sizeof(word));
  return word;
}

/// Writes one row of a tile.
template <typename Isa>
class TileRow {
 public:
  /// Row `row` of `rows` (1 or kTileRows) in `tile`. `offset` is added to each value.
  TileRow(uint32_t* tile, int32_t row, int32_t rows, int32_t offset)
      : at_(tile + row),
        rows_(rows),
        offset_(Isa::spread(offset)),
        padding_(0x01010101u * static_cast<uint8_t>(-offset)) {}

  __attribute__((always_inline)) void append(const int8_t* values, int32_t count) {
    if (num_pending_ == 0) {
      for (; count >= 4; count -= 4, values += 4) write(load_word(values));
    } else {
      for (; count >= 4; count -= 4, values += 4) append_word(load_word(values));
    }
    if (count == 0) return;
    uint32_t rest = static_cast<uint8_t>(values[0]);
    if (count > 1) rest |= static_cast<uint32_t>(static_cast<uint8_t>(values[1])) << 8;
    if (count > 2) rest |= static_cast<uint32_t>(static_cast<uint8_t>(values[2])) << 16;
    append_rest(rest, static_cast<uint32_t>(count));
  }
  /// Appends values that widen to 0.
  __attribute__((always_inline)) void append_padding(int32_t count) {
    if (num_pending_ == 0) {
      for (; count >= 4; count -= 4) write(padding_);
    } else {
      for (; count >= 4; count -= 4) append_word(padding_);
    }
    if (count > 0) append_rest(padding_ & ((1u << 8 * count) - 1), static_cast<uint32_t>(count));
  }
  /// Fills the last group of four with values that widen to 0.
  void finish() {
    if (num_pending_ != 0) write(pending_ | padding_ << (8 * num_pending_));
  }

 private:
  void write(uint32_t four) { at_ = Isa::widen(four, offset_, rows_, at_); }
  void append_word(uint32_t word) {
    const uint32_t used = 8 * num_pending_;
    write(pending_ | word << used);
    pending_ = word >> (32 - used);
  }
  /// Appends one to three values; they are the low bytes of `rest`, whose other bytes are 0.
  void append_rest(uint32_t rest, uint32_t count) {
    const uint32_t used = 8 * num_pending_;
    pending_ |= rest << used;
    num_pending_ += count;
    if (num_pending_ < 4) return;
    write(pending_);
    pending_ =
        rest >> (32 - used);  // NOLINT(clang-analyzer-core.BitwiseShift): fewer than four make a word with others
    num_pending_ -= 4;
  }

  uint32_t* at_;
  int32_t rows_, offset_;
  uint32_t padding_, pending_ = 0, num_pending_ = 0;
};

}  // namespace wick::cortex_m
