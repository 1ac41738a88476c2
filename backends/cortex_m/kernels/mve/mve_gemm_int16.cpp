#include "backends/cortex_m/kernels/mve/gemm_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

extern "C" {
void wick_mve_int16_rows(const void* dot);
void wick_mve_int16_single(const void* dot);
}

// Three rows (r5, r9, r11) and two channels (r1, r3): widening loads take low registers only. Sums r0, r2 of row 0, r4,
// r6 of row 1, r8, r10 of row 2.
asm("  .section .text.wick_mve_int16_rows,\"ax\",%progbits\n"
    "  .p2align 2\n"
    "  .type wick_mve_int16_rows, %function\n"
    "  .thumb_func\n"
    "wick_mve_int16_rows:\n"
    "  push {r4-r11, lr}\n"
    "  ldm r0, {r1, r3, r5, r9, r11, r12, lr}\n"
    "  ldrd r0, r2, [r12]\n"
    "  ldrd r4, r6, [r12, #128]\n"
    "  ldrd r8, r10, [r12, #256]\n"
    "  dlstp.16 lr, lr\n"
    "1:\n"
    "  vldrb.s16 q0, [r1], #8\n"
    "  vldrh.u16 q2, [r5], #16\n"
    "  vmladava.s16 r0, q0, q2\n"
    "  vldrb.s16 q1, [r3], #8\n"
    "  vmladava.s16 r2, q1, q2\n"
    "  vldrh.u16 q3, [r9], #16\n"
    "  vmladava.s16 r4, q0, q3\n"
    "  vmladava.s16 r6, q1, q3\n"
    "  vldrh.u16 q2, [r11], #16\n"
    "  vmladava.s16 r8, q0, q2\n"
    "  vmladava.s16 r10, q1, q2\n"
    "  letp lr, 1b\n"
    "  strd r0, r2, [r12]\n"
    "  strd r4, r6, [r12, #128]\n"
    "  strd r8, r10, [r12, #256]\n"
    "  pop {r4-r11, pc}\n"
    "  .size wick_mve_int16_rows, . - wick_mve_int16_rows\n"
    "  .text\n");

// One row (r9) and four channels (r1, r3, r5, r7).
asm("  .section .text.wick_mve_int16_single,\"ax\",%progbits\n"
    "  .p2align 2\n"
    "  .type wick_mve_int16_single, %function\n"
    "  .thumb_func\n"
    "wick_mve_int16_single:\n"
    "  push {r4-r11, lr}\n"
    "  ldm r0, {r1, r3, r5, r7, r9, r12, lr}\n"
    "  ldm r12, {r0, r2, r4, r6}\n"
    "  dlstp.16 lr, lr\n"
    "1:\n"
    "  vldrh.u16 q3, [r9], #16\n"
    "  vldrb.s16 q0, [r1], #8\n"
    "  vmladava.s16 r0, q0, q3\n"
    "  vldrb.s16 q1, [r3], #8\n"
    "  vmladava.s16 r2, q1, q3\n"
    "  vldrb.s16 q2, [r5], #8\n"
    "  vmladava.s16 r4, q2, q3\n"
    "  vldrb.s16 q0, [r7], #8\n"
    "  vmladava.s16 r6, q0, q3\n"
    "  letp lr, 1b\n"
    "  stm r12, {r0, r2, r4, r6}\n"
    "  pop {r4-r11, pc}\n"
    "  .size wick_mve_int16_single, . - wick_mve_int16_single\n"
    "  .text\n");

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kSums = 32;           // of one row; the assembly depends on this distance
constexpr int32_t kWideTerms = 504;     // so many products of int16 and int8 have a sum of 31 bits
constexpr int32_t kSingleChannels = 4;  // computed at a time for a single row

// The operands of the assembly, in the order in which it reads them.
struct DotRows {
  const int8_t* weights[2];
  const int16_t* rows[GemmInt16::kRows];
  int32_t* sums;
  int32_t terms;
};
struct DotSingle {
  const int8_t* weights[kSingleChannels];
  const int16_t* row;
  int32_t* sums;
  int32_t terms;
};

/// sums += products of `terms` terms from `begin` on. The last channel is repeated in place of missing ones.
void accumulate_rows(const int16_t* const rows[GemmInt16::kRows], int32_t count, const int8_t* weights, int32_t stride,
                     int32_t channels, int32_t terms, int32_t* sums) {
  for (int32_t c = 0; c < channels; c += 2) {
    const int8_t* first = weights + c * stride;
    const DotRows dot = {{first, c + 1 < channels ? first + stride : first},
                         {rows[0], rows[count > 1 ? 1 : 0], rows[count > 2 ? 2 : 0]},
                         sums + c,
                         terms};
    wick_mve_int16_rows(&dot);
  }
}
void accumulate_row(const int16_t* row, const int8_t* weights, int32_t stride, int32_t channels, int32_t terms,
                    int32_t* sums) {
  for (int32_t c = 0; c < channels; c += kSingleChannels) {
    DotSingle dot = {{}, row, sums + c, terms};
    for (int32_t i = 0; i < kSingleChannels; ++i)
      dot.weights[i] = weights + (c + i < channels ? c + i : channels - 1) * stride;
    wick_mve_int16_single(&dot);
  }
}

void write(const Int16Channels& channels, const int32_t* sums, int32_t first, int32_t count, int16_t* out) {
  const int32x4_t min = vdupq_n_s32(channels.min), max = vdupq_n_s32(channels.max);
  for (int32_t c = 0; c < count; c += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(count - c));
    int32x4_t value = vldrwq_z_s32(sums + c, live), multiplier = vdupq_n_s32(*channels.multipliers),
              shift = vdupq_n_s32(*channels.shifts);
    if (channels.step != 0) {
      multiplier = vldrwq_z_s32(channels.multipliers + first + c, live);
      shift = vldrwq_z_s32(channels.shifts + first + c, live);
    }
    if (channels.bias != nullptr) value = vaddq_s32(value, vldrwq_z_s32(channels.bias + first + c, live));
    vstrhq_p_s32(out + c, clamp(requantize_any(value, multiplier, shift), min, max), live);
  }
}

}  // namespace

void GemmInt16::run_block(const int16_t* const rows[kRows], int32_t count, int32_t first, int32_t block, int16_t* out,
                          int32_t out_stride) const {
  static_assert(kBlock == kSums);
  int64_t totals[kRows * kSums];
  alignas(8) int32_t sums[kRows * kSums];
  const bool wide = channels->is_wide();
  const int8_t* from = weights + first * terms;
  const int32_t step = wide && terms > kWideTerms ? kWideTerms : terms;
  for (int32_t i = 0; wide && i < count * kSums; ++i) totals[i] = 0;
  for (int32_t begin = 0; begin < terms; begin += step) {
    for (int32_t& sum : sums) sum = 0;
    const int32_t left = terms - begin, length = left < step ? left : step;
    const int16_t* const at[kRows] = {rows[0] + begin, rows[count > 1 ? 1 : 0] + begin,
                                      rows[count > 2 ? 2 : 0] + begin};
    if (count == 1) {
      accumulate_row(at[0], from + begin, terms, block, length, sums);
    } else {
      accumulate_rows(at, count, from + begin, terms, block, length, sums);
    }
    for (int32_t i = 0; wide && i < count * kSums; ++i) totals[i] += sums[i];
  }
  for (int32_t row = 0; row < count; ++row, out += out_stride) {
    if (!wide) {
      write(*channels, sums + row * kSums, first_channel + first, block, out + first);
      continue;
    }
    for (int32_t c = 0; c < block; ++c)
      out[first + c] = channels->finish_products(totals[row * kSums + c], first_channel + first + c);
  }
}

void GemmInt16::run(const int16_t* const rows[kRows], int32_t count, int16_t* out, int32_t out_stride) const {
  for (int32_t first = 0; first < num_channels; first += kBlock) {
    const int32_t left = num_channels - first;
    run_block(rows, count, first, left < kBlock ? left : kBlock, out, out_stride);
  }
}

}  // namespace wick::cortex_m::mve
