// quantized_mul on cores without vectors. C++17, freestanding.
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/mul/mul.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {
namespace {

__attribute__((noinline)) void mul_line(int32_t zero_a, int32_t zero_b, const OutputStage stage, const int8_t* a,
                                        const int8_t* b, int32_t count, int8_t* y) {
  const int32_t right = -stage.shift;
  for (const int8_t* end = y + count; y != end;) {
    const int32_t product = (*a++ - zero_a) * (*b++ - zero_b);
    *y++ = static_cast<int8_t>(Isa::saturate_int8(Isa::rescale(product, stage.multiplier, right, stage.offset)));
  }
}

/// Requires a shift to the right. Products of 16-bit factors are less than 2^30 in magnitude, as Isa::rescale needs.
void mul_lines(const Mul& mul) {
  const size_t period_a = mul.operands.period_a, period_b = mul.operands.period_b;
  size_t length = period_a < period_b ? period_a : period_b;
  if (length > mul.count) length = mul.count;
  for (size_t at = 0; at < mul.count; at += length) {
    const int8_t *a = mul.a + (period_a == SIZE_MAX ? at : 0), *b = mul.b + (period_b == SIZE_MAX ? at : 0);
    mul_line(mul.zero_a, mul.zero_b, mul.stage, a, b, static_cast<int32_t>(length), mul.y + at);
  }
}

}  // namespace

void quantized_mul(KernelContext& context, Span<EValue*> args) {
  Mul mul;
  if (!read_mul(context, args, &mul)) return;
  if (mul.stage.shift >= 0) return reference::quantized_mul(context, args);
  mul_lines(mul);
}

}  // namespace wick::cortex_m::plain
