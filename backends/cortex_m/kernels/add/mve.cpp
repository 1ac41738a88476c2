// quantized_add, eight elements at a time: (value - zero_point) fits 16 bits, shifted values fit 32. The equation:
// reference.cpp.
#include "backends/cortex_m/kernels/add/add.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

/// How an operand is scaled.
enum class Scale {
  half,   // multiplier 2^30, no shift: half of the value, exactly
  right,  // a shift to the right
  any,
};

Scale scale_of(const Addend& addend) {
  if (addend.scale.multiplier == 1 << 30 && addend.scale.shift == 0) return Scale::half;
  return addend.scale.shift < 0 ? Scale::right : Scale::any;
}

/// The even elements in `val[0]`, the odd ones in `val[1]`.
template <Scale kScale>
int32x4x2_t scaled(int16x8_t value, const Addend& addend) {
  // (value - zero_point) * 2^20 in two steps: 2^4 fits 16 bits.
  constexpr int16_t kFirst = kScale == Scale::half ? 8 : 16;
  const int16x8_t small = vmlasq_n_s16(value, vdupq_n_s16(kFirst), static_cast<int16_t>(-addend.zero_point * kFirst));
  int32x4x2_t result = {{vshllbq_n_s16(small, 16), vshlltq_n_s16(small, 16)}};
  if (kScale == Scale::half) return result;
  for (int32x4_t& half : result.val) {
    half = kScale == Scale::right ? requantize_right(half, addend.scale.multiplier, addend.scale.shift)
                                  : requantize_any(half, addend.scale.multiplier, addend.scale.shift);
  }
  return result;
}

template <Scale kA, Scale kB, bool kRight>
int16x8_t sum(const Add& add, int16x8_t a, int16x8_t b, int16x8_t min, int16x8_t max) {
  const OutputStage& stage = add.stage;
  const int32x4x2_t first = scaled<kA>(a, add.first), second = scaled<kB>(b, add.second);
  int32x4_t sums[2];
  for (int i = 0; i < 2; ++i) {
    const int32x4_t sum = vaddq_s32(first.val[i], second.val[i]);
    sums[i] = kRight ? requantize_right(sum, stage.multiplier, stage.shift)
                     : requantize_any(sum, stage.multiplier, stage.shift);
  }
  return narrow(sums[0], sums[1], stage.offset, min, max);
}

template <Scale kA, Scale kB, bool kRight>
void add_elements(const Add& in, const int8_t* a, const int8_t* b, int8_t* y, int32_t count) {
  const Add add = in;  // a copy that no store can change
  const int16x8_t min = vdupq_n_s16(static_cast<int16_t>(add.stage.min)),
                  max = vdupq_n_s16(static_cast<int16_t>(add.stage.max));
  for_eights(
      count,
      [&](int32_t at) {
        const int16x8_t result = sum<kA, kB, kRight>(add, vldrbq_s16(a + at), vldrbq_s16(b + at), min, max);
        vstrbq_s16(y + at, result);
      },
      [&](int32_t at, mve_pred16_t live) {
        const int16x8_t x = vldrbq_z_s16(a + at, live), w = vldrbq_z_s16(b + at, live);
        const int16x8_t result = sum<kA, kB, kRight>(add, x, w, min, max);
        vstrbq_p_s16(y + at, result, live);
      });
}

void add_run(const Add& add, const int8_t* a, const int8_t* b, int8_t* y, int32_t count) {
  const Scale scale_a = scale_of(add.first), scale_b = scale_of(add.second);
  if (add.stage.shift < 0 && scale_a == Scale::half && scale_b == Scale::right)
    return add_elements<Scale::half, Scale::right, true>(add, a, b, y, count);
  if (add.stage.shift < 0 && scale_a == Scale::right && scale_b == Scale::half)
    return add_elements<Scale::right, Scale::half, true>(add, a, b, y, count);
  if (add.stage.shift < 0 && scale_a == Scale::half && scale_b == Scale::half)
    return add_elements<Scale::half, Scale::half, true>(add, a, b, y, count);
  add_elements<Scale::any, Scale::any, false>(add, a, b, y, count);
}

}  // namespace

void quantized_add(KernelContext& context, Span<EValue*> args) {
  Add add;
  if (read_add(context, args, &add))
    for_each_run(add.operands, add.count, [&](size_t a, size_t b, size_t y, int32_t count) {
      add_run(add, add.a + a, add.b + b, add.y + y, count);
    });
}

void broadcast_add(KernelContext& context, Span<EValue*> args) {
  BroadcastAdd c;
  if (!read_broadcast_add(context, args, &c)) return;
  const Add& add = c.add;
  const auto run = [&](const int8_t* a, const int8_t* b, int8_t* y, int32_t count) { add_run(add, a, b, y, count); };
  if (!for_each_broadcast_piece(c.broadcast, add.a, add.b, add.y, run)) reference::broadcast_add(context, args);
}

}  // namespace wick::cortex_m::mve
