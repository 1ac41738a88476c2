#if defined(__ARM_FEATURE_DSP) && !defined(WICK_CORTEX_M_SCALAR)
#include "backends/cortex_m/kernels/isa/dsp.h"

namespace wick::cortex_m {

// r0 tile, r1 weights, lr sums; r4-r7 the sums of one output, r8-r11 a word of each row of the tile, r3 four weights,
// r12 two of them. On the stack: skip, end of the sums, groups, tile.
__attribute__((naked)) void Dsp::accumulate_rows(const uint32_t*, const int8_t*, int32_t*, const WeightRows*) {
  asm(".macro wick_dsp_group\n"
      "  ldr r3, [r1], #4\n"
      "  ldm r0!, {r8-r11}\n"
      "  sxtb16 r12, r3\n"
      "  smlad r4, r8, r12, r4\n"
      "  smlad r5, r9, r12, r5\n"
      "  smlad r6, r10, r12, r6\n"
      "  smlad r7, r11, r12, r7\n"
      "  ldm r0!, {r8-r11}\n"
      "  sxtb16 r12, r3, ror #8\n"
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
      "subs r2, #4\n"
      "blt 3f\n"
      "2:\n"
      ".rept 4\n"
      "wick_dsp_group\n"
      ".endr\n"
      "subs r2, #4\n"
      "bge 2b\n"
      "3: adds r2, #4\n"
      "beq 5f\n"
      "4: wick_dsp_group\n"
      "subs r2, #1\n"
      "bne 4b\n"
      "5: stm lr!, {r4-r7}\n"
      "ldrd r8, r9, [sp, #4]\n"
      "add r1, r8\n"
      "cmp lr, r9\n"
      "bne 1b\n"
      "add sp, #16\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_dsp_group\n");
}

// r0 tile, r1 weights, r2 stride, r3 3 stride; r4-r7 sums, r8 and r9 two words of the tile, r10 four weights, r11 two
// of them, r12 groups.
__attribute__((naked)) void Dsp::dot1(const uint32_t*, const int8_t*, int32_t, int32_t, int32_t*) {
  asm(".macro wick_dsp_row sum\n"
      "  sxtb16 r11, r10\n"
      "  sxtb16 r10, r10, ror #8\n"
      "  smlad \\sum, r8, r11, \\sum\n"
      "  smlad \\sum, r9, r10, \\sum\n"
      ".endm\n"
      ".macro wick_dsp_rows\n"
      "  ldrd r8, r9, [r0], #8\n"
      "  ldr r10, [r1, r2]\n"
      "  wick_dsp_row r5\n"
      "  ldr r10, [r1, r2, lsl #1]\n"
      "  wick_dsp_row r6\n"
      "  ldr r10, [r1, r3]\n"
      "  wick_dsp_row r7\n"
      "  ldr r10, [r1], #4\n"
      "  wick_dsp_row r4\n"
      ".endm\n"
      "push {r4-r11, lr}\n"
      "ldr lr, [sp, #36]\n"
      "ldm lr, {r4-r7}\n"
      "mov r12, r3\n"
      "add r3, r2, r2, lsl #1\n"
      "subs r12, #1\n"
      "beq 2f\n"
      "1:\n"
      ".rept 2\n"
      "wick_dsp_rows\n"
      ".endr\n"
      "subs r12, #2\n"
      "bgt 1b\n"
      "bmi 3f\n"
      "2: wick_dsp_rows\n"
      "3: stm lr, {r4-r7}\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_dsp_rows\n"
      ".purgem wick_dsp_row\n");
}

// r0 sums, r1 multipliers, r2 shifts, r3 out; r4-r7 results, r8 a multiplier, r9 a shift, r10-r12 distances of rows 1
// to 3, lr the offset; the end of the sums on the stack.
__attribute__((naked)) void Dsp::finish_rows(const int32_t*, const int32_t*, const int32_t*, int8_t*,
                                             const RowResults*) {
  asm(".macro wick_dsp_finish sum\n"
      "  lsl \\sum, \\sum, #1\n"
      "  smmulr \\sum, \\sum, r8\n"
      "  add \\sum, \\sum, \\sum, asr #31\n"
      "  asrs \\sum, \\sum, r9\n"
      "  adc \\sum, \\sum, lr\n"
      "  ssat \\sum, #8, \\sum\n"
      ".endm\n"
      "push {r4-r11, lr}\n"
      "ldr r4, [sp, #36]\n"
      "ldm r4, {r5, r10-r12, lr}\n"
      "add r4, r0, lr, lsl #4\n"
      "mov lr, r5\n"
      "push {r4}\n"
      "1: ldr r8, [r1], #4\n"
      "ldr r9, [r2], #4\n"
      "ldm r0!, {r4-r7}\n"
      "rsb r9, r9, #0\n"
      "wick_dsp_finish r7\n"
      "wick_dsp_finish r6\n"
      "wick_dsp_finish r5\n"
      "wick_dsp_finish r4\n"
      "strb r7, [r3, r12]\n"
      "strb r6, [r3, r11]\n"
      "strb r5, [r3, r10]\n"
      "strb r4, [r3], #1\n"
      "ldr r8, [sp]\n"
      "cmp r0, r8\n"
      "bne 1b\n"
      "add sp, #4\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_dsp_finish\n");
}

// r0 x, r1 weights, r2 offset, r3 step of taps; r4-r7 sums; r8 and r9 four weights, r10 and r11 four values; r12 rows
// (later the offset of outputs), lr taps (otherwise the block). On the stack: x, weights, out and the block's address.
#define WICK_DEPTHWISE_BEGIN                \
  ".macro wick_dsp_scale sum, multiplier\n" \
  "  lsl \\sum, \\sum, #1\n"                \
  "  smmulr \\sum, \\sum, \\multiplier\n"   \
  "  add \\sum, \\sum, \\sum, asr #31\n"    \
  ".endm\n"                                 \
  ".macro wick_dsp_round sum, right\n"      \
  "  asrs \\sum, \\sum, \\right\n"          \
  "  adc \\sum, \\sum, r12\n"               \
  "  ssat \\sum, #8, \\sum\n"               \
  ".endm\n"                                 \
  "push {r0-r11, lr}\n"                     \
  "1: ldr lr, [sp, #12]\n"                  \
  "ldrd r0, r1, [sp]\n"                     \
  "ldrd r3, r2, [lr, #16]\n"                \
  "add r4, lr, #40\n"                       \
  "ldm r4, {r4-r7}\n"
#define WICK_DEPTHWISE_ROWS \
  "ldr r12, [lr, #8]\n"     \
  "2: ldr lr, [lr, #12]\n"  \
  "3: wick_dsp_tap\n"       \
  "subs lr, #1\n"           \
  "bne 3b\n"                \
  "ldr lr, [sp, #12]\n"     \
  "ldrd r8, r9, [lr]\n"     \
  "add r0, r8\n"            \
  "add r1, r9\n"            \
  "subs r12, #1\n"          \
  "bne 2b\n"
#define WICK_DEPTHWISE_FINISH   \
  "ldr r12, [lr, #36]\n"        \
  "add r0, lr, #56\n"           \
  "ldm r0!, {r8-r11}\n"         \
  "wick_dsp_scale r4, r8\n"     \
  "wick_dsp_scale r5, r9\n"     \
  "wick_dsp_scale r6, r10\n"    \
  "wick_dsp_scale r7, r11\n"    \
  "ldm r0, {r8-r11}\n"          \
  "wick_dsp_round r4, r8\n"     \
  "wick_dsp_round r5, r9\n"     \
  "wick_dsp_round r6, r10\n"    \
  "wick_dsp_round r7, r11\n"    \
  "ldr r0, [sp]\n"              \
  "ldr r3, [sp, #8]\n"          \
  "add r8, lr, #24\n"           \
  "ldm r8, {r8-r10}\n"          \
  "ldr r1, [lr, #92]\n"         \
  "strb r4, [r3]\n"             \
  "strb r5, [r3, r1]\n"         \
  "strb r6, [r3, r1, lsl #1]\n" \
  "add r1, r1, r1, lsl #1\n"    \
  "strb r7, [r3, r1]\n"         \
  "add r3, r10\n"               \
  "add r0, r9\n"                \
  "str r0, [sp]\n"              \
  "str r3, [sp, #8]\n"          \
  "subs r8, #1\n"               \
  "str r8, [lr, #24]\n"         \
  "bne 1b\n"                    \
  "add sp, #16\n"               \
  "pop {r4-r11, pc}\n"          \
  ".purgem wick_dsp_scale\n"    \
  ".purgem wick_dsp_round\n"

// Each value is one of four channels.
#define WICK_DEPTHWISE_PRODUCTS      \
  ".macro wick_dsp_products\n"       \
  "  ldrd r8, r9, [r1], #8\n"        \
  "  sxtab16 r10, r2, r11\n"         \
  "  sxtab16 r11, r2, r11, ror #8\n" \
  "  smlabb r4, r10, r8, r4\n"       \
  "  smlatt r6, r10, r8, r6\n"       \
  "  smlabb r5, r11, r9, r5\n"       \
  "  smlatt r7, r11, r9, r7\n"       \
  ".endm\n"

__attribute__((naked)) void Dsp::depthwise_pixels(const int8_t*, const uint32_t*, int8_t*, DepthwiseBlock*) {
  asm(WICK_DEPTHWISE_PRODUCTS
      ".macro wick_dsp_tap\n"
      "  ldr r11, [r0]\n"
      "  add r0, r3\n"
      "  wick_dsp_products\n"
      ".endm\n" WICK_DEPTHWISE_BEGIN WICK_DEPTHWISE_ROWS WICK_DEPTHWISE_FINISH
      ".purgem wick_dsp_products\n"
      ".purgem wick_dsp_tap\n");
}

__attribute__((naked)) void Dsp::depthwise_pixels_3x3(const int8_t*, const uint32_t*, int8_t*, DepthwiseBlock*) {
  asm(WICK_DEPTHWISE_PRODUCTS WICK_DEPTHWISE_BEGIN
      "ldr r12, [lr, #88]\n"
      ".rept 3\n"
      "ldr r11, [r0]\n"
      "wick_dsp_products\n"
      "ldr r11, [r0, r3]\n"
      "wick_dsp_products\n"
      "ldr r11, [r0, r3, lsl #1]\n"
      "wick_dsp_products\n"
      "add r0, r12\n"
      ".endr\n" WICK_DEPTHWISE_FINISH ".purgem wick_dsp_products\n");
}

__attribute__((naked)) void Dsp::depthwise_pixels_of_one(const int8_t*, const uint32_t*, int8_t*, DepthwiseBlock*) {
  asm(".macro wick_dsp_tap\n"
      "  ldrsb r11, [r0]\n"
      "  ldrd r8, r9, [r1], #8\n"
      "  add r0, r3\n"
      "  sadd16 r11, r11, r2\n"
      "  smlabb r4, r11, r8, r4\n"
      "  smlabt r6, r11, r8, r6\n"
      "  smlabb r5, r11, r9, r5\n"
      "  smlabt r7, r11, r9, r7\n"
      ".endm\n" WICK_DEPTHWISE_BEGIN WICK_DEPTHWISE_ROWS WICK_DEPTHWISE_FINISH ".purgem wick_dsp_tap\n");
}
#undef WICK_DEPTHWISE_BEGIN
#undef WICK_DEPTHWISE_ROWS
#undef WICK_DEPTHWISE_FINISH
#undef WICK_DEPTHWISE_PRODUCTS

}  // namespace wick::cortex_m
#endif
