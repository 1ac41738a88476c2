// quantized_add(a, zero_point, multiplier, shift, b, zero_point, multiplier, shift, output zero_point, multiplier,
// shift, activation_min, activation_max):
//   A = requantize((a - zero_point) * 2^20), B alike; y = clamp(requantize(A + B) + output zero_point)
// Source: arm_elementwise_add_s8 with a left shift of 20.
#include "backends/cortex_m/kernels/operands.h"

namespace wick::cortex_m {
namespace {

constexpr int32_t kLeftShift = 20;

struct Addend {
  int32_t zero_point = 0;
  OutputStage scale;

  bool read(KernelContext& context, Span<EValue*> args) {
    return read_zero_point(context, *args[0], &zero_point) &&
           read_requantization(context, args[1]->integer, args[2]->integer, &scale);
  }
  int32_t operator()(int8_t value) const {
    return requantize(wrapping_shift_left(value - zero_point, kLeftShift), scale.multiplier, scale.shift);
  }
};

}  // namespace

void quantized_add(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[4]->tensor;
  Tensor& out = *args[13]->tensor;
  Operands operands;
  Addend first, second;
  OutputStage stage;
  if (!read_operands(context, a, b, out, &operands) || !first.read(context, args.subspan(1, 3)) ||
      !second.read(context, args.subspan(5, 3)) || !read_zero_point(context, *args[8], &stage.offset) ||
      !read_requantization(context, args[9]->integer, args[10]->integer, &stage) ||
      !read_activation(context, *args[11], *args[12], &stage))
    return;
  const int8_t *x = a.as<const int8_t>(), *y = b.as<const int8_t>();
  int8_t* z = out.as<int8_t>();
  for (size_t i = 0; i < out.numel; ++i)
    z[i] = stage(wrapping_add(first(x[i % operands.period_a]), second(y[i % operands.period_b])));
}

}  // namespace wick::cortex_m
