// quantized_mul, eight elements at a time: differences to the zero points fit 16 bits. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mul/mul.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

template <bool kRight>
int16x8_t product(const Mul& mul, int16x8_t a, int16x8_t b, int16x8_t min, int16x8_t max) {
  const int16x8_t x = vaddq_n_s16(a, static_cast<int16_t>(-mul.zero_a)),
                  w = vaddq_n_s16(b, static_cast<int16_t>(-mul.zero_b));
  int32x4_t products[2] = {vmullbq_int_s16(x, w), vmulltq_int_s16(x, w)};
  for (int32x4_t& half : products)
    half = kRight ? requantize_right(half, mul.stage.multiplier, mul.stage.shift)
                  : requantize_any(half, mul.stage.multiplier, mul.stage.shift);
  return narrow(products[0], products[1], mul.stage.offset, min, max);
}

template <bool kRight>
void multiply_elements(const Mul& in, const int8_t* a, const int8_t* b, int8_t* y, int32_t count) {
  const Mul mul = in;  // a copy that no store can change
  const int16x8_t min = vdupq_n_s16(static_cast<int16_t>(mul.stage.min)),
                  max = vdupq_n_s16(static_cast<int16_t>(mul.stage.max));
  for_eights(
      count,
      [&](int32_t at) {
        const int16x8_t result = product<kRight>(mul, vldrbq_s16(a + at), vldrbq_s16(b + at), min, max);
        vstrbq_s16(y + at, result);
      },
      [&](int32_t at, mve_pred16_t live) {
        const int16x8_t x = vldrbq_z_s16(a + at, live), w = vldrbq_z_s16(b + at, live);
        const int16x8_t result = product<kRight>(mul, x, w, min, max);
        vstrbq_p_s16(y + at, result, live);
      });
}

void multiply_run(const Mul& mul, const int8_t* a, const int8_t* b, int8_t* y, int32_t count) {
  if (mul.stage.shift < 0) return multiply_elements<true>(mul, a, b, y, count);
  multiply_elements<false>(mul, a, b, y, count);
}

}  // namespace

void quantized_mul(KernelContext& context, Span<EValue*> args) {
  Mul mul;
  if (!read_mul(context, args, &mul)) return;
  for_each_run(mul.operands, mul.count, [&](size_t a, size_t b, size_t y, int32_t count) {
    multiply_run(mul, mul.a + a, mul.b + b, mul.y + y, count);
  });
}

void broadcast_mul(KernelContext& context, Span<EValue*> args) {
  BroadcastMul c;
  if (!read_broadcast_mul(context, args, &c)) return;
  const Mul& mul = c.mul;
  const auto run = [&](const int8_t* a, const int8_t* b, int8_t* y, int32_t count) {
    multiply_run(mul, a, b, y, count);
  };
  if (!for_each_broadcast_piece(c.broadcast, mul.a, mul.b, mul.y, run)) reference::broadcast_mul(context, args);
}

}  // namespace wick::cortex_m::mve
