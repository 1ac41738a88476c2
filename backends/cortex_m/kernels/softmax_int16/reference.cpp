// softmax_int16(input [.., N], multiplier, shift, output_multiplier, output_shift, activation_min, activation_max):
// rows of int16, contiguous. With d = x - max of the row:
//   e[n] = exp(2^-26 round(d multiplier 2^(shift - 31))), a number without integer bits (that of softmax); of -32 at
//   least
//   y[n] = clamp(requantize(round(2^30 e[n] / sum of e)))
// Sums and quotients are exact, so the result is off by a few units of
// 2^-26 of exp besides its rounding.
#include "backends/cortex_m/kernels/int16.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int32_t kMaxRow = 1 << 20, kQuotientBits = 30;

struct SoftmaxInt16 {
  OutputStage input, output;
  int32_t min = 0, max = 0, columns = 0;

  int32_t exp_of(int32_t difference) const {
    return exp_of_negative(exponent_of(difference, input.multiplier, input.shift));
  }
  void write_row(const int16_t* x, int16_t* y) const {
    int32_t most = x[0];
    for (int32_t i = 1; i < columns; ++i) most = x[i] > most ? x[i] : most;
    int64_t sum = 0;
    for (int32_t i = 0; i < columns; ++i) sum += exp_of(x[i] - most);
    for (int32_t i = 0; i < columns; ++i) {
      const int64_t quotient = (exp_of(x[i] - most) * (int64_t{1} << kQuotientBits) + sum / 2) / sum;
      y[i] = clamp_int16(requantize(static_cast<int32_t>(quotient), output.multiplier, output.shift), min, max);
    }
  }
};

}  // namespace

void softmax_int16(KernelContext& context, Span<EValue*> args) {
  const Tensor &x = *args[0]->tensor, &y = *args[7]->tensor;
  SoftmaxInt16 softmax;
  if (!require_int16(context, x, y) ||
      !require(context, x.rank > 0 && is_contiguous(x) && same_layout(x, y) && is_contiguous(y),
               "input and output are not contiguous with the same sizes") ||
      !read_requantization(context, args[1]->integer, args[2]->integer, &softmax.input) ||
      !require(context, softmax.input.multiplier >= 0, "the multiplier of the input is negative") ||
      !read_requantization(context, args[3]->integer, args[4]->integer, &softmax.output) ||
      !read_int16_range(context, *args[5], *args[6], &softmax.min, &softmax.max) ||
      !require(context, x.sizes[x.rank - 1] <= kMaxRow, "rows of more than 2^20 elements"))
    return;
  softmax.columns = x.sizes[x.rank - 1];
  for (size_t at = 0; at < x.numel; at += static_cast<size_t>(softmax.columns))
    softmax.write_row(x.as<const int16_t>() + at, y.as<int16_t>() + at);
}

}  // namespace wick::cortex_m::reference
