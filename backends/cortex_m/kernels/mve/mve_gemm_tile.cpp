#include "backends/cortex_m/kernels/mve/gemm_tile.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

// The sums of three rows and two channels at a time: r0, r4, r8 of the first channel, r2, r6, r10 of the second. No
// compiler keeps six accumulators in even registers beside the pointers, hence assembly.
#define WICK_TILE_VECTOR       \
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
#define WICK_TILE_FUNCTION(name, begin, body, end) \
  asm("  .section .text." name                     \
      ",\"ax\",%progbits\n"                        \
      "  .p2align 2\n"                             \
      "  .type " name                              \
      ", %function\n"                              \
      "  .thumb_func\n" name                       \
      ":\n"                                        \
      "  push {r4-r11, lr}\n"                      \
      "  vpush {d8-d9}\n"                          \
      "  ldrd r1, r2, [r0]\n"                      \
      "  strd r1, r2, [sp, #-8]!\n"                \
      "  ldrd r7, r9, [r0, #8]\n"                  \
      "  ldrd r11, r12, [r0, #16]\n"               \
      "  ldrd r5, r3, [r0, #24]\n"                 \
      "1:\n"                                       \
      "  ldrd lr, r1, [sp]\n"                      \
      "  ldrd r0, r2, [r11], #8\n"                 \
      "  mov r4, r0\n"                             \
      "  mov r6, r2\n"                             \
      "  mov r8, r0\n"                             \
      "  mov r10, r2\n"                            \
      "  " begin                                   \
      " lr, lr\n"                                  \
      "2:\n" body "  " end                         \
      " lr, 2b\n"                                  \
      "  strd r4, r6, [r12, #256]\n"               \
      "  strd r8, r10, [r12, #512]\n"              \
      "  strd r0, r2, [r12], #8\n"                 \
      "  add r7, r5\n"                             \
      "  add r9, r5\n"                             \
      "  cmp r12, r3\n"                            \
      "  bne 1b\n"                                 \
      "  add sp, #8\n"                             \
      "  vpop {d8-d9}\n"                           \
      "  pop {r4-r11, pc}\n"                       \
      "  .size " name ", . - " name                \
      "\n"                                         \
      "  .text\n")

// One for any number of terms, one for multiples of 32.
extern "C" {
void wick_mve_dot_tile(const void* dot);
void wick_mve_dot_tile_32(const void* dot);
}
WICK_TILE_FUNCTION("wick_mve_dot_tile", "dlstp.8", WICK_TILE_VECTOR, "letp");
WICK_TILE_FUNCTION("wick_mve_dot_tile_32", "dls", WICK_TILE_VECTOR WICK_TILE_VECTOR, "le");

namespace wick::cortex_m::mve {
namespace {

/// The operands of the assembly, in the order in which it reads them.
struct TileDot {
  int32_t count;                         // loop count: terms, or blocks of 32
  const int8_t* tile;                    //
  const int8_t *weights, *next_weights;  // rows of a pair of channels
  const int32_t* initial;                // for a pair of channels
  int32_t* sums;                         // three rows, kTileChannels apart
  int32_t step;                          // from the end of a row of weights to the next pair
  const int32_t* end;                    // of the first row of sums
};
static_assert(kTileChannels * sizeof(int32_t) == 256, "the assembly has the distance of the rows of sums");

}  // namespace

int8_t* copy_to_tile(int8_t* tile, const int8_t* from, int32_t count) {
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

TilePass::TilePass(const Gemm& gemm, int32_t first, const int8_t* tile)
    : gemm_(gemm),
      first_(first),
      channels_(gemm.channels - first),
      pitch_(gemm.pitch == 0 ? gemm.terms : gemm.pitch),
      tile_(tile) {
  if (channels_ > kTileChannels) channels_ = kTileChannels;
  const int8_t* row = gemm.weights + first * pitch_;
  for (int32_t c = 0; c < channels_; ++c, row += pitch_) {
    shifts_right_ = shifts_right_ && gemm.shifts[first + c] < 0;
    int32_t value = gemm.addend != nullptr ? gemm.addend[first + c] : 0;
    if (gemm.input_offset != 0)
      value = wrapping_add(value, wrapping_mul(gemm.input_offset, sum_of_bytes(row, gemm.terms)));
    // The last channel of an odd number is computed twice.
    initial_[c] = initial_[c + 1] = value;
  }
}

void TilePass::accumulate() {
  const int32_t terms = gemm_.terms, pairs = channels_ / 2;
  const bool by_32 = terms % 32 == 0;
  TileDot dot;
  dot.count = by_32 ? terms / 32 : terms;
  dot.tile = tile_;
  dot.weights = gemm_.weights + first_ * pitch_;
  dot.next_weights = dot.weights + pitch_;
  dot.initial = initial_;
  dot.sums = sums_;
  dot.step = 2 * pitch_ - tile_bytes(terms) / kTileRows;
  dot.end = sums_ + 2 * pairs;
  const auto run = by_32 ? wick_mve_dot_tile_32 : wick_mve_dot_tile;
  if (pairs > 0) run(&dot);
  if (channels_ % 2 == 0) return;
  dot.weights += 2 * pairs * pitch_;
  dot.next_weights = dot.weights;
  dot.initial += 2 * pairs;
  dot.sums += 2 * pairs;
  dot.end += 2;
  run(&dot);
}

/// Writes eight channels at a time. Returns how many channels it wrote.
int32_t TilePass::write_eights(int32_t rows, int8_t* y, int32_t step) const {
  const int16x8_t min = vdupq_n_s16(static_cast<int16_t>(gemm_.stage.min)),
                  max = vdupq_n_s16(static_cast<int16_t>(gemm_.stage.max));
  const int32_t *multipliers = gemm_.multipliers + first_, *shifts = gemm_.shifts + first_, *sums = sums_;
  const int32_t offset = gemm_.stage.offset;
  for (int32_t left = channels_ / 8; left > 0; --left, y += 8, sums += 8) {
    const int32x4x2_t multiplier = load_pairs(multipliers), shift = load_pairs(shifts);
    for (int32_t row = 0; row < rows; ++row) {
      const int32x4x2_t value = load_pairs(sums + row * kTileChannels);
      vstrbq_s16(y + row * step,
                 narrow(requantize_right(value.val[0], multiplier.val[0], shift.val[0]),
                        requantize_right(value.val[1], multiplier.val[1], shift.val[1]), offset, min, max));
    }
    multipliers += 8;
    shifts += 8;
  }
  return channels_ & ~7;
}

void TilePass::run(int32_t rows, int8_t* y, int32_t step) {
  accumulate();
  const int32_t done = shifts_right_ ? write_eights(rows, y, step) : 0;
  const int32x4_t min = vdupq_n_s32(gemm_.stage.min), max = vdupq_n_s32(gemm_.stage.max);
  for (int32_t c = done; c < channels_; c += 4) {
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(channels_ - c));
    const int32x4_t multiplier = vldrwq_z_s32(gemm_.multipliers + first_ + c, live);
    const int32x4_t shift = vldrwq_z_s32(gemm_.shifts + first_ + c, live);
    for (int32_t row = 0; row < rows; ++row) {
      const int32x4_t value = vldrwq_z_s32(sums_ + row * kTileChannels + c, live);
      const int32x4_t scaled = requantize_any(value, multiplier, shift);
      vstrbq_p_s32(y + row * step + c, clamp(vaddq_n_s32(scaled, gemm_.stage.offset), min, max), live);
    }
  }
}

}  // namespace wick::cortex_m::mve
