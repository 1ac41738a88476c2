// log_softmax(input, multiplier, shift, output_zero_point, output_multiplier, output_shift, activation_min,
// activation_max): rows of int8, contiguous. With d = x - max of the row:
//   t(d) = round(d multiplier 2^(shift - 31)), a number with 20 fractional bits
//   y = clamp(requantize(t(d) - round(2^20 ln(sum of exp(t))))  + output_zero_point)
// exp is that of softmax, of t with 26 fractional bits; exponents below -32 count as -32. The logarithm has 28 bits. t
// is off by half a unit of 2^-20, and the logarithm by less than one and a half, because of t, exp and its own
// rounding.
#include "backends/cortex_m/kernels/log_softmax/log_softmax.h"

namespace wick::cortex_m::reference {

void log_softmax(KernelContext& context, Span<EValue*> args) {
  LogSoftmax rows;
  if (read_log_softmax(context, args, &rows)) write_log_softmax_rows<int8_t>(rows, *args[0]->tensor, *args[8]->tensor);
}

}  // namespace wick::cortex_m::reference
