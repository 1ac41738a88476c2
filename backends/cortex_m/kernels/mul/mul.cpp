#include "backends/cortex_m/kernels/mul/mul.h"

namespace wick::cortex_m {
namespace {

bool read_factor(KernelContext& context, const EValue& value, int32_t* zero_point) {
  return read_int(context, value, INT8_MAX - INT16_MAX, INT8_MIN - INT16_MIN, zero_point,
                  "a zero point leaves differences beyond 16 bits: wanted [-32640, 32640]");
}

/// Reads everything but `operands`.
bool read_factors(KernelContext& context, Span<EValue*> args, Mul* mul) {
  if (!read_factor(context, *args[1], &mul->zero_a) || !read_factor(context, *args[3], &mul->zero_b) ||
      !read_zero_point(context, *args[4], &mul->stage.offset) ||
      !read_requantization(context, args[5]->integer, args[6]->integer, &mul->stage))
    return false;
  mul->count = args[7]->tensor->numel;
  mul->a = args[0]->tensor->as<const int8_t>();
  mul->b = args[2]->tensor->as<const int8_t>();
  mul->y = args[7]->tensor->as<int8_t>();
  return true;
}

}  // namespace

bool read_mul(KernelContext& context, Span<EValue*> args, Mul* mul) {
  return read_operands(context, *args[0]->tensor, *args[2]->tensor, *args[7]->tensor, &mul->operands) &&
         read_factors(context, args, mul);
}

bool read_broadcast_mul(KernelContext& context, Span<EValue*> args, BroadcastMul* c) {
  const Tensor &a = *args[0]->tensor, &b = *args[2]->tensor;
  Tensor& out = *args[7]->tensor;
  return require_int8(context, a, out) && require_int8(context, b, out) &&
         read_broadcast(context, a, b, out, &c->broadcast) && read_factors(context, args, &c->mul);
}

}  // namespace wick::cortex_m
