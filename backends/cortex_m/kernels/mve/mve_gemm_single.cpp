#include "backends/cortex_m/kernels/mve/gemm_single.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

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
namespace {

constexpr int32_t kSix = 6;
/// Channels of one pass, limited by the stack that their sums take. A multiple of six.
constexpr int32_t kPassChannels = 96;

/// The operands of the assembly, in the order in which it reads them.
struct Dot {
  int32_t count;  // number of terms
  const int8_t* row;
  int32_t* sums;  // contain the initial values at first
  const int32_t* end;
  int32_t step;  // from the end of a row to the next six
  const int8_t* weights[kSix];
};

class RowPass {
 public:
  RowPass(const Gemm& gemm, int32_t first) : gemm_(gemm), first_(first), channels_(gemm.channels - first) {
    if (channels_ > kPassChannels) channels_ = kPassChannels;
    weights_ = gemm.weights + first * gemm.terms;
    if (gemm.multipliers != nullptr) {
      multipliers_ = gemm.multipliers + first;
      shifts_ = gemm.shifts + first;
      for (int32_t c = 0; c < channels_; ++c) shifts_right_ = shifts_right_ && shifts_[c] < 0;
      return;
    }
    for (int32_t i = 0; i < 8; ++i) {
      scales_[i] = gemm.stage.multiplier;
      scales_[8 + i] = gemm.stage.shift;
    }
    multipliers_ = scales_;
    shifts_ = scales_ + 8;
    scale_step_ = 0;
    shifts_right_ = gemm.stage.shift < 0;
  }

  void run(const int8_t* x, int8_t* y) {
    set_initial(x);
    accumulate(x);
    write(y + first_);
  }

 private:
  void set_initial(const int8_t* x) {
    const int32_t terms = gemm_.terms, filter_sum = wrapping_mul(gemm_.filter_offset, terms);
    if (gemm_.addend != nullptr)
      copy_bytes(reinterpret_cast<int8_t*>(sums_), reinterpret_cast<const int8_t*>(gemm_.addend + first_),
                 channels_ * static_cast<int32_t>(sizeof(int32_t)));
    else
      fill_bytes(reinterpret_cast<int8_t*>(sums_), 0, channels_ * static_cast<int32_t>(sizeof(int32_t)));
    const int32_t row_term = gemm_.filter_offset == 0 ? 0 : wrapping_mul(gemm_.filter_offset, sum_of_bytes(x, terms));
    if (row_term == 0 && gemm_.input_offset == 0) return;
    for (int32_t c = 0; c < channels_; ++c) {
      const int32_t sum =
          gemm_.input_offset == 0 ? 0 : wrapping_add(sum_of_bytes(weights_ + c * terms, terms), filter_sum);
      sums_[c] = wrapping_add(wrapping_add(sums_[c], row_term), wrapping_mul(gemm_.input_offset, sum));
    }
  }

  void accumulate(const int8_t* x) {
    const int32_t terms = gemm_.terms, whole = channels_ / kSix * kSix;
    Dot dot = {terms, x, sums_, sums_ + whole, kSix * terms - ((terms + 15) & ~15), {}};
    for (int32_t i = 0; i < kSix; ++i) dot.weights[i] = weights_ + i * terms;
    if (whole > 0) wick_mve_dot_single(&dot);
    if (whole == channels_) return;
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

  /// Writes eight channels at a time, if all shifts are to the right. Returns how many channels it wrote.
  int32_t write_eights(int8_t* out) const {
    const int16x8_t min = vdupq_n_s16(static_cast<int16_t>(gemm_.stage.min)),
                    max = vdupq_n_s16(static_cast<int16_t>(gemm_.stage.max));
    const int32_t *multipliers = multipliers_, *shifts = shifts_, *sums = sums_;
    const int32_t offset = gemm_.stage.offset, step = 8 * scale_step_;
    for (int32_t left = channels_ / 8; left > 0; --left, out += 8, sums += 8) {
      const int32x4x2_t multiplier = load_pairs(multipliers), shift = load_pairs(shifts), value = load_pairs(sums);
      vstrbq_s16(out, narrow(requantize_right(value.val[0], multiplier.val[0], shift.val[0]),
                             requantize_right(value.val[1], multiplier.val[1], shift.val[1]), offset, min, max));
      multipliers += step;
      shifts += step;
    }
    return channels_ & ~7;
  }

  void write(int8_t* out) const {
    const int32_t done = shifts_right_ ? write_eights(out) : 0, step = 4 * scale_step_;
    const int32x4_t min = vdupq_n_s32(gemm_.stage.min), max = vdupq_n_s32(gemm_.stage.max);
    const int32_t *multipliers = multipliers_ + done * scale_step_, *shifts = shifts_ + done * scale_step_;
    const int32_t* sums = sums_ + done;
    out += done;
    for (int32_t left = channels_ - done; left > 0; left -= 4, out += 4, sums += 4) {
      const mve_pred16_t live = vctp32q(static_cast<uint32_t>(left));
      const int32x4_t scaled =
          requantize_any(vldrwq_z_s32(sums, live), vldrwq_z_s32(multipliers, live), vldrwq_z_s32(shifts, live));
      vstrbq_p_s32(out, clamp(vaddq_n_s32(scaled, gemm_.stage.offset), min, max), live);
      multipliers += step;
      shifts += step;
    }
  }

  const Gemm& gemm_;
  int32_t first_, channels_;
  const int8_t* weights_;
  const int32_t *multipliers_, *shifts_;
  int32_t scale_step_ = 1;  // 0 if all channels have the same scale
  bool shifts_right_ = true;
  int32_t scales_[16];
  alignas(8) int32_t sums_[kPassChannels];
};

}  // namespace

void multiply_row(const Gemm& gemm, const int8_t* x, int8_t* y) {
  for (int32_t first = 0; first < gemm.channels; first += kPassChannels) RowPass(gemm, first).run(x, y);
}

}  // namespace wick::cortex_m::mve
