#include "backends/cortex_m/kernels/isa/scalar.h"

namespace wick::cortex_m {

#if defined(__thumb2__)

// r0 tile, r1 weights, lr sums; r4-r7 the sums of one output, r8-r11 a value of each row of the tile, r3 eight weights,
// r12 one of them. On the stack: words, skip, end of the sums, tile.
__attribute__((naked)) void Scalar::accumulate_rows_int4(const uint32_t*, const int8_t*, int32_t*, const WeightRows*) {
  asm(".macro wick_scalar_weight bit\n"
      "  ldm r0!, {r8-r11}\n"
      "  ubfx r12, r3, #\\bit, #4\n"
      "  mla r4, r8, r12, r4\n"
      "  mla r5, r9, r12, r5\n"
      "  mla r6, r10, r12, r6\n"
      "  mla r7, r11, r12, r7\n"
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
      ".irp bit, 0, 8, 16, 24, 4, 12, 20, 28\n"
      "wick_scalar_weight \\bit\n"
      ".endr\n"
      "subs r2, #1\n"
      "bne 2b\n"
      "stm lr!, {r4-r7}\n"
      "ldrd r8, r9, [sp, #4]\n"
      "add r1, r8\n"
      "cmp lr, r9\n"
      "bne 1b\n"
      "add sp, #16\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_scalar_weight\n");
}

// r0 tile, r1 weights, r2 stride; r4-r7 sums, r8 a value of the tile, r3 and r9-r11 eight weights of each row, r12 one
// of them, lr words. The address of the sums is the fifth argument.
__attribute__((naked)) void Scalar::dot1_int4(const uint32_t*, const int8_t*, int32_t, int32_t, int32_t*) {
  asm(".macro wick_scalar_weights bit\n"
      "  ldr r8, [r0], #4\n"
      "  ubfx r12, r9, #\\bit, #4\n"
      "  mla r4, r8, r12, r4\n"
      "  ubfx r12, r10, #\\bit, #4\n"
      "  mla r5, r8, r12, r5\n"
      "  ubfx r12, r11, #\\bit, #4\n"
      "  mla r6, r8, r12, r6\n"
      "  ubfx r12, r3, #\\bit, #4\n"
      "  mla r7, r8, r12, r7\n"
      ".endm\n"
      "push {r4-r11, lr}\n"
      "ldr r8, [sp, #36]\n"
      "ldm r8, {r4-r7}\n"
      "mov lr, r3\n"
      "1: add r3, r2, r2, lsl #1\n"
      "ldr r10, [r1, r2]\n"
      "ldr r11, [r1, r2, lsl #1]\n"
      "ldr r3, [r1, r3]\n"
      "ldr r9, [r1], #4\n"
      ".irp bit, 0, 8, 16, 24, 4, 12, 20, 28\n"
      "wick_scalar_weights \\bit\n"
      ".endr\n"
      "subs lr, #1\n"
      "bne 1b\n"
      "ldr r8, [sp, #36]\n"
      "stm r8, {r4-r7}\n"
      "pop {r4-r11, pc}\n"
      ".purgem wick_scalar_weights\n");
}

#else

namespace {

constexpr uint32_t kBits[] = {0, 8, 16, 24, 4, 12, 20, 28};  // of a word's weights

uint32_t dot_word(const uint32_t* tile, int32_t rows, uint32_t eight, uint32_t sum) {
  for (const uint32_t bit : kBits) {
    sum += *tile * (eight >> bit & 15);
    tile += rows;
  }
  return sum;
}

}  // namespace

void Scalar::accumulate_rows_int4(const uint32_t* tile, const int8_t* weights, int32_t* sums, const WeightRows* rows) {
  for (int32_t n = 0; n < rows->count; ++n, weights += rows->skip, sums += kTileRows) {
    const uint32_t* x = tile;
    for (int32_t word = 0; word < rows->groups; ++word, weights += 4, x += 8 * kTileRows) {
      for (int32_t row = 0; row < kTileRows; ++row)
        sums[row] =
            static_cast<int32_t>(dot_word(x + row, kTileRows, load_word(weights), static_cast<uint32_t>(sums[row])));
    }
  }
}

void Scalar::dot1_int4(const uint32_t* tile, const int8_t* weights, int32_t stride, int32_t words, int32_t* sums) {
  for (int32_t row = 0; row < 4; ++row, weights += stride) {
    uint32_t sum = static_cast<uint32_t>(sums[row]);
    for (int32_t word = 0; word < words; ++word) sum = dot_word(tile + 8 * word, 1, load_word(weights + 4 * word), sum);
    sums[row] = static_cast<int32_t>(sum);
  }
}

#endif

}  // namespace wick::cortex_m
