#include "backends/cortex_m/kernels/mve/gemm.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

// The sums of three rows and two channels at a time: r0, r4, r8 of the first channel, r2, r6, r10 of the second. No
// compiler keeps six accumulators in even registers beside the pointers, hence assembly.
#define WICK_DOT_BLOCK         \
  "  vldrb.u8 q0, [r7], #16\n" \
  "  vldrb.u8 q2, [r1, #16]\n" \
  "  vldrb.u8 q3, [r1, #32]\n" \
  "  vldrb.u8 q1, [r1], #48\n" \
  "  vmladava.s8 r0, q0, q1\n" \
  "  vldrb.u8 q4, [r9], #16\n" \
  "  vmladava.s8 r2, q4, q1\n" \
  "  vmladava.s8 r4, q0, q2\n" \
  "  vmladava.s8 r6, q4, q2\n" \
  "  vmladava.s8 r8, q0, q3\n" \
  "  vmladava.s8 r10, q4, q3\n"
#define WICK_DOT_FIRST "  ldm r11!, {r0, r2, r4, r6, r8, r10}\n"
#define WICK_DOT_NEXT            \
  "  ldrd r0, r2, [r12]\n"       \
  "  ldrd r4, r6, [r12, #128]\n" \
  "  ldrd r8, r10, [r12, #256]\n"
#define WICK_DOT_FUNCTION(name, load, begin, body, end) \
  asm("  .section .text." name                          \
      ",\"ax\",%progbits\n"                             \
      "  .p2align 2\n"                                  \
      "  .type " name                                   \
      ", %function\n"                                   \
      "  .thumb_func\n" name                            \
      ":\n"                                             \
      "  push {r4-r11, lr}\n"                           \
      "  vpush {d8-d9}\n"                               \
      "  ldrd r1, r2, [r0]\n"                           \
      "  strd r1, r2, [sp, #-8]!\n"                     \
      "  ldrd r7, r9, [r0, #8]\n"                       \
      "  ldrd r11, r12, [r0, #16]\n"                    \
      "  ldrd r5, r3, [r0, #24]\n"                      \
      "1:\n"                                            \
      "  ldrd lr, r1, [sp]\n" load "  " begin           \
      " lr, lr\n"                                       \
      "2:\n" body "  " end                              \
      " lr, 2b\n"                                       \
      "  strd r4, r6, [r12, #128]\n"                    \
      "  strd r8, r10, [r12, #256]\n"                   \
      "  strd r0, r2, [r12], #8\n"                      \
      "  add r7, r5\n"                                  \
      "  add r9, r5\n"                                  \
      "  cmp r12, r3\n"                                 \
      "  bne 1b\n"                                      \
      "  add sp, #8\n"                                  \
      "  vpop {d8-d9}\n"                                \
      "  pop {r4-r11, pc}\n"                            \
      "  .size " name ", . - " name                     \
      "\n"                                              \
      "  .text\n")

// Sums that begin with initial values, or go on; for any number of terms, or for multiples of 32.
extern "C" {
void wick_mve_dot_first(const void* dot);
void wick_mve_dot_next(const void* dot);
void wick_mve_dot_first_32(const void* dot);
void wick_mve_dot_next_32(const void* dot);
}
WICK_DOT_FUNCTION("wick_mve_dot_first", WICK_DOT_FIRST, "dlstp.8", WICK_DOT_BLOCK, "letp");
WICK_DOT_FUNCTION("wick_mve_dot_next", WICK_DOT_NEXT, "dlstp.8", WICK_DOT_BLOCK, "letp");
WICK_DOT_FUNCTION("wick_mve_dot_first_32", WICK_DOT_FIRST, "dls", WICK_DOT_BLOCK WICK_DOT_BLOCK, "le");
WICK_DOT_FUNCTION("wick_mve_dot_next_32", WICK_DOT_NEXT, "dls", WICK_DOT_BLOCK WICK_DOT_BLOCK, "le");

// One row and six channels at a time.
extern "C" void wick_mve_dot_single(const void* dot);
asm("  .section .text.wick_mve_dot_single,\"ax\",%progbits\n"
    "  .p2align 2\n"
    "  .type wick_mve_dot_single, %function\n"
    "  .thumb_func\n"
    "wick_mve_dot_single:\n"
    "  push {r4-r11, lr}\n"
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
    "  vldrb.u8 q0, [r1], #16\n"
    "  vldrb.u8 q1, [r3], #16\n"
    "  vmladava.s8 r0, q0, q1\n"
    "  vldrb.u8 q2, [r5], #16\n"
    "  vmladava.s8 r2, q0, q2\n"
    "  vldrb.u8 q3, [r7], #16\n"
    "  vmladava.s8 r4, q0, q3\n"
    "  vldrb.u8 q1, [r9], #16\n"
    "  vmladava.s8 r6, q0, q1\n"
    "  vldrb.u8 q2, [r11], #16\n"
    "  vmladava.s8 r8, q0, q2\n"
    "  vldrb.u8 q3, [r12], #16\n"
    "  vmladava.s8 r10, q0, q3\n"
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
    "  pop {r4-r11, pc}\n"
    "  .size wick_mve_dot_single, . - wick_mve_dot_single\n"
    "  .text\n");

namespace wick::cortex_m::mve {

static_assert(kGemmChannels * sizeof(int32_t) == 128, "the assembly has the distance of the rows of sums");

int8_t* pack_row(int8_t* tile, const int8_t* from, int32_t count) {
  asm volatile(
      "  dlstp.8 lr, %[count]\n"
      "1: vldrb.u8 q0, [%[from]], #16\n"
      "  vstrb.8 q0, [%[tile]], #48\n"
      "  letp lr, 1b\n"
      : [tile] "+l"(tile), [from] "+l"(from)
      : [count] "r"(count)
      : "lr", "q0", "memory");
  return tile;
}

GemmPass::GemmPass(const Gemm& gemm, int32_t first, bool single_row)
    : gemm_(gemm), channels_(gemm.channels - first), weights_(gemm.weights + first * gemm.terms) {
  const int32_t most = single_row ? kGemmRows * kGemmChannels : kGemmChannels;
  if (channels_ > most) channels_ = most;
  if (gemm.multipliers != nullptr) {
    multipliers_ = gemm.multipliers + first;
    shifts_ = gemm.shifts + first;
    for (int32_t c = 0; c < channels_; ++c) shifts_right_ = shifts_right_ && shifts_[c] < 0;
  } else {
    for (int32_t i = 0; i < 8; ++i) {
      scales_[i] = gemm.stage.multiplier;
      scales_[8 + i] = gemm.stage.shift;
    }
    multipliers_ = scales_;
    shifts_ = scales_ + 8;
    scale_step_ = 0;
    shifts_right_ = gemm.stage.shift < 0;
  }
  if (single_row && gemm.addend != nullptr && gemm.input_offset == 0) {
    copy_bytes(reinterpret_cast<int8_t*>(initial_), reinterpret_cast<const int8_t*>(gemm.addend + first),
               channels_ * static_cast<int32_t>(sizeof(int32_t)));
    first_ = {};
    return;
  }
  const int32_t filter_sum = wrapping_mul(gemm.filter_offset, gemm.terms);
  const int8_t* row = weights_;
  for (int32_t c = 0; c < channels_; ++c, row += gemm.terms) {
    int32_t value = gemm.addend != nullptr ? gemm.addend[first + c] : 0;
    if (gemm.input_offset != 0) {
      const int32_t sum = wrapping_add(sum_of_bytes(row, gemm.terms), filter_sum);
      value = wrapping_add(value, wrapping_mul(gemm.input_offset, sum));
    }
    if (single_row) {
      initial_[c] = value;
    } else {
      int32_t* initial = initial_ + (c / 2) * 6 + c % 2;
      initial[0] = initial[2] = initial[4] = value;
    }
  }
  first_ = prepare(tile_, 0, gemm.terms < kBlockTerms ? gemm.terms : kBlockTerms);
}

GemmPass::Dot GemmPass::prepare(const int8_t* tile, int32_t begin, int32_t terms) {
  const int8_t* weights = weights_ + begin;
  const int32_t pairs = channels_ / 2, rounded = (terms + 15) & ~15;
  const bool by_32 = terms % 32 == 0;
  Dot dot;
  dot.count = by_32 ? terms / 32 : terms;
  dot.tile = tile;
  dot.weights = weights;
  dot.next_weights = weights + gemm_.terms;
  dot.initial = initial_;
  dot.sums = sums_;
  dot.step = 2 * gemm_.terms - rounded;
  dot.end = sums_ + 2 * pairs;
  dot.function =
      reinterpret_cast<void (*)(const Dot*)>(begin == 0 ? (by_32 ? wick_mve_dot_first_32 : wick_mve_dot_first)
                                                        : (by_32 ? wick_mve_dot_next_32 : wick_mve_dot_next));
  return dot;
}

void GemmPass::accumulate(const Dot& dot) const {
  const int32_t pairs = channels_ / 2;
  if (pairs > 0) dot.function(&dot);
  if (channels_ % 2 == 0) return;
  Dot last = dot;  // the last channel twice
  last.weights = last.next_weights = dot.weights + 2 * pairs * gemm_.terms;
  last.initial = initial_ + 6 * pairs;
  last.sums = dot.sums + 2 * pairs;
  last.end = last.sums + 2;
  last.function(&last);
}

/// Eight channels at a time where all shifts are to the right; returns how many.
template <int32_t kCount>
int32_t GemmPass::write_eights(int8_t* out, int32_t out_stride) const {
  const int16x8_t min = vdupq_n_s16(static_cast<int16_t>(gemm_.stage.min)),
                  max = vdupq_n_s16(static_cast<int16_t>(gemm_.stage.max));
  const int32_t offset = gemm_.stage.offset;
  const int32_t *multipliers = multipliers_, *shifts = shifts_, *sums = sums_, step = 8 * scale_step_;
  for (int32_t left = channels_ / 8; left > 0; --left, out += 8, sums += 8) {
    const int32x4x2_t multiplier = load_pairs(multipliers), shift = load_pairs(shifts);
    for (int32_t row = 0; row < kCount; ++row) {
      const int32x4x2_t value = load_pairs(sums + row * kGemmChannels);
      const int16x8_t both = narrow(requantize_right(value.val[0], multiplier.val[0], shift.val[0]),
                                    requantize_right(value.val[1], multiplier.val[1], shift.val[1]), offset, min, max);
      vstrbq_s16(out + row * out_stride, both);
    }
    multipliers += step;
    shifts += step;
  }
  return channels_ & ~7;
}

void GemmPass::write(int32_t count, int8_t* out, int32_t out_stride) const {
  int32_t done = 0;
  if (shifts_right_ && gemm_.filter_offset == 0 && channels_ >= 8)
    done = count == 3   ? write_eights<3>(out, out_stride)
           : count == 2 ? write_eights<2>(out, out_stride)
                        : write_eights<1>(out, out_stride);
  if (done == channels_) return;
  const int32x4_t min = vdupq_n_s32(gemm_.stage.min), max = vdupq_n_s32(gemm_.stage.max);
  const int32_t step = 4 * scale_step_;
  for (int32_t row = 0; row < count; ++row) {
    const int32_t *multipliers = multipliers_ + done * scale_step_, *shifts = shifts_ + done * scale_step_;
    const int32_t* sums = sums_ + row * kGemmChannels + done;
    int8_t* to = out + row * out_stride + done;
    for (int32_t left = channels_ - done; left > 0; left -= 4, to += 4, sums += 4) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(left));
      const int32x4_t value = vaddq_n_s32(vldrwq_z_s32(sums, live), row_terms_[row]);
      const int32x4_t scaled = requantize_any(value, vldrwq_z_s32(multipliers, live), vldrwq_z_s32(shifts, live));
      vstrbq_p_s32(to, clamp(vaddq_n_s32(scaled, gemm_.stage.offset), min, max), live);
      multipliers += step;
      shifts += step;
    }
  }
}

void GemmPass::run(const int8_t* const rows[kGemmRows], int32_t count, int8_t* out, int32_t out_stride) {
  int32_t begin = 0;
  do {
    const int32_t left = gemm_.terms - begin, terms = left < kBlockTerms ? left : kBlockTerms;
    for (int32_t row = 0; terms > 0 && row < kGemmRows; ++row)
      pack_row(tile_ + 16 * row, rows[row < count ? row : 0] + begin, terms);
    if (begin == 0) {
      accumulate(first_);
    } else {
      accumulate(prepare(tile_, begin, terms));
    }
    begin += terms;
  } while (begin < gemm_.terms);
  if (gemm_.filter_offset != 0) {
    for (int32_t row = 0; row < count; ++row)
      row_terms_[row] = wrapping_mul(gemm_.filter_offset, sum_of_bytes(rows[row], gemm_.terms));
  }
  write(count, out, out_stride);
}

void GemmPass::run_single(const int8_t* row, int8_t* out) {
  constexpr int32_t kSix = DotSingle::kChannels;
  const int32_t terms = gemm_.terms, whole = channels_ / kSix * kSix;
  for (int32_t c = 0; c < channels_; c += 4) vstrwq_s32(sums_ + c, vldrwq_s32(initial_ + c));
  DotSingle dot = {terms, row, sums_, sums_ + whole, kSix * terms - ((terms + 15) & ~15), {}};
  for (int32_t i = 0; i < kSix; ++i) dot.weights[i] = weights_ + i * terms;
  if (whole > 0) wick_mve_dot_single(&dot);
  if (whole < channels_) {
    int32_t last[kSix];
    for (int32_t i = 0; i < kSix; ++i) {
      const int32_t c = whole + i < channels_ ? whole + i : channels_ - 1;
      last[i] = sums_[c];
      dot.weights[i] = weights_ + c * terms;
    }
    dot.sums = last;
    dot.end = last + kSix;
    wick_mve_dot_single(&dot);
    for (int32_t c = whole; c < channels_; ++c) sums_[c] = last[c - whole];
  }
  if (gemm_.filter_offset != 0) row_terms_[0] = wrapping_mul(gemm_.filter_offset, sum_of_bytes(row, terms));
  write(1, out, channels_);
}

void GemmPass::run_tile(const int8_t* tile, int32_t count, int8_t* out, int32_t out_stride) {
  if (first_.tile != tile) first_ = prepare(tile, 0, gemm_.terms);
  accumulate(first_);
  write(count, out, out_stride);
}

void multiply_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y) {
  if (rows == 1 && gemm.terms > 0) {
    for (int32_t first = 0; first < gemm.channels; first += kGemmRows * kGemmChannels)
      GemmPass(gemm, first, true).run_single(x, y + first);
    return;
  }
  for (int32_t first = 0; first < gemm.channels; first += kGemmChannels) {
    GemmPass pass(gemm, first);
    const int8_t* row = x;
    int8_t* out = y + first;
    for (int32_t left = rows; left > 0; left -= kGemmRows) {
      const int8_t* const tile[kGemmRows] = {row, row + gemm.terms, row + 2 * gemm.terms};
      pass.run(tile, left < kGemmRows ? left : kGemmRows, out, gemm.channels);
      row += kGemmRows * gemm.terms;
      out += kGemmRows * gemm.channels;
    }
  }
}

}  // namespace wick::cortex_m::mve
