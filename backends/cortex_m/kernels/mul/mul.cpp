#include "backends/cortex_m/kernels/mul/mul.h"

namespace wick::cortex_m {
namespace {

bool read_factor(KernelContext& context, const EValue& value, int32_t* zero_point) {
  return read_int(context, value, INT8_MAX - INT16_MAX, INT8_MIN - INT16_MIN, zero_point,
                  "a zero point leaves differences beyond 16 bits: wanted [-32640, 32640]");
}

}  // namespace

bool read_mul(KernelContext& context, Span<EValue*> args, Mul* mul) {
  const Tensor &a = *args[0]->tensor, &b = *args[2]->tensor, &out = *args[7]->tensor;
  if (!read_operands(context, a, b, out, &mul->operands) || !read_factor(context, *args[1], &mul->zero_a) ||
      !read_factor(context, *args[3], &mul->zero_b) || !read_zero_point(context, *args[4], &mul->stage.offset) ||
      !read_requantization(context, args[5]->integer, args[6]->integer, &mul->stage))
    return false;
  mul->count = out.numel;
  mul->a = a.as<const int8_t>();
  mul->b = b.as<const int8_t>();
  mul->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
