#include "backends/cortex_m/kernels/binary_int16/binary_int16.h"

namespace wick::cortex_m {
namespace {

bool read_tensors(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, BinaryInt16* binary) {
  if (!require_int16(context, a, out) || !require_int16(context, b, out) ||
      !read_broadcast(context, a, b, out, &binary->broadcast))
    return false;
  binary->a = a.as<const int16_t>();
  binary->b = b.as<const int16_t>();
  binary->y = out.as<int16_t>();
  return true;
}

/// multiplier, shift, activation_min, activation_max.
bool read_result(KernelContext& context, Span<EValue*> args, BinaryInt16* binary) {
  return read_requantization(context, args[0]->integer, args[1]->integer, &binary->stage) &&
         read_int16_range(context, *args[2], *args[3], &binary->stage.min, &binary->stage.max);
}

}  // namespace

bool read_add_int16(KernelContext& context, Span<EValue*> args, BinaryInt16* add) {
  return read_tensors(context, *args[0]->tensor, *args[3]->tensor, *args[10]->tensor, add) &&
         read_requantization(context, args[1]->integer, args[2]->integer, &add->operands[0]) &&
         read_requantization(context, args[4]->integer, args[5]->integer, &add->operands[1]) &&
         read_result(context, args.subspan(6, 4), add);
}

bool read_mul_int16(KernelContext& context, Span<EValue*> args, BinaryInt16* mul) {
  return read_tensors(context, *args[0]->tensor, *args[1]->tensor, *args[6]->tensor, mul) &&
         read_result(context, args.subspan(2, 4), mul);
}

}  // namespace wick::cortex_m
