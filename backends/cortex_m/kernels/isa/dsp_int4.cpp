// Packed 4-bit weights: two weights of a word that are 16 bits apart form a pair without further shuffling.
#if defined(__ARM_FEATURE_DSP) && !defined(WICK_CORTEX_M_SCALAR)
#include "backends/cortex_m/kernels/isa/dsp.h"

namespace wick::cortex_m {

// r0 tile, r1 weights, lr sums; r4-r7 the sums of one output, r8-r11 a word of each row of the tile, r3 eight weights,
// r12 two of them. On the stack: words, skip, end of the sums, tile.
__attribute__((naked)) void Dsp::accumulate_rows_int4(const uint32_t*, const int8_t*, int32_t*, const WeightRows*) {
  asm(".macro wick_dsp_pair\n"
      "  ldm r0!, {r8-r11}\n"
      "  and r12, r12, #0x000F000F\n"
      "  smlad r4, r8, r12, r4\n"
      "  smlad r5, r9, r12, r5\n"
      "  smlad r6, r10, r12, r6\n"
      "  smlad r7, r11, r12, r7\n"
      ".endm\n"
      "push {r4-r11, lr}\n"
      "mov lr, r2\n"
      "ldm r3, {r2, r4, r5}\n"
      "add r5, lr, r5, lsl #4\n"
      "push {r0}\n"
      "push {r2, r4, r5}\n"
      "1:\n"  // the next output
      "ldm lr, {r4-r7}\n"
      "ldr r2, [sp]\n"
      "ldr r0, [sp, #12]\n"
      "2: ldr r3, [r1], #4\n"
      "mov r12, r3\n"
      "wick_dsp_pair\n"
      "lsr r12, r3, #8\n"
      "wick_dsp_pair\n"
      "lsr r12, r3, #4\n"
      "wick_dsp_pair\n"
      "lsr r12, r3, #12\n"
      "wick_dsp_pair\n"
      "subs r2, #1\n"
      "bne 2b\n"
      "stm lr!, {r4-r7}\n"
      "ldrd r8, r9, [sp, #4]\n"
      "add r1, r8\n"
      "cmp lr, r9\n"
      "bne 1b\n"
      "add sp, #16\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_dsp_pair\n");
}

// r0 tile, r1 weights, r2 stride, r3 3 stride; r4-r7 sums, r8 and r9 two words of the tile, r10 eight weights, r11 two
// of them, r12 words.
__attribute__((naked)) void Dsp::dot1_int4(const uint32_t*, const int8_t*, int32_t, int32_t, int32_t*) {
  asm(".macro wick_dsp_low sum\n"
      "  and r11, r10, #0x000F000F\n"
      "  lsr r10, r10, #8\n"
      "  smlad \\sum, r8, r11, \\sum\n"
      "  and r10, r10, #0x000F000F\n"
      "  smlad \\sum, r9, r10, \\sum\n"
      ".endm\n"
      ".macro wick_dsp_high sum\n"
      "  lsr r11, r10, #4\n"
      "  lsr r10, r10, #12\n"
      "  and r11, r11, #0x000F000F\n"
      "  and r10, r10, #0x000F000F\n"
      "  smlad \\sum, r8, r11, \\sum\n"
      "  smlad \\sum, r9, r10, \\sum\n"
      ".endm\n"
      "push {r4-r11, lr}\n"
      "ldr lr, [sp, #36]\n"
      "ldm lr, {r4-r7}\n"
      "mov r12, r3\n"
      "add r3, r2, r2, lsl #1\n"
      "1: ldrd r8, r9, [r0], #8\n"
      "ldr r10, [r1]\n"
      "wick_dsp_low r4\n"
      "ldr r10, [r1, r2]\n"
      "wick_dsp_low r5\n"
      "ldr r10, [r1, r2, lsl #1]\n"
      "wick_dsp_low r6\n"
      "ldr r10, [r1, r3]\n"
      "wick_dsp_low r7\n"
      "ldrd r8, r9, [r0], #8\n"
      "ldr r10, [r1, r2]\n"
      "wick_dsp_high r5\n"
      "ldr r10, [r1, r2, lsl #1]\n"
      "wick_dsp_high r6\n"
      "ldr r10, [r1, r3]\n"
      "wick_dsp_high r7\n"
      "ldr r10, [r1], #4\n"
      "wick_dsp_high r4\n"
      "subs r12, #1\n"
      "bne 1b\n"
      "stm lr, {r4-r7}\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_dsp_low\n"
      ".purgem wick_dsp_high\n");
}

}  // namespace wick::cortex_m
#endif
