// quantized_div(a, zero_point, b, zero_point, output zero_point, output_scale): int8 or int16, in f32.
//   y = clamp(round_half_away((a - zero_point) / (b - zero_point) * output_scale) + output zero_point)
// If the divisor is 0 the quotient is 0. The rounded number saturates. Source: stock's kernel; CMSIS-NN has no
// division. Stock's reference in Python rounds halves to even.
#include "backends/cortex_m/kernels/checks.h"
#include "common/math/float_math.h"

namespace wick::cortex_m::reference {
namespace {

struct Division {
  int32_t zero_a = 0, zero_b = 0, zero_out = 0;
  float scale = 0;
};

/// Like roundf, with a magnitude of at most 2^30.
int32_t round_half_away(float value) {
  const float magnitude = math::abs_f(value);
  if (!(magnitude < 0x1p30f)) return value > 0 ? 1 << 30 : value < 0 ? -(1 << 30) : 0;
  const float whole = math::floor_f(magnitude);
  const int32_t rounded = static_cast<int32_t>(whole) + (magnitude - whole >= 0.5f);
  return value < 0 ? -rounded : rounded;
}

template <typename T>
void divide(const Tensor& a, const Tensor& b, const Division& division, int32_t min, int32_t max, Tensor& out) {
  const T *x = a.as<const T>(), *y = b.as<const T>();
  T* z = out.as<T>();
  for (size_t i = 0; i < out.numel; ++i) {
    const int32_t numerator = x[i] - division.zero_a, denominator = y[i] - division.zero_b;
    const float quotient = denominator == 0 ? 0.0f : static_cast<float>(numerator) / static_cast<float>(denominator);
    const int32_t value = round_half_away(quotient * division.scale) + division.zero_out;
    z[i] = static_cast<T>(value < min ? min : value > max ? max : value);
  }
}

}  // namespace

void quantized_div(KernelContext& context, Span<EValue*> args) {
  const Tensor &a = *args[0]->tensor, &b = *args[2]->tensor;
  Tensor& out = *args[6]->tensor;
  if (a.dtype != b.dtype || a.dtype != out.dtype || (a.dtype != DType::i8 && a.dtype != DType::i16))
    return context.fail(Error::InvalidType, "operands and output are not all int8 or all int16");
  const bool narrow = a.dtype == DType::i8;
  const int32_t min = narrow ? INT8_MIN : INT16_MIN, max = narrow ? INT8_MAX : INT16_MAX;
  Division division;
  static constexpr char kZeroPoint[] = "a zero point is outside the dtype";
  division.scale = static_cast<float>(args[5]->real);
  settle_batch(a, out);
  if (!require(context, same_layout(a, out) && same_layout(b, out), "operands and output differ in sizes or layout") ||
      !read_int(context, *args[1], min, max, &division.zero_a, kZeroPoint) ||
      !read_int(context, *args[3], min, max, &division.zero_b, kZeroPoint) ||
      !read_int(context, *args[4], min, max, &division.zero_out, kZeroPoint) ||
      !require(context, division.scale >= 0 && division.scale <= 3.4028234663852886e38f,
               "output_scale is negative or not finite"))
    return;
  if (narrow) return divide<int8_t>(a, b, division, min, max, out);
  divide<int16_t>(a, b, division, min, max, out);
}

}  // namespace wick::cortex_m::reference
