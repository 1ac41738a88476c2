// Computes the sums of three rows and two channels at a time, or of one row and six. 16 bytes hold 32 weights: the low
// halves hold those for the even words of 32 terms, the high halves those for the odd words. A tile stores even and odd
// words separately.
#include "backends/cortex_m/kernels/mve/gemm_int4.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

extern "C" {
void wick_mve_int4_rows(const void* dot);
void wick_mve_int4_single(const void* dot);
}

// r0, r4, r8: sums of the first channel; r2, r6, r10: of the second. r7, r9 weights, r1 tile, r12 sums. q5: 15 in each
// lane.
asm("  .section .text.wick_mve_int4_rows,\"ax\",%progbits\n"
    "  .p2align 2\n"
    "  .type wick_mve_int4_rows, %function\n"
    "  .thumb_func\n"
    "wick_mve_int4_rows:\n"
    "  push {r4-r11, lr}\n"
    "  vpush {d8-d15}\n"
    "  vmov.i8 q5, #15\n"
    "  ldrd r1, r2, [r0]\n"
    "  strd r1, r2, [sp, #-8]!\n"
    "  ldrd r7, r9, [r0, #8]\n"
    "  ldrd r12, r3, [r0, #16]\n"
    "  ldr r5, [r0, #24]\n"
    "1:\n"
    "  ldrd lr, r1, [sp]\n"
    "  ldrd r0, r2, [r12]\n"
    "  ldrd r4, r6, [r12, #128]\n"
    "  ldrd r8, r10, [r12, #256]\n"
    "  dlstp.8 lr, lr\n"
    "2:\n"
    "  vldrb.u8 q0, [r7], #16\n"
    "  vldrb.u8 q4, [r9], #16\n"
    "  vand q6, q0, q5\n"
    "  vldrb.u8 q2, [r1, #16]\n"
    "  vand q7, q4, q5\n"
    "  vldrb.u8 q3, [r1, #32]\n"
    "  vshr.u8 q0, q0, #4\n"
    "  vldrb.u8 q1, [r1]\n"
    "  vshr.u8 q4, q4, #4\n"
    "  vmladava.s8 r0, q6, q1\n"
    "  vmladava.s8 r2, q7, q1\n"
    "  vldrb.u8 q1, [r1, #48]\n"
    "  vmladava.s8 r4, q6, q2\n"
    "  vmladava.s8 r6, q7, q2\n"
    "  vldrb.u8 q2, [r1, #64]\n"
    "  vmladava.s8 r8, q6, q3\n"
    "  vmladava.s8 r10, q7, q3\n"
    "  vldrb.u8 q3, [r1, #80]\n"
    "  vmladava.s8 r0, q0, q1\n"
    "  vmladava.s8 r2, q4, q1\n"
    "  vmladava.s8 r4, q0, q2\n"
    "  vmladava.s8 r6, q4, q2\n"
    "  vmladava.s8 r8, q0, q3\n"
    "  vmladava.s8 r10, q4, q3\n"
    "  add r1, #96\n"
    "  letp lr, 2b\n"
    "  strd r4, r6, [r12, #128]\n"
    "  strd r8, r10, [r12, #256]\n"
    "  strd r0, r2, [r12], #8\n"
    "  add r7, r5\n"
    "  add r9, r5\n"
    "  cmp r12, r3\n"
    "  bne 1b\n"
    "  add sp, #8\n"
    "  vpop {d8-d15}\n"
    "  pop {r4-r11, pc}\n"
    "  .size wick_mve_int4_rows, . - wick_mve_int4_rows\n"
    "  .text\n");

#define WICK_INT4_CHANNEL(sum, weights) \
  "  vldrb.u8 q2, [" weights            \
  "], #16\n"                            \
  "  vand q3, q2, q4\n"                 \
  "  vmladava.s8 " sum                  \
  ", q0, q3\n"                          \
  "  vshr.u8 q2, q2, #4\n"              \
  "  vmladava.s8 " sum ", q1, q2\n"

asm("  .section .text.wick_mve_int4_single,\"ax\",%progbits\n"
    "  .p2align 2\n"
    "  .type wick_mve_int4_single, %function\n"
    "  .thumb_func\n"
    "wick_mve_int4_single:\n"
    "  push {r4-r11, lr}\n"
    "  vpush {d8-d9}\n"
    "  vmov.i8 q4, #15\n"
    "  ldm r0, {r1-r5}\n"
    "  push {r1-r5}\n"
    "  add r0, #20\n"
    "  ldm r0, {r3, r5, r7, r9, r11, r12}\n"
    "1:\n"
    "  ldr lr, [sp, #8]\n"
    "  ldm lr, {r0, r2, r4, r6, r8, r10}\n"
    "  ldrd lr, r1, [sp]\n"
    "  dlstp.8 lr, lr\n"
    "2:\n"
    "  vldrb.u8 q1, [r1, #16]\n"
    "  vldrb.u8 q0, [r1], #32\n" WICK_INT4_CHANNEL("r0", "r3") WICK_INT4_CHANNEL("r2", "r5")
        WICK_INT4_CHANNEL("r4", "r7") WICK_INT4_CHANNEL("r6", "r9") WICK_INT4_CHANNEL("r8", "r11")
            WICK_INT4_CHANNEL("r10", "r12")
    "  letp lr, 2b\n"
    "  ldrd lr, r1, [sp, #8]\n"
    "  stm lr!, {r0, r2, r4, r6, r8, r10}\n"
    "  str lr, [sp, #8]\n"
    "  cmp lr, r1\n"
    "  ldr lr, [sp, #16]\n"
    "  add.w r3, r3, lr\n"
    "  add.w r5, r5, lr\n"
    "  add.w r7, r7, lr\n"
    "  add.w r9, r9, lr\n"
    "  add.w r11, r11, lr\n"
    "  add.w r12, r12, lr\n"
    "  bne 1b\n"
    "  add sp, #20\n"
    "  vpop {d8-d9}\n"
    "  pop {r4-r11, pc}\n"
    "  .size wick_mve_int4_single, . - wick_mve_int4_single\n"
    "  .text\n");

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kVectorTerms = 32, kSix = 6;

// The operands of the assembly, in the order in which it reads them.
struct DotRows {
  int32_t count;  // bytes in a row of weights
  const int8_t *tile, *weights, *next_weights;
  int32_t *sums, *end;
  int32_t step;  // from the end of a row to the next pair
};
struct DotSingle {
  int32_t count;
  const int8_t* tile;
  int32_t *sums, *end;
  int32_t step;  // from the end of a row to the next six
  const int8_t* weights[kSix];
};

/// Writes even words of 32 terms to `to` and odd ones to to + odd, and returns the sum of the terms. At the end of a
/// row, missing terms are 0.
int32_t pack_terms(const int8_t* from, int32_t count, int8_t* to, int32_t odd) {
  alignas(16) int32_t words[kVectorTerms / 4];  // loads of words must be aligned
  const auto live = [=](int32_t at) { return vctp8q(count > at ? static_cast<uint32_t>(count - at) : 0U); };
  vstrwq_s32(words, vreinterpretq_s32_s8(vldrbq_z_s8(from, live(0))));
  vstrwq_s32(words + 4, vreinterpretq_s32_s8(vldrbq_z_s8(from + 16, live(16))));
  const int32x4x2_t pairs = load_pairs(words);
  const int8x16_t low = vreinterpretq_s8_s32(pairs.val[0]), high = vreinterpretq_s8_s32(pairs.val[1]);
  vstrbq_s8(to, low);
  vstrbq_s8(to + odd, high);
  return vaddvaq_s8(vaddvq_s8(low), high);
}

int32_t sum_of_weights(const int8_t* row, int32_t count) {
  int32_t bytes = static_cast<int32_t>(int4_row_bytes(count)), beyond = 2 * kInt4Zero * bytes;
  for (int32_t k = count; k < 2 * bytes; ++k) beyond += int4_weight(row, k);
  uint32_t sum = 0;
  for (; bytes > 0; bytes -= 16, row += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(bytes));
    const uint8x16_t both = vreinterpretq_u8_s8(vldrbq_z_s8(row, live));
    sum = vaddvaq_u8(vaddvaq_u8(sum, vandq_u8(both, vdupq_n_u8(15))), vshrq_n_u8(both, 4));
  }
  return static_cast<int32_t>(sum) - beyond;
}

}  // namespace

Int4Pass::Int4Pass(const Gemm& gemm, int32_t first)
    : gemm_(gemm),
      channels_(gemm.channels - first < kInt4Channels ? gemm.channels - first : kInt4Channels),
      row_bytes_(static_cast<int32_t>(int4_row_bytes(gemm.terms))),
      weights_(gemm.weights + first * row_bytes_) {
  for (int32_t c = 0; c < channels_; ++c) {
    int32_t value = gemm.addend != nullptr ? gemm.addend[first + c] : 0;
    if (gemm.input_offset != 0) {
      const int32_t sum = wrapping_add(sum_of_weights(weights_ + c * row_bytes_, gemm.terms),
                                       wrapping_mul(gemm.filter_offset, gemm.terms));
      value = wrapping_add(value, wrapping_mul(gemm.input_offset, sum));
    }
    initial_[c] = value;
  }
}

void Int4Pass::accumulate_rows(const int8_t* const rows[kInt4Rows], int32_t count) {
  const int32_t pairs = channels_ / 2;
  for (int32_t begin = 0; begin < gemm_.terms; begin += kBlockTerms) {
    const int32_t left = gemm_.terms - begin, terms = left < kBlockTerms ? left : kBlockTerms;
    for (int32_t row = 0; row < kInt4Rows; ++row) {
      const int8_t* from = rows[row < count ? row : 0] + begin;
      int8_t* to = tile_ + 16 * row;
      for (int32_t at = 0; at < terms; at += kVectorTerms, to += kInt4Rows * kVectorTerms)
        row_sums_[row] += pack_terms(from + at, terms - at, to, kInt4Rows * 16);
    }
    const int32_t bytes = static_cast<int32_t>(int4_row_bytes(terms)), rounded = (bytes + 15) & ~15;
    const int8_t* weights = weights_ + begin / 2;
    const int32_t step = 2 * row_bytes_ - rounded;
    const DotRows dot = {bytes, tile_, weights, weights + row_bytes_, sums_, sums_ + 2 * pairs, step};
    if (pairs > 0) wick_mve_int4_rows(&dot);
    if (channels_ % 2 == 0) continue;
    const int8_t* last = weights + 2 * pairs * row_bytes_;  // the last channel replaces a missing one
    const DotRows single = {bytes, tile_, last, last, sums_ + 2 * pairs, sums_ + 2 * pairs + 2, step};
    wick_mve_int4_rows(&single);
  }
}

void Int4Pass::accumulate_row(const int8_t* row) {
  constexpr int32_t kMostTerms = kInt4Rows * kBlockTerms;
  const int32_t whole = channels_ / kSix * kSix;
  for (int32_t begin = 0; begin < gemm_.terms; begin += kMostTerms) {
    const int32_t left = gemm_.terms - begin, terms = left < kMostTerms ? left : kMostTerms;
    for (int32_t at = 0; at < terms; at += kVectorTerms)
      row_sums_[0] += pack_terms(row + begin + at, terms - at, tile_ + at, 16);
    const int32_t bytes = static_cast<int32_t>(int4_row_bytes(terms)), rounded = (bytes + 15) & ~15;
    const int8_t* weights = weights_ + begin / 2;
    DotSingle dot = {bytes, tile_, sums_, sums_ + whole, kSix * row_bytes_ - rounded, {}};
    for (int32_t i = 0; i < kSix; ++i) dot.weights[i] = weights + i * row_bytes_;
    if (whole > 0) wick_mve_int4_single(&dot);
    if (whole == channels_) continue;
    int32_t last[kSix];
    for (int32_t i = 0; i < kSix; ++i) {
      const int32_t c = whole + i < channels_ ? whole + i : channels_ - 1;
      last[i] = sums_[c];
      dot.weights[i] = weights + c * row_bytes_;
    }
    dot.sums = last;
    dot.end = last + kSix;
    wick_mve_int4_single(&dot);
    for (int32_t c = whole; c < channels_; ++c) sums_[c] = last[c - whole];
  }
}

void Int4Pass::write(int32_t count, int8_t* out, int32_t out_stride) const {
  const int32x4_t min = vdupq_n_s32(gemm_.stage.min), max = vdupq_n_s32(gemm_.stage.max);
  const int32_t first = static_cast<int32_t>(weights_ - gemm_.weights) / row_bytes_;
  for (int32_t row = 0; row < count; ++row) {
    const int32_t* sums = sums_ + row * kInt4Channels;
    const int32_t extra = wrapping_mul(gemm_.filter_offset - kInt4Zero, row_sums_[row]);
    int8_t* to = out + row * out_stride;
    for (int32_t c = 0; c < channels_; c += 4) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(channels_ - c));
      int32x4_t multiplier = vdupq_n_s32(gemm_.stage.multiplier), shift = vdupq_n_s32(gemm_.stage.shift);
      if (gemm_.multipliers != nullptr) {
        multiplier = vldrwq_z_s32(gemm_.multipliers + first + c, live);
        shift = vldrwq_z_s32(gemm_.shifts + first + c, live);
      }
      const int32x4_t value = requantize_any(vaddq_n_s32(vldrwq_z_s32(sums + c, live), extra), multiplier, shift);
      vstrbq_p_s32(to + c, clamp(vaddq_n_s32(value, gemm_.stage.offset), min, max), live);
    }
  }
}

void Int4Pass::run(const int8_t* const rows[kInt4Rows], int32_t count, int8_t* out, int32_t out_stride) {
  for (int32_t row = 0; row < kInt4Rows; ++row) {
    row_sums_[row] = 0;
    for (int32_t c = 0; c < channels_; ++c) sums_[row * kInt4Channels + c] = initial_[c];
  }
  if (count == 1) {
    accumulate_row(rows[0]);
  } else {
    accumulate_rows(rows, count);
  }
  write(count, out, out_stride);
}

void multiply_int4_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y) {
  for (int32_t first = 0; first < gemm.channels; first += kInt4Channels) {
    Int4Pass pass(gemm, first);
    for (int32_t row = 0; row < rows; row += kInt4Rows) {
      const int8_t* const three[kInt4Rows] = {x + row * gemm.terms, x + (row + 1) * gemm.terms,
                                              x + (row + 2) * gemm.terms};
      pass.run(three, rows - row < kInt4Rows ? rows - row : kInt4Rows, y + row * gemm.channels + first, gemm.channels);
    }
  }
}

}  // namespace wick::cortex_m::mve
