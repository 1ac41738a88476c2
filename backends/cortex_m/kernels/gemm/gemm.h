// Matmul for cores without vectors: rows of activations times rows of int8 weights, requantized. Linear, convolutions
// and batched matmul use it; they differ in how they find a row. C++17, freestanding.
//   y[r][n] = clamp(requantize(sum_k (x[r][k] + input_offset) (w[n][k] + weight_offset) + bias[n]) + stage.offset)
// Four rows at a time are widened into a tile. If the tile is too small for all k, it takes them block by block.
#pragma once
#include "backends/cortex_m/kernels/gemm/tile.h"
#include "backends/cortex_m/kernels/int4.h"
#include "backends/cortex_m/kernels/isa/gemm_loops.h"
#include "backends/cortex_m/kernels/requantize.h"
#include "wick/span.h"

namespace wick::cortex_m {

/// The format of weights; int4.h describes that of four bits.
enum class GemmWeights : uint8_t { int8, int4 };

struct Gemm {
  int32_t num_rows = 0, depth = 0, num_outputs = 0;  // depth: the number of k
  const int8_t* weights = nullptr;                   // [n][k]
  int32_t pitch = 0;                                 // bytes between rows of int8 weights; 0: depth
  int32_t input_offset = 0, weight_offset = 0;
  const int32_t *bias = nullptr, *multipliers = nullptr, *shifts = nullptr;  // bias may be null
  int32_t step = 1;                                                          // 0: see RepeatedScale
  OutputStage stage;                                                         // without multiplier and shift
  int32_t row_stride = 0;                                                    // of the output, in bytes

  int32_t initial(int32_t n) const { return bias ? bias[n] : 0; }
};

/// Sums that are computed at a time: of one row, or of four rows and a quarter as many outputs.
constexpr int32_t kGemmSums = 128;

/// One multiplier and shift for all outputs, repeated for as many outputs as a block of four rows has.
class RepeatedScale {
 public:
  RepeatedScale(const OutputStage& stage, Gemm* gemm) {
    for (int32_t i = 0; i < kGemmSums / kTileRows; ++i) {
      multipliers_[i] = stage.multiplier;
      shifts_[i] = stage.shift;
    }
    gemm->multipliers = multipliers_;
    gemm->shifts = shifts_;
    gemm->step = 0;
  }
  RepeatedScale(const RepeatedScale&) = delete;
  RepeatedScale& operator=(const RepeatedScale&) = delete;

 private:
  int32_t multipliers_[kGemmSums / kTileRows], shifts_[kGemmSums / kTileRows];
};

/// The rows of a contiguous matrix.
template <typename Element>
struct MatrixRows {
  const Element* values;
  int32_t depth;

  template <typename Row>
  void operator()(int32_t row, int32_t k, int32_t count, Row& to) const {
    to.append(values + row * depth + k, count);
  }
};

/// Whether the magnitude of every sum of the n is less than 2^30, which makes Isa::rescale exact. `largest_weight`:
/// largest magnitude of a weight.
inline bool has_small_sums(const Gemm& gemm, int32_t largest_weight = 128) {
  constexpr int32_t kLimit = (1 << 30) - 1;
  const int32_t largest = 255 * (gemm.weight_offset == 0 ? largest_weight : 255);
  if (gemm.depth > kLimit / largest) return false;
  const int32_t room = kLimit - gemm.depth * largest;
  if (gemm.bias == nullptr) return true;
  for (const int32_t *b = gemm.bias, *end = b + gemm.num_outputs; b != end; ++b) {
    if (*b > room || *b < -room) return false;
  }
  return true;
}

constexpr size_t kStackTileWords = 128;

template <typename Body>
__attribute__((noinline)) void run_with_stack_tile(const Body& body) {
  uint32_t words[kStackTileWords];
  body(Span<uint32_t>(words, kStackTileWords));
}
/// Calls body(tile) with the scratch memory, or with memory on the stack if that is larger.
template <typename Body>
void run_with_tile(Span<uint8_t> scratch, const Body& body) {
  const size_t skipped = static_cast<size_t>(-reinterpret_cast<uintptr_t>(scratch.data())) % sizeof(uint32_t);
  if (scratch.size() < kStackTileWords * sizeof(uint32_t) + skipped) return run_with_stack_tile(body);
  body(Span<uint32_t>(reinterpret_cast<uint32_t*>(scratch.data() + skipped),
                      (scratch.size() - skipped) / sizeof(uint32_t)));
}

template <typename Isa, GemmWeights kWeights = GemmWeights::int8>
class GemmTile {
 public:
  /// Requires: `tile` holds at least two groups of four rows; depth > 0.
  GemmTile(const Gemm& gemm, Span<uint32_t> tile)
      : gemm_(gemm),
        tile_(tile.data()),
        words_(static_cast<int32_t>(tile.size())),
        pitch_(gemm.pitch == 0 ? gemm.depth : gemm.pitch),
        small_(has_small_sums(gemm, kPacked ? kInt4Zero : 128)) {
    bool fast = small_ && gemm.stage.min == INT8_MIN && gemm.stage.max == INT8_MAX;
    const int32_t num_shifts = gemm.step == 0 ? 1 : gemm.num_outputs;
    for (int32_t n = 0; fast && n < num_shifts; ++n) fast = gemm.shifts[n] < 0;
    fast_ = fast;
  }

  /// rows(r, k, count, TileRow&) must append the values [k, k + count) of row r.
  template <typename Rows>
  void run(const Rows& rows, int8_t* out) {
    for (int32_t row = 0; row < gemm_.num_rows; row += num_rows_) {
      const int32_t left = gemm_.num_rows - row;
      lanes_ = left == 1 ? 1 : kTileRows;
      num_rows_ = left < kTileRows ? left : kTileRows;
      multiply(rows, row, out + row * gemm_.row_stride);
    }
  }

 private:
  static constexpr bool kPacked = kWeights == GemmWeights::int4;
  static constexpr int32_t kWeightOffset = kPacked ? -kInt4Zero : 0;  // of the stored weights

  /// Computes all outputs of the rows from `row` on, in blocks of as many outputs as there are sums.
  template <typename Rows>
  void multiply(const Rows& rows, int32_t row, int8_t* out) {
    const int32_t depth = gemm_.depth, most = lanes_ == 1 ? kGemmSums : kGemmSums / kTileRows;
    const int32_t fitting = (words_ / (Isa::kGroupWords * lanes_) * 4) & (kPacked ? ~7 : ~3);
    const int32_t block = fitting < depth ? fitting : depth;
    for (int32_t n = 0; n < gemm_.num_outputs; n += most) {
      const int32_t left = gemm_.num_outputs - n, count = left < most ? left : most;
      for (int32_t k = 0; k < depth; k += block) {
        const int32_t length = depth - k < block ? depth - k : block;
        if (n == 0 || block < depth) fill(rows, row, k, length);
        accumulate(n, count, k, length);
        if (kWeightOffset + gemm_.weight_offset != 0) add_weight_offset(length, count);
      }
      finish(n, count, out + n);
    }
  }

  template <typename Rows>
  void fill(const Rows& rows, int32_t row, int32_t k, int32_t length) {
    for (int32_t lane = 0; lane < num_rows_; ++lane) {
      TileRow<Isa> to(tile_, lane, lanes_, gemm_.input_offset);
      rows(row + lane, k, length, to);
      if (kPacked) to.append_padding(-length & 7);
      to.finish();
    }
  }

  void accumulate(int32_t n, int32_t count, int32_t k, int32_t length) {
    if (k == 0) initialize(gemm_.bias ? gemm_.bias + n : nullptr, count, lanes_, sums_);
    if (kPacked) return accumulate_packed(n, count, k, (length + 7) / 8);
    const int32_t depth = gemm_.depth, groups = length / 4, rest = length % 4;
    const int8_t* weights = gemm_.weights + n * pitch_ + k;
    if (rest == 0) return accumulate_groups(weights, groups, count, sums_);
    // Loading the last group of a row of weights may read beyond the row: those weights meet values of 0. It must not
    // read beyond the last row.
    const int32_t safe = gemm_.num_outputs - (3 - rest) / depth - 1 - n, whole = safe < 0       ? 0
                                                                                 : safe < count ? safe
                                                                                                : count;
    accumulate_groups(weights, groups + 1, whole, sums_);
    weights += whole * pitch_;
    int32_t* sums = sums_ + whole * lanes_;
    accumulate_groups(weights, groups, count - whole, sums);
    accumulate_rest(weights + 4 * groups, groups, rest, count - whole, sums);
  }

  /// Accumulates `words` words of eight packed weights.
  void accumulate_packed(int32_t n, int32_t count, int32_t k, int32_t words) {
    const int32_t stride = static_cast<int32_t>(int4_row_bytes(gemm_.depth));
    const int8_t* weights = gemm_.weights + n * stride + k / 2;
    if (lanes_ == kTileRows) {
      const WeightRows rows = {words, stride - 4 * words, count};
      return Isa::accumulate_rows_int4(tile_, weights, sums_, &rows);
    }
    int32_t* sums = sums_;
    for (; count >= 4; count -= 4, sums += 4, weights += 4 * stride)
      Isa::dot1_int4(tile_, weights, stride, words, sums);
    // The last ones, one at a time instead of four.
    for (; count > 0; --count, ++sums, weights += stride) {
      int32_t same[4] = {*sums, 0, 0, 0};
      Isa::dot1_int4(tile_, weights, 0, words, same);
      *sums = same[0];
    }
  }

  void accumulate_groups(const int8_t* weights, int32_t groups, int32_t count, int32_t* sums) {
    if (groups == 0 || count == 0) return;
    if (lanes_ == 1) return accumulate_row(tile_, weights, pitch_, groups, count, sums);
    const WeightRows rows = {groups, pitch_ - 4 * groups, count};
    Isa::accumulate_rows(tile_, weights, sums, &rows);
  }

  /// sums = bias or 0, in each lane.
  __attribute__((noinline)) static void initialize(const int32_t* bias, int32_t count, int32_t lanes, int32_t* sums) {
    if (bias == nullptr) {
      for (const int32_t* end = sums + count * lanes; sums != end;) *sums++ = 0;
    } else if (lanes == 1) {
      for (const int32_t* end = sums + count; sums != end;) *sums++ = *bias++;
    } else {
      for (const int32_t* end = sums + kTileRows * count; sums != end; sums += kTileRows)
        sums[0] = sums[1] = sums[2] = sums[3] = *bias++;
    }
  }
  __attribute__((noinline)) static void accumulate_row(const uint32_t* tile, const int8_t* weights, int32_t stride,
                                                       int32_t groups, int32_t count, int32_t* sums) {
    for (; count >= 4; count -= 4, sums += 4, weights += 4 * stride) Isa::dot1(tile, weights, stride, groups, sums);
    for (; count > 0; --count, ++sums, weights += stride) {
      for (int32_t g = 0; g < groups; ++g)
        *sums = Isa::dot_group(tile + g * Isa::kGroupWords, 1, load_word(weights + 4 * g), *sums);
    }
  }

  /// Accumulates the last one to three values of each row.
  void accumulate_rest(const int8_t* weights, int32_t groups, int32_t rest, int32_t count, int32_t* sum) {
    const uint32_t* tile = tile_ + groups * Isa::kGroupWords * lanes_;
    for (int32_t c = 0; c < count; ++c, weights += pitch_) {
      uint32_t four = static_cast<uint8_t>(weights[0]);
      if (rest > 1) four |= static_cast<uint32_t>(static_cast<uint8_t>(weights[1])) << 8;
      if (rest > 2) four |= static_cast<uint32_t>(static_cast<uint8_t>(weights[2])) << 16;
      for (int32_t lane = 0; lane < lanes_; ++lane, ++sum) *sum = Isa::dot_group(tile + lane, lanes_, four, *sum);
    }
  }

  /// Adds sum_k (x + input_offset) weight_offset, which is the same for all outputs.
  void add_weight_offset(int32_t length, int32_t count) {
    for (int32_t lane = 0; lane < lanes_; ++lane) {
      int32_t total = 0;
      const uint32_t* tile = tile_ + lane;
      for (int32_t k = 0; k < length; k += 4, tile += Isa::kGroupWords * lanes_)
        total = Isa::dot_group(tile, lanes_, 0x01010101u, total);
      const int32_t added = wrapping_mul(total, kWeightOffset + gemm_.weight_offset);
      for (int32_t c = 0; c < count; ++c) sums_[c * lanes_ + lane] = wrapping_add(sums_[c * lanes_ + lane], added);
    }
  }

  void finish(int32_t n, int32_t count, int8_t* out) const {
    const int32_t *multipliers = gemm_.multipliers + n * gemm_.step, *shifts = gemm_.shifts + n * gemm_.step;
    const int32_t stride = gemm_.row_stride, last = num_rows_ - 1;
    if (lanes_ == 1) return finish_row(sums_, multipliers, shifts, gemm_.step, count, small_, gemm_.stage, out);
    if (!fast_) return finish_any(multipliers, shifts, count, out);
    // Missing rows are written to the place of the first one, which is written last.
    const RowResults results = {
        gemm_.stage.offset, {last > 0 ? stride : 0, last > 1 ? 2 * stride : 0, last > 2 ? 3 * stride : 0}, count};
    Isa::finish_rows(sums_, multipliers, shifts, out, &results);
  }
  __attribute__((noinline)) static void finish_row(const int32_t* sums, const int32_t* multipliers,
                                                   const int32_t* shifts, int32_t step, int32_t count, bool small,
                                                   OutputStage stage, int8_t* out) {
    for (const int32_t* end = sums + count; sums != end; ++sums, multipliers += step, shifts += step) {
      const int32_t value = small && *shifts < 0 ? Isa::rescale(*sums, *multipliers, -*shifts, stage.offset)
                                                 : wrapping_add(requantize(*sums, *multipliers, *shifts), stage.offset);
      *out++ = static_cast<int8_t>(value < stage.min ? stage.min : value > stage.max ? stage.max : value);
    }
  }
  /// For any shift and any range of the output.
  void finish_any(const int32_t* multipliers, const int32_t* shifts, int32_t count, int8_t* out) const {
    const OutputStage stage = gemm_.stage;
    const int32_t step = gemm_.step, stride = gemm_.row_stride, lanes = lanes_, rows = num_rows_;
    const int32_t* sum = sums_;
    for (const int32_t* end = sum + count * lanes; sum != end;
         sum += lanes, multipliers += step, shifts += step, ++out) {
      const int32_t multiplier = *multipliers, shift = *shifts;
      for (int32_t row = 0; row < rows; ++row) {
        const int32_t value = small_ && shift < 0 ? Isa::rescale(sum[row], multiplier, -shift, stage.offset)
                                                  : wrapping_add(requantize(sum[row], multiplier, shift), stage.offset);
        out[row * stride] = static_cast<int8_t>(value < stage.min ? stage.min : value > stage.max ? stage.max : value);
      }
    }
  }

  const Gemm& gemm_;
  uint32_t* tile_;
  int32_t words_, pitch_;
  bool small_, fast_;  // has_small_sums(); whether all outputs can use Isa::finish_rows
  int32_t lanes_ = kTileRows, num_rows_ = kTileRows;
  int32_t sums_[kGemmSums];
};

}  // namespace wick::cortex_m
