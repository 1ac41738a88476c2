#include "backends/cortex_m/kernels/isa/scalar.h"

namespace wick::cortex_m {

#if defined(__thumb2__)

// r0 tile, r1 weights, lr sums; r4-r7 the sums of one output, r8-r11 a value of each row of the tile, r3 a weight. On
// the stack: groups, skip, end of the sums, tile.
__attribute__((naked)) void Scalar::accumulate_rows(const uint32_t*, const int8_t*, int32_t*, const WeightRows*) {
  asm("push {r4-r11, lr}\n"
      "mov lr, r2\n"
      "ldm r3, {r2, r4, r5}\n"
      "add r5, lr, r5, lsl #4\n"
      "push {r0}\n"
      "push {r2, r4, r5}\n"
      "1:\n"  // the next output
      "ldm lr, {r4-r7}\n"
      "ldr r2, [sp]\n"
      "ldr r0, [sp, #12]\n"
      "2:\n"
      ".rept 4\n"
      "ldrsb r3, [r1], #1\n"
      "ldm r0!, {r8-r11}\n"
      "mla r4, r8, r3, r4\n"
      "mla r5, r9, r3, r5\n"
      "mla r6, r10, r3, r6\n"
      "mla r7, r11, r3, r7\n"
      ".endr\n"
      "subs r2, #1\n"
      "bne 2b\n"
      "stm lr!, {r4-r7}\n"
      "ldrd r8, r9, [sp, #4]\n"
      "add r1, r8\n"
      "cmp lr, r9\n"
      "bne 1b\n"
      "add sp, #16\n"
      "pop {r4-r11, pc}\n");
}

// r0 tile, r1 weights, r2 stride, r3 3 stride; r4-r7 sums, r8 a value of the tile, r9 a weight, r12 groups.
__attribute__((naked)) void Scalar::dot1(const uint32_t*, const int8_t*, int32_t, int32_t, int32_t*) {
  asm("push {r4-r11, lr}\n"
      "ldr lr, [sp, #36]\n"
      "ldm lr, {r4-r7}\n"
      "mov r12, r3\n"
      "add r3, r2, r2, lsl #1\n"
      "1:\n"
      ".rept 4\n"
      "ldr r8, [r0], #4\n"
      "ldrsb r9, [r1, r2]\n"
      "mla r5, r8, r9, r5\n"
      "ldrsb r9, [r1, r2, lsl #1]\n"
      "mla r6, r8, r9, r6\n"
      "ldrsb r9, [r1, r3]\n"
      "mla r7, r8, r9, r7\n"
      "ldrsb r9, [r1], #1\n"
      "mla r4, r8, r9, r4\n"
      ".endr\n"
      "subs r12, #1\n"
      "bne 1b\n"
      "stm lr, {r4-r7}\n"
      "pop {r4-r11, pc}\n");
}

// r0 sums, r1 multipliers, r2 shifts, r3 out; r4-r7 results, r8 a multiplier, r9 a shift, r10 half a product, r11
// distances of rows; r12 the end of the sums, lr the offset. The distances of rows 1 to 3 are on the stack.
__attribute__((naked)) void Scalar::finish_rows(const int32_t*, const int32_t*, const int32_t*, int8_t*,
                                                const RowResults*) {
  asm(".macro wick_scalar_finish sum\n"
      "  lsl \\sum, \\sum, #1\n"
      "  smull r10, \\sum, r8, \\sum\n"
      "  add \\sum, \\sum, r10, lsr #31\n"
      "  add \\sum, \\sum, \\sum, asr #31\n"
      "  asrs \\sum, \\sum, r9\n"
      "  adc \\sum, \\sum, lr\n"
      "  ssat \\sum, #8, \\sum\n"
      ".endm\n"
      "push {r4-r11, lr}\n"
      "ldr r4, [sp, #36]\n"
      "ldm r4, {r5-r8, r12}\n"
      "add r12, r0, r12, lsl #4\n"
      "mov lr, r5\n"
      "push {r6-r8}\n"
      "1: ldr r8, [r1], #4\n"
      "ldr r9, [r2], #4\n"
      "ldm r0!, {r4-r7}\n"
      "rsb r9, r9, #0\n"
      "wick_scalar_finish r7\n"
      "wick_scalar_finish r6\n"
      "wick_scalar_finish r5\n"
      "wick_scalar_finish r4\n"
      "ldm sp, {r8, r10, r11}\n"
      "strb r7, [r3, r11]\n"
      "strb r6, [r3, r10]\n"
      "strb r5, [r3, r8]\n"
      "strb r4, [r3], #1\n"
      "cmp r0, r12\n"
      "bne 1b\n"
      "add sp, #12\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_scalar_finish\n");
}

// r0 x, r1 weights, r2 a value, r3 step of taps; r4-r7 sums; r8-r11 weights; r12 rows (later the offset of outputs), lr
// taps (otherwise the block). On the stack: x, weights, out and the block's address.
#define WICK_DEPTHWISE_BEGIN                   \
  ".macro wick_scalar_scale sum, multiplier\n" \
  "  lsl \\sum, \\sum, #1\n"                   \
  "  smull r2, \\sum, \\multiplier, \\sum\n"   \
  "  add \\sum, \\sum, r2, lsr #31\n"          \
  "  add \\sum, \\sum, \\sum, asr #31\n"       \
  ".endm\n"                                    \
  ".macro wick_scalar_round sum, right\n"      \
  "  asrs \\sum, \\sum, \\right\n"             \
  "  adc \\sum, \\sum, r12\n"                  \
  "  ssat \\sum, #8, \\sum\n"                  \
  ".endm\n"                                    \
  "push {r0-r11, lr}\n"                        \
  "1: ldr lr, [sp, #12]\n"                     \
  "ldrd r0, r1, [sp]\n"                        \
  "ldr r3, [lr, #16]\n"                        \
  "add r4, lr, #40\n"                          \
  "ldm r4, {r4-r7}\n"
#define WICK_DEPTHWISE_ROWS \
  "ldr r12, [lr, #8]\n"     \
  "2: ldr lr, [lr, #12]\n"  \
  "3: wick_scalar_tap\n"    \
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
  "wick_scalar_scale r4, r8\n"  \
  "wick_scalar_scale r5, r9\n"  \
  "wick_scalar_scale r6, r10\n" \
  "wick_scalar_scale r7, r11\n" \
  "ldm r0, {r8-r11}\n"          \
  "wick_scalar_round r4, r8\n"  \
  "wick_scalar_round r5, r9\n"  \
  "wick_scalar_round r6, r10\n" \
  "wick_scalar_round r7, r11\n" \
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
  ".purgem wick_scalar_scale\n" \
  ".purgem wick_scalar_round\n"

// Each value is one of four channels.
#define WICK_DEPTHWISE_TAP   \
  ".macro wick_scalar_tap\n" \
  "  ldm r1!, {r8-r11}\n"    \
  "  ldrsb r2, [r0]\n"       \
  "  mla r4, r2, r8, r4\n"   \
  "  ldrsb r2, [r0, #1]\n"   \
  "  mla r5, r2, r9, r5\n"   \
  "  ldrsb r2, [r0, #2]\n"   \
  "  mla r6, r2, r10, r6\n"  \
  "  ldrsb r2, [r0, #3]\n"   \
  "  mla r7, r2, r11, r7\n"  \
  "  add r0, r3\n"           \
  ".endm\n"

__attribute__((naked)) void Scalar::depthwise_pixels(const int8_t*, const uint32_t*, int8_t*, DepthwiseBlock*) {
  asm(WICK_DEPTHWISE_TAP WICK_DEPTHWISE_BEGIN WICK_DEPTHWISE_ROWS WICK_DEPTHWISE_FINISH ".purgem wick_scalar_tap\n");
}

__attribute__((naked)) void Scalar::depthwise_pixels_3x3(const int8_t*, const uint32_t*, int8_t*, DepthwiseBlock*) {
  asm(WICK_DEPTHWISE_TAP WICK_DEPTHWISE_BEGIN
      "ldr r12, [lr]\n"
      ".rept 3\n"
      "wick_scalar_tap\n"
      "wick_scalar_tap\n"
      "wick_scalar_tap\n"
      "add r0, r12\n"
      ".endr\n" WICK_DEPTHWISE_FINISH ".purgem wick_scalar_tap\n");
}

__attribute__((naked)) void Scalar::depthwise_pixels_of_one(const int8_t*, const uint32_t*, int8_t*, DepthwiseBlock*) {
  asm(".macro wick_scalar_tap\n"
      "  ldrsb r2, [r0]\n"
      "  ldm r1!, {r8-r11}\n"
      "  add r0, r3\n"
      "  mla r4, r2, r8, r4\n"
      "  mla r5, r2, r9, r5\n"
      "  mla r6, r2, r10, r6\n"
      "  mla r7, r2, r11, r7\n"
      ".endm\n" WICK_DEPTHWISE_BEGIN WICK_DEPTHWISE_ROWS WICK_DEPTHWISE_FINISH ".purgem wick_scalar_tap\n");
}
#undef WICK_DEPTHWISE_BEGIN
#undef WICK_DEPTHWISE_ROWS
#undef WICK_DEPTHWISE_FINISH
#undef WICK_DEPTHWISE_TAP

#else

namespace {
uint32_t wide(int8_t value) { return static_cast<uint32_t>(static_cast<int32_t>(value)); }
}  // namespace

void Scalar::accumulate_rows(const uint32_t* tile, const int8_t* weights, int32_t* sums, const WeightRows* rows) {
  for (int32_t n = 0; n < rows->count; ++n, weights += rows->skip, sums += 4) {
    uint32_t s0 = static_cast<uint32_t>(sums[0]), s1 = static_cast<uint32_t>(sums[1]);
    uint32_t s2 = static_cast<uint32_t>(sums[2]), s3 = static_cast<uint32_t>(sums[3]);
    const uint32_t* x = tile;
    for (const int8_t* end = weights + 4 * rows->groups; weights != end; ++weights, x += 4) {
      const uint32_t weight = wide(*weights);
      s0 += x[0] * weight;
      s1 += x[1] * weight;
      s2 += x[2] * weight;
      s3 += x[3] * weight;
    }
    sums[0] = static_cast<int32_t>(s0);
    sums[1] = static_cast<int32_t>(s1);
    sums[2] = static_cast<int32_t>(s2);
    sums[3] = static_cast<int32_t>(s3);
  }
}

void Scalar::dot1(const uint32_t* tile, const int8_t* weights, int32_t stride, int32_t groups, int32_t* sums) {
  uint32_t s0 = static_cast<uint32_t>(sums[0]), s1 = static_cast<uint32_t>(sums[1]);
  uint32_t s2 = static_cast<uint32_t>(sums[2]), s3 = static_cast<uint32_t>(sums[3]);
  for (const int8_t* end = weights + 4 * groups; weights != end; ++weights, ++tile) {
    s0 += *tile * wide(weights[0]);
    s1 += *tile * wide(weights[stride]);
    s2 += *tile * wide(weights[2 * stride]);
    s3 += *tile * wide(weights[3 * stride]);
  }
  sums[0] = static_cast<int32_t>(s0);
  sums[1] = static_cast<int32_t>(s1);
  sums[2] = static_cast<int32_t>(s2);
  sums[3] = static_cast<int32_t>(s3);
}

void Scalar::finish_rows(const int32_t* sums, const int32_t* multipliers, const int32_t* shifts, int8_t* out,
                         const RowResults* results) {
  for (int32_t n = 0; n < results->count; ++n, ++out, sums += 4) {
    for (int32_t row = 3; row >= 0; --row) {
      const int32_t value = rescale(sums[row], multipliers[n], -shifts[n], results->offset);
      out[row == 0 ? 0 : results->rows[row - 1]] = static_cast<int8_t>(saturate_int8(value));
    }
  }
}

namespace {

void depthwise_portable(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block, int32_t apart) {
  for (; block->count > 0; --block->count, x += block->x_step, out += block->out_step) {
    for (int32_t i = 0; i < 4; ++i) {
      uint32_t sum = static_cast<uint32_t>(block->bias[i]);
      const int8_t* value = x + i * apart;
      const uint32_t* weight = weights + i;
      for (int32_t row = 0; row < block->rows; ++row, value += block->x_skip, weight += block->weights_skip / 4) {
        for (int32_t tap = 0; tap < block->taps; ++tap, value += block->step, weight += 4)
          sum += wide(*value) * *weight;
      }
      const int32_t result =
          Scalar::rescale(static_cast<int32_t>(sum), block->multipliers[i], block->rights[i], block->output_offset);
      out[i * block->out_apart] = static_cast<int8_t>(Scalar::saturate_int8(result));
    }
  }
}

}  // namespace

void Scalar::depthwise_pixels(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block) {
  depthwise_portable(x, weights, out, block, 1);
}

void Scalar::depthwise_pixels_3x3(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block) {
  depthwise_portable(x, weights, out, block, 1);
}

void Scalar::depthwise_pixels_of_one(const int8_t* x, const uint32_t* weights, int8_t* out, DepthwiseBlock* block) {
  depthwise_portable(x, weights, out, block, 0);
}

#endif

void Scalar::fold_offset(const uint32_t* weights, DepthwiseBlock* block) {
  uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int32_t row = 0; row < block->rows; ++row, weights += block->weights_skip / 4) {
    for (int32_t tap = 0; tap < block->taps; ++tap, weights += 4) {
      s0 += weights[0];
      s1 += weights[1];
      s2 += weights[2];
      s3 += weights[3];
    }
  }
  const uint32_t sums[] = {s0, s1, s2, s3};
  for (int32_t i = 0; i < 4; ++i)
    block->bias[i] = static_cast<int32_t>(static_cast<uint32_t>(block->bias[i]) +
                                          sums[i] * static_cast<uint32_t>(block->input_offset));
}

}  // namespace wick::cortex_m
