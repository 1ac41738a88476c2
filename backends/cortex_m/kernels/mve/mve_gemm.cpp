#include "backends/cortex_m/kernels/mve/gemm.h"
#include "backends/cortex_m/kernels/mve/gemm_single.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m::mve {
namespace {

/// The operands of the assembly, in the order in which it reads them. It changes `x`, `line`, `lines` and the weights.
struct Dot {
  int32_t* sums;           // [rows][3]
  const int32_t* initial;  // for two rows
  int32_t pairs;           // pairs of rows in the width
  const int8_t* x;
  int32_t step;  // from one row to the next
  const int8_t* weights[3];
  int32_t whole, rest;  // terms of a line: in blocks of 32, and the rest
  int32_t lines, pitch;
  const int8_t* line;
  const void* own[2];
  int32_t all_pairs, height, left;
  int32_t jump;  // from the end of a width to the next one
  int32_t skip;  // from the end of a line of weights to the next one
};

}  // namespace
}  // namespace wick::cortex_m::mve

// Sums of three channels. A block of their weights, 32 terms of each, stays in q0 to q5 for all rows, which come two at
// a time: r0, r2, r4 are the sums of the first, r6, r8, r10 those of the second. No compiler keeps six accumulators in
// even registers beside the pointers, hence assembly. r12: Dot. r1, r9: row and step. r3, r7, r11: weights. r5: sums.
extern "C" void wick_mve_dot(wick::cortex_m::mve::Dot* dot);
#define WICK_SUMS "{r0, r2, r4, r6, r8, r10}\n"
// Begins the next width; r4 widths are left.
#define WICK_WIDTH         \
  "34:\n"                  \
  "  ldr lr, [r12, #8]\n"  \
  "  str r4, [r12, #68]\n" \
  "  dls lr, lr\n"
#define WICK_DOT_ROW(a, b, c)  \
  "  vldrb.u8 q6, [r1]\n"      \
  "  vmladava.s8 " a           \
  ", q0, q6\n"                 \
  "  vldrb.u8 q7, [r1, #16]\n" \
  "  vmladava.s8 " b           \
  ", q2, q6\n"                 \
  "  vmladava.s8 " c           \
  ", q4, q6\n"                 \
  "  add r1, r9\n"             \
  "  vmladava.s8 " a           \
  ", q1, q7\n"                 \
  "  vmladava.s8 " b           \
  ", q3, q7\n"                 \
  "  vmladava.s8 " c ", q5, q7\n"
asm("  .section .text.wick_mve_dot,\"ax\",%progbits\n"
    "  .p2align 2\n"
    "  .type wick_mve_dot, %function\n"
    "  .thumb_func\n"
    "wick_mve_dot:\n"
    "  push {r4-r11, lr}\n"
    "  vpush {d8-d15}\n"
    "  mov r12, r0\n"
    "  ldrd r5, r7, [r12]\n"
    "  ldr lr, [r12, #60]\n"
    "  ldm r7, " WICK_SUMS
    "  dls lr, lr\n"
    "1:\n"
    "  stm r5!, " WICK_SUMS
    "  le lr, 1b\n"
    "  ldrd r9, r3, [r12, #16]\n"
    "  ldrd r7, r11, [r12, #24]\n"
    "2:\n"  // a line
    "  ldr r0, [r12, #32]\n"
    "  cmp r0, #0\n"
    "  beq 5f\n"
    "  add r0, r3\n"
    "  str r0, [r12, #52]\n"
    "3:\n"  // 32 terms of it
    "  vldrb.u8 q0, [r3], #16\n"
    "  vldrb.u8 q1, [r3], #16\n"
    "  vldrb.u8 q2, [r7], #16\n"
    "  vldrb.u8 q3, [r7], #16\n"
    "  vldrb.u8 q4, [r11], #16\n"
    "  vldrb.u8 q5, [r11], #16\n"
    "  ldr r1, [r12, #12]\n"
    "  ldr r5, [r12]\n"
    "  add r0, r1, #32\n"
    "  str r0, [r12, #12]\n"
    "  ldr r4, [r12, #64]\n" WICK_WIDTH
    "4:\n"
    "  ldm r5, " WICK_SUMS WICK_DOT_ROW("r0", "r2", "r4")
        WICK_DOT_ROW("r6", "r8", "r10") "  stm r5!, " WICK_SUMS
                                        "  le lr, 4b\n"
                                        "  ldrd r4, r2, [r12, #68]\n"
                                        "  add r1, r2\n"
                                        "  subs r4, #1\n"
                                        "  bne 34b\n"
                                        "  ldr r0, [r12, #52]\n"
                                        "  cmp r3, r0\n"
                                        "  bne 3b\n"
                                        "5:\n"
                                        "  ldr r0, [r12, #36]\n"
                                        "  cmp r0, #0\n"
                                        "  beq 8f\n"
                                        "6:\n"  // up to 16 terms
                                        "  vctp.8 r0\n"
                                        "  vpsttt\n"
                                        "  vldrbt.u8 q0, [r3]\n"
                                        "  vldrbt.u8 q1, [r7]\n"
                                        "  vldrbt.u8 q2, [r11]\n"
                                        "  mov r2, r0\n"
                                        "  cmp r0, #16\n"
                                        "  it gt\n"
                                        "  movgt r2, #16\n"
                                        "  add r3, r2\n"
                                        "  add r7, r2\n"
                                        "  add r11, r2\n"
                                        "  sub r0, r2\n"
                                        "  strd r0, r11, [r12, #52]\n"
                                        "  ldr r1, [r12, #12]\n"
                                        "  ldr r5, [r12]\n"
                                        "  add r2, r1\n"
                                        "  str r2, [r12, #12]\n"
                                        "  add r11, r1, r9\n"
                                        "  lsl r9, r9, #1\n"
                                        "  ldr r4, [r12, #64]\n" WICK_WIDTH
                                        "7:\n"
                                        "  ldm r5, " WICK_SUMS
                                        "  vpstt\n"
                                        "  vldrbt.u8 q6, [r1]\n"
                                        "  vldrbt.u8 q7, [r11]\n"
                                        "  vmladava.s8 r0, q0, q6\n"
                                        "  add r1, r9\n"
                                        "  vmladava.s8 r2, q1, q6\n"
                                        "  add r11, r9\n"
                                        "  vmladava.s8 r4, q2, q6\n"
                                        "  vmladava.s8 r6, q0, q7\n"
                                        "  vmladava.s8 r8, q1, q7\n"
                                        "  vmladava.s8 r10, q2, q7\n"
                                        "  stm r5!, " WICK_SUMS
                                        "  le lr, 7b\n"
                                        "  ldrd r4, r2, [r12, #68]\n"
                                        "  add r1, r2\n"
                                        "  add r11, r2\n"
                                        "  subs r4, #1\n"
                                        "  bne 34b\n"
                                        "  asr r9, r9, #1\n"
                                        "  ldrd r0, r11, [r12, #52]\n"
                                        "  cmp r0, #0\n"
                                        "  bne 6b\n"
                                        "8:\n"
                                        "  ldr r0, [r12, #76]\n"
                                        "  add r3, r0\n"
                                        "  add r7, r0\n"
                                        "  add r11, r0\n"
                                        "  ldrd r0, r2, [r12, #40]\n"
                                        "  subs r0, #1\n"
                                        "  ldr r1, [r12, #48]\n"
                                        "  str r0, [r12, #40]\n"
                                        "  add r1, r2\n"
                                        "  str r1, [r12, #48]\n"
                                        "  str r1, [r12, #12]\n"
                                        "  bne 2b\n"
                                        "  vpop {d8-d15}\n"
                                        "  pop {r4-r11, pc}\n"
                                        "  .size wick_mve_dot, . - wick_mve_dot\n"
                                        "  .text\n");

namespace wick::cortex_m::mve {

GemmPass::GemmPass(const Gemm& gemm, int32_t first) : gemm_(gemm), first_(first), channels_(gemm.channels - first) {
  if (channels_ > kGemmChannels) channels_ = kGemmChannels;
  shifts_right_ = gemm.shifts != nullptr || gemm.stage.shift < 0;
  for (int32_t c = 0; gemm.shifts != nullptr && c < channels_; ++c)
    shifts_right_ = shifts_right_ && gemm.shifts[first + c] < 0;
}

void GemmPass::select(const GemmTerms& terms) {
  terms_ = terms;
  const int32_t filter_sum = wrapping_mul(gemm_.filter_offset, terms.lines * terms.line_terms);
  const int8_t* row = gemm_.weights + first_ * gemm_.terms + terms.begin;
  for (int32_t c = 0; c < channels_; ++c, row += gemm_.terms) {
    int32_t value = gemm_.addend != nullptr ? gemm_.addend[first_ + c] : 0;
    if (gemm_.input_offset != 0) {
      int32_t sum = filter_sum;
      for (int32_t line = 0; line < terms.lines; ++line)
        sum = wrapping_add(sum, sum_of_bytes(row + line * terms.pitch, terms.line_terms));
      value = wrapping_add(value, wrapping_mul(gemm_.input_offset, sum));
    }
    initial_[c] = value;
  }
}

WICK_COLD void GemmPass::set_out_step(int32_t step) {
  if (step == out_step_) return;
  constexpr int32_t kMostStep = (UINT16_MAX - kTriple) / (kVectorSums - 1);
  out_step_ = step;
  by_vectors_ = shifts_right_ && step <= kMostStep;
  uint16_t* place = places_;
  const int32_t second = channel_of(0, 1), third = channel_of(0, 2);
  for (int32_t row = 0, at = 0; row < kPattern / kTriple; ++row, at += step) {
    *place++ = static_cast<uint16_t>(at);
    *place++ = static_cast<uint16_t>(at + second);
    *place++ = static_cast<uint16_t>(at + third);
  }
}

WICK_COLD void GemmPass::run(const GemmRows& rows, const GemmOut& out) {
  GemmRows here = rows;
  GemmOut to = out;
  set_out_step(out.step);
  const bool by_height = rows.height > 1 && rows.width % 2 == 0 && 2 * rows.width <= most_rows();
  const int32_t most = by_height ? most_rows() / rows.width : 1;
  for (int32_t left = rows.height; left > 0; left -= most) {
    here.height = left < most ? left : most;
    if (here.height > 1)
      run_rows(here, to);
    else
      run_line(here, to);
    here.x += most * rows.next;
    to.y += most * out.next;
  }
}

/// A width of any size. Rows are computed in pairs; if their number is odd, some are computed twice.
WICK_COLD void GemmPass::run_line(const GemmRows& rows, const GemmOut& out) {
  GemmRows here = rows;
  GemmOut to = out;
  if (rows.width % 2 == 1 && rows.width > 1 && rows.width < most_rows()) {
    here.width = ((rows.width + 1) / 2 + 1) & ~1;
    here.height = 2;
    here.next = (rows.width - here.width) * rows.step;
    to.next = (rows.width - here.width) * out.step;
    return run_rows(here, to);
  }
  for (int32_t begin = 0; begin < rows.width; begin += here.width) {
    here.width = rows.width - begin < most_rows() ? rows.width - begin : most_rows();
    if (here.width % 2 == 1 && begin > 0) {
      --begin;
      ++here.width;
    }
    here.x = rows.x + begin * rows.step;
    to.y = out.y + begin * out.step;
    run_rows(here, to);
  }
}

/// Three channels at a time.
void GemmPass::run_rows(const GemmRows& rows, const GemmOut& out) {
  if (gemm_.filter_offset != 0) set_row_terms(rows);
  Dot dot;
  int32_t initial[2 * kTriple];
  dot.sums = sums_;
  dot.initial = initial;
  dot.pairs = (rows.width + 1) / 2;
  dot.step = rows.width == 1 ? 0 : rows.step;
  dot.whole = terms_.line_terms & ~31;
  dot.rest = terms_.line_terms & 31;
  dot.skip = terms_.pitch - terms_.line_terms;
  dot.pitch = rows.pitch;
  dot.all_pairs = dot.pairs * rows.height;
  dot.height = rows.height;
  dot.jump = rows.next - rows.width * rows.step;
  const bool bounded = gemm_.stage.min > INT8_MIN || gemm_.stage.max < INT8_MAX;
  const int32_t terms = gemm_.terms, channels = channels_, second = channel_of(0, 1), third = channel_of(0, 2);
  const int8_t* const weights = gemm_.weights + first_ * terms + terms_.begin;
  for (int32_t done = 0; done < channels; done += kTriple) {
    // The last channels are computed together with some before them, which are computed twice.
    const int32_t channel = done + kTriple <= channels || channels < kTriple ? done : channels - kTriple;
    const int32_t* from = initial_ + channel;
    dot.x = dot.line = rows.x;
    dot.lines = terms_.lines;
    dot.weights[0] = weights + channel * terms;
    dot.weights[1] = dot.weights[0] + second * terms;
    dot.weights[2] = dot.weights[0] + third * terms;
    initial[0] = initial[kTriple] = from[0];
    initial[1] = initial[kTriple + 1] = from[second];
    initial[2] = initial[kTriple + 2] = from[third];
    wick_mve_dot(&dot);
    if (gemm_.filter_offset != 0) add_row_terms(rows.width * rows.height);
    const GemmOut to = {out.y + channel, out.step, out.next};
    if (!by_vectors_)
      write_any(channel, rows, to);
    else if (bounded)
      write<true>(channel, rows, to);
    else
      write<false>(channel, rows, to);
  }
}

/// With a filter offset, a row has one line, and adds the same number to all of its sums.
WICK_COLD void GemmPass::set_row_terms(const GemmRows& rows) {
  int32_t* at = sums_ + kRowTerms;
  for (int32_t y = 0; y < rows.height; ++y) {
    const int8_t* row = rows.x + y * rows.next;
    for (int32_t x = 0; x < rows.width; ++x, row += rows.step)
      *at++ = wrapping_mul(gemm_.filter_offset, sum_of_bytes(row, terms_.line_terms));
  }
}

/// Four rows at a time.
void GemmPass::add_row_terms(int32_t rows) {
  const uint32x4_t row[kTriple] = {{0, 0, 0, 1}, {1, 1, 2, 2}, {2, 3, 3, 3}};
  const int32_t* terms = sums_ + kRowTerms;
  int32_t* sum = sums_;
  for (; rows > 0; rows -= 4, terms += 4) {
    for (int32_t i = 0; i < kTriple; ++i, sum += 4)
      vstrwq_s32(sum, vaddq_s32(vldrwq_s32(sum), vldrwq_gather_shifted_offset_s32(terms, row[i])));
  }
}

/// Writes eight sums at a time. Their channels repeat after 24 sums, so there are three different vectors of channels.
template <bool kBounded>
void GemmPass::write(int32_t channel, const GemmRows& rows, const GemmOut& out) const {
  int32_t m[kTriple], s[kTriple];
  for (int32_t i = 0; i < kTriple; ++i) {
    const int32_t c = first_ + channel_of(channel, i);
    m[i] = gemm_.multipliers != nullptr ? gemm_.multipliers[c] : gemm_.stage.multiplier;
    s[i] = gemm_.multipliers != nullptr ? gemm_.shifts[c] : gemm_.stage.shift;
  }
  const int32x4_t ma = {m[0], m[2], m[1], m[0]}, mb = {m[1], m[0], m[2], m[1]}, mc = {m[2], m[1], m[0], m[2]};
  const int32x4_t sa = {s[0], s[2], s[1], s[0]}, sb = {s[1], s[0], s[2], s[1]}, sc = {s[2], s[1], s[0], s[2]};
  const int16_t min = static_cast<int16_t>(gemm_.stage.min), max = static_cast<int16_t>(gemm_.stage.max);
  const int16_t offset = static_cast<int16_t>(gemm_.stage.offset);
  const int32_t* from = sums_;
  const auto eight = [&](int32x4_t m_even, int32x4_t s_even, int32x4_t m_odd, int32x4_t s_odd) {
    const int32x4x2_t value = load_pairs(from);
    from += kVectorSums;
    const int32x4_t even = requantize_right(value.val[0], m_even, s_even);
    const int32x4_t odd = requantize_right(value.val[1], m_odd, s_odd);
    const int16x8_t both = vqaddq_n_s16(vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), even), odd), offset);
    if (kBounded) return vminq_s16(vmaxq_s16(both, vdupq_n_s16(min)), vdupq_n_s16(max));
    return vreinterpretq_s16_s8(vqmovnbq_s16(vuninitializedq_s8(), both));
  };
  const uint16_t* places = places_;
  const int32_t width_sums = rows.width * kTriple, step = kVectorSums * out.step, next = out.next;
  int8_t* line = out.y;
  for (int32_t height = rows.height; height > 0; --height, line += next) {
    int8_t* to = line;
    int32_t left = width_sums;
    for (; left >= kPattern; left -= kPattern, to += step) {
      vstrbq_scatter_offset_s16(to, vldrhq_u16(places), eight(ma, sa, mb, sb));
      vstrbq_scatter_offset_s16(to, vldrhq_u16(places + 8), eight(mc, sc, ma, sa));
      vstrbq_scatter_offset_s16(to, vldrhq_u16(places + 16), eight(mb, sb, mc, sc));
    }
    const auto part = [&](const uint16_t* at, int16x8_t values) {
      vstrbq_scatter_offset_p_s16(to, vldrhq_u16(at), values, vctp16q(static_cast<uint32_t>(left)));
      left -= kVectorSums;
    };
    if (left > 0) part(places, eight(ma, sa, mb, sb));
    if (left > 0) part(places + 8, eight(mc, sc, ma, sa));
    if (left > 0) part(places + 16, eight(mb, sb, mc, sc));
    if (left < 0) from += left;  // without what the last vector had beyond the line
  }
}

/// Writes results for any shift, and for rows of the output at any distance.
WICK_COLD void GemmPass::write_any(int32_t channel, const GemmRows& rows, const GemmOut& out) const {
  const int32_t* sum = sums_;
  for (int32_t row = 0; row < rows.height * rows.width; ++row) {
    int8_t* to = out.y + row / rows.width * out.next + row % rows.width * out.step;
    for (int32_t i = 0; i < kTriple; ++i, ++sum) {
      const int32_t c = first_ + channel_of(channel, i);
      OutputStage stage = gemm_.stage;
      if (gemm_.multipliers != nullptr) {
        stage.multiplier = gemm_.multipliers[c];
        stage.shift = gemm_.shifts[c];
      }
      to[channel_of(0, i)] = stage(*sum);
    }
  }
}

void multiply_rows(const Gemm& gemm, const int8_t* x, int32_t rows, int8_t* y) {
  if (rows == 1 && gemm.terms > 0) return multiply_row(gemm, x, y);
  for (int32_t first = 0; first < gemm.channels; first += kGemmChannels) {
    GemmPass pass(gemm, first);
    pass.select({0, 1, gemm.terms, 0});
    pass.run({x, gemm.terms, 0, rows, 1, 0}, {y + first, gemm.channels, 0});
  }
}

}  // namespace wick::cortex_m::mve
