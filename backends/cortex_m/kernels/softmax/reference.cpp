// softmax(input, dim, input_zero_point, output_zero_point, multiplier, shift, diff_min): int8, along the innermost
// dimension in memory. The output has scale 1/256 and zero point -128. The input's zero point cancels out.
//   d = x - max of the row;  e(d) = exp(multiplier d 2^(shift - 31 - 26)), a number with no integer bits
//   y = round(256 e(d) / sum of e) - 128, where terms with d < diff_min count as 0
// in the fixed-point arithmetic of gemmlowp: 5 integer bits before exp, 12 bits of headroom in the sum, and a
// reciprocal by three Newton steps. Source: arm_softmax_s8. If the sum of a row is 2^28 or more (at least 512 equal
// maxima), CMSIS-NN's scalar code shifts by more than 31 bits, which C leaves undefined; this kernel computes what the
// MVE code does. A sum beyond 31 bits is refused.
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m::reference {
namespace {

/// Returns false if the sum exceeds 31 bits.
bool write_row(const Softmax& softmax, const int8_t* x, int8_t* y) {
  int8_t max = x[0];
  for (int64_t i = 1; i < softmax.count; ++i) max = x[i] > max ? x[i] : max;
  int64_t sum = 0;
  for (int64_t i = 0; i < softmax.count; ++i) {
    if (x[i] - max >= softmax.diff_min) sum += divide_by_power_of_two(softmax.exp_of(x[i] - max), kSoftmaxSumShift);
  }
  if (sum > INT32_MAX) return false;
  const SoftmaxScale scale = scale_of_sum(static_cast<int32_t>(sum));
  for (int64_t i = 0; i < softmax.count; ++i) {
    int32_t value = kSoftmaxZeroPoint;
    if (x[i] - max >= softmax.diff_min && scale.bits <= 31) {
      const int32_t part = doubling_high_mul(scale.inverse, softmax.exp_of(x[i] - max));
      value = wrapping_add(divide_by_power_of_two(part, scale.bits), value);
    }
    y[i] = static_cast<int8_t>(value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value);
  }
  return true;
}

}  // namespace

void softmax(KernelContext& context, Span<EValue*> args) {
  Softmax softmax;
  if (!read_softmax(context, args, &softmax)) return;
  for (size_t at = 0; at < softmax.total; at += static_cast<size_t>(softmax.count)) {
    if (!write_row(softmax, softmax.x + at, softmax.y + at))
      return context.fail(Error::InvalidArgument, kSoftmaxSumTooLarge);
  }
}

}  // namespace wick::cortex_m::reference
