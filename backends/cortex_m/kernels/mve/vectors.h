// Vectors of int8, and the final steps of a kernel's arithmetic on them, for MVE. C++17, freestanding.
#pragma once
#include <arm_mve.h>

#include "backends/cortex_m/kernels/positions.h"
#include "backends/cortex_m/kernels/requantize.h"

namespace wick::cortex_m::mve {

inline void copy_bytes(int8_t* to, const int8_t* from, int32_t count) {
  for (; count > 0; count -= 16, to += 16, from += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(count));
    vstrbq_p_s8(to, vldrbq_z_s8(from, live), live);
  }
}

inline void fill_bytes(int8_t* to, int8_t value, int32_t count) {
  const int8x16_t values = vdupq_n_s8(value);
  for (; count > 0; count -= 16, to += 16) vstrbq_p_s8(to, values, vctp8q(static_cast<uint32_t>(count)));
}

inline int32_t sum_of_bytes(const int8_t* x, int32_t count) {
  int32_t sum = 0;
  for (; count > 0; count -= 16, x += 16) {
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(count));
    sum = vaddvaq_p_s8(sum, vldrbq_z_s8(x, live), live);
  }
  return sum;
}

/// The exact sum of products, computed eight at a time.
inline int64_t dot_int16(const int16_t* a, const int16_t* b, int32_t count) {
  int64_t sum = 0;
  for (; count > 0; count -= 8, a += 8, b += 8) {
    const mve_pred16_t live = vctp16q(static_cast<uint32_t>(count));
    sum = vmlaldavaq_p_s16(sum, vldrhq_z_s16(a, live), vldrhq_z_s16(b, live), live);
  }
  return sum;
}

/// divide_by_power_of_two for exponents of at least 1; `right` is the negated exponent. The rounding shift rounds
/// halves up, so 1 is subtracted from negative values first: it is the upper half of twice their product with 1.
inline int32x4_t divide_rounding(int32x4_t value, int32x4_t right) {
  return vrshlq_s32(vqdmlahq_n_s32(value, value, 1), right);
}
inline int32x4_t divide_rounding(int32x4_t value, int32_t right) {
  return vrshlq_n_s32(vqdmlahq_n_s32(value, value, 1), right);
}

/// requantize() if all shifts are negative.
inline int32x4_t requantize_right(int32x4_t value, int32x4_t multiplier, int32x4_t shift) {
  return divide_rounding(vqrdmulhq_s32(value, multiplier), shift);
}
inline int32x4_t requantize_right(int32x4_t value, int32_t multiplier, int32_t shift) {
  return divide_rounding(vqrdmulhq_n_s32(value, multiplier), shift);
}

/// requantize() for any shift. Only shifts to the right subtract 1 from negative values.
inline int32x4_t requantize_any(int32x4_t value, int32x4_t multiplier, int32x4_t shift) {
  const int32x4_t zero = vdupq_n_s32(0), right = vminq_s32(shift, zero);
  const int32x4_t high = vqrdmulhq_s32(vshlq_s32(value, vmaxq_s32(shift, zero)), multiplier);
  const int32x4_t nudged = vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31));
  return vrshlq_s32(nudged, right);
}

inline int32x4_t requantize_any(int32x4_t value, int32_t multiplier, int32_t shift) {
  return requantize_any(value, vdupq_n_s32(multiplier), vdupq_n_s32(shift));
}

/// Loads eight words: the even ones into `val[0]`, the odd ones into `val[1]`.
inline int32x4x2_t load_pairs(const int32_t* from) {
#ifdef __clang__
  return vld2q_s32(from);
#else
  // GCC 12 generates an addressing mode for vld2 that does not exist. It also assumes that a gather or scatter accesses
  // only 16 bytes at its base, so that it moves other accesses past it.
  asm volatile("" ::: "memory");
  const uint32x4_t even = vidupq_n_u32(0, 2);
  return {{vldrwq_gather_shifted_offset_s32(from, even), vldrwq_gather_shifted_offset_s32(from + 1, even)}};
#endif
}

/// The inverse of load_pairs. `to` is aligned to four bytes.
inline void store_pairs(int32_t* to, int32x4_t even, int32x4_t odd) {
#ifdef __clang__
  vst2q_s32(to, int32x4x2_t{{even, odd}});
#else
  const uint32x4_t places = vidupq_n_u32(0, 2);
  vstrwq_scatter_shifted_offset_s32(to, places, even);
  vstrwq_scatter_shifted_offset_s32(to + 1, places, odd);
  asm volatile("" ::: "memory");  // as in load_pairs
#endif
}

/// Narrows even and odd int32 elements to eight int16 in order, adds `offset`, and clamps them to [min, max], which
/// fits int8.
inline int16x8_t narrow(int32x4_t even, int32x4_t odd, int32_t offset, int16x8_t min, int16x8_t max) {
  const int16x8_t both = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), even), odd);
  return vminq_s16(vmaxq_s16(vqaddq_n_s16(both, static_cast<int16_t>(offset)), min), max);
}

/// Calls whole(at) for each eight elements, and part(at, mask) for the rest.
template <typename Whole, typename Part>
inline void for_eights(int32_t count, const Whole& whole, const Part& part) {
  int32_t at = 0;
  for (int32_t eights = count / 8; eights > 0; --eights, at += 8) whole(at);
  if (at < count) part(at, vctp16q(static_cast<uint32_t>(count - at)));
}

inline int32x4_t clamp(int32x4_t value, int32x4_t min, int32x4_t max) { return vminq_s32(vmaxq_s32(value, min), max); }

/// Calls run(a, b, y, count) for pieces of a run in which each operand advances by 1 or stays (step 0). An operand that
/// stays is passed as a row of equal bytes.
template <typename Run>
inline void for_each_piece(const int8_t* a, int32_t step_a, const int8_t* b, int32_t step_b, int8_t* y, int32_t count,
                           const Run& run) {
  if (step_a == 1 && step_b == 1) return run(a, b, y, count);
  constexpr int32_t kPiece = 64;
  int8_t same_a[kPiece], same_b[kPiece];
  if (step_a == 0) fill_bytes(same_a, *a, kPiece);
  if (step_b == 0) fill_bytes(same_b, *b, kPiece);
  for (int32_t at = 0; at < count; at += kPiece)
    run(step_a == 0 ? same_a : a + at, step_b == 0 ? same_b : b + at, y + at,
        count - at < kPiece ? count - at : kPiece);
}

/// Plans the runs of a broadcast. Returns false if an operand has another stride along them than 1 or 0.
inline bool plan_broadcast(const Broadcast& broadcast, RunPlan* runs) {
  *runs = plan_runs(broadcast.sizes, broadcast.a, broadcast.b, broadcast.to);
  const auto fits = [](int32_t step) { return step == 0 || step == 1; };
  return fits(runs->a[0]) && fits(runs->b[0]);
}

/// Calls run(a, b, y, count) for pieces of all runs of a broadcast. Returns false, without a call, like plan_broadcast.
template <typename Run>
inline bool for_each_broadcast_piece(const Broadcast& broadcast, const int8_t* a, const int8_t* b, int8_t* y,
                                     const Run& run) {
  RunPlan runs;
  if (!plan_broadcast(broadcast, &runs)) return false;
  for_each_run(runs, [&](int32_t from_a, int32_t from_b, int32_t to) {
    for_each_piece(a + from_a, runs.a[0], b + from_b, runs.b[0], y + to, runs.sizes[0], run);
  });
  return true;
}

}  // namespace wick::cortex_m::mve
