// quantized_mul(a, zero_point, b, zero_point, output zero_point, multiplier, shift):
//   y = clamp(requantize((a - zero_point) * (b - zero_point)) + output zero_point, -128, 127)
// The product of a decomposed hardswish moves the zero point of b by 3 / scale, beyond int8; CMSIS-NN needs the
// differences to fit 16 bits. Source: arm_elementwise_mul_s8.
#include "backends/cortex_m/kernels/operands.h"

namespace wick::cortex_m {
namespace {

bool read_factor(KernelContext& context, const EValue& value, int32_t* zero_point) {
  return read_int(context, value, INT8_MAX - INT16_MAX, INT8_MIN - INT16_MIN, zero_point,
                  "a zero point leaves differences beyond 16 bits: wanted [-32640, 32640]");
}

}  // namespace

void quantized_mul(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[2]->tensor;
  Tensor& out = *args[7]->tensor;
  Operands operands;
  int32_t zero_a = 0, zero_b = 0;
  OutputStage stage;
  if (!read_operands(context, a, b, out, &operands) || !read_factor(context, *args[1], &zero_a) ||
      !read_factor(context, *args[3], &zero_b) || !read_zero_point(context, *args[4], &stage.offset) ||
      !read_requantization(context, args[5]->integer, args[6]->integer, &stage))
    return;
  const int8_t *x = a.as<const int8_t>(), *y = b.as<const int8_t>();
  int8_t* z = out.as<int8_t>();
  for (size_t i = 0; i < out.numel; ++i)
    z[i] = stage((x[i % operands.period_a] - zero_a) * (y[i % operands.period_b] - zero_b));
}

}  // namespace wick::cortex_m
