// wick_cortex_m::add_int16(self, self_multiplier, self_shift, other, other_multiplier, other_shift, output_multiplier,
// output_shift, activation_min, activation_max):
//   y = clamp(requantize(requantize(self 2^15) + requantize(other 2^15)))
// each with its own multiplier and shift. Source: arm_elementwise_add_s16 with a left shift of 15.
//
// wick_cortex_m::mul_int16(self, other, multiplier, shift, activation_min, activation_max):
//   y = clamp(requantize(self other)). Source: arm_elementwise_mul_s16.
//
// All tensors are int16 of rank 4 at most; operands broadcast to the output.
#include "backends/cortex_m/kernels/binary_int16/binary_int16.h"

namespace wick::cortex_m::reference {
namespace {

int32_t scaled(int32_t value, const OutputStage& stage) { return requantize(value, stage.multiplier, stage.shift); }

}  // namespace

void add_int16(KernelContext& context, Span<EValue*> args) {
  BinaryInt16 add;
  if (!read_add_int16(context, args, &add)) return;
  add.broadcast.for_each([&](int64_t a, int64_t b, int64_t to) {
    const int32_t sum = wrapping_add(scaled(add.a[a] * (1 << kAddShift), add.operands[0]),
                                     scaled(add.b[b] * (1 << kAddShift), add.operands[1]));
    add.y[to] = clamp_int16(scaled(sum, add.stage), add.stage.min, add.stage.max);
  });
}

void mul_int16(KernelContext& context, Span<EValue*> args) {
  BinaryInt16 mul;
  if (!read_mul_int16(context, args, &mul)) return;
  mul.broadcast.for_each([&](int64_t a, int64_t b, int64_t to) {
    mul.y[to] = clamp_int16(scaled(mul.a[a] * mul.b[b], mul.stage), mul.stage.min, mul.stage.max);
  });
}

}  // namespace wick::cortex_m::reference
