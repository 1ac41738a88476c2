// softmax_int16(input [.., N], multiplier, shift, output_multiplier, output_shift, activation_min, activation_max):
// rows of int16, contiguous. With d = x - max of the row:
//   e[n] = exp(2^-26 round(d multiplier 2^(shift - 31))), softmax's, without integer bits; exponents >= -32
//   y[n] = clamp(requantize(round(2^30 e[n] / sum of e)))
// Sums and quotients are exact, so besides its rounding the result is off by a few units of 2^-26 of exp.
#include "backends/cortex_m/kernels/softmax_int16/softmax_int16.h"

namespace wick::cortex_m::reference {
namespace {

void write_row(const SoftmaxInt16& s, const int16_t* x, int16_t* y) {
  const auto exp_of = [&](int32_t difference) {
    return exp_of_negative(exponent_of(difference, s.multiplier, s.shift));
  };
  int32_t most = x[0];
  for (int32_t i = 1; i < s.columns; ++i) most = x[i] > most ? x[i] : most;
  int64_t sum = 0;
  for (int32_t i = 0; i < s.columns; ++i) sum += exp_of(x[i] - most);
  for (int32_t i = 0; i < s.columns; ++i) {
    const int64_t quotient = (exp_of(x[i] - most) * (int64_t{1} << kQuotientBits) + sum / 2) / sum;
    y[i] = s.finish(static_cast<int32_t>(quotient));
  }
}

}  // namespace

void softmax_int16(KernelContext& context, Span<EValue*> args) {
  SoftmaxInt16 s;
  if (!read_softmax_int16(context, args, &s)) return;
  for (size_t at = 0; at < s.count; at += static_cast<size_t>(s.columns)) write_row(s, s.x + at, s.y + at);
}

}  // namespace wick::cortex_m::reference
