// log_softmax(input, multiplier, shift, output_zero_point, output_multiplier, output_shift, activation_min,
// activation_max): rows of int8, contiguous. With d = x - max of the row:
//   t(d) = round(d multiplier 2^(shift - 31)), a number with 20 bits behind the point
//   y = clamp(requantize(t(d) - round(2^20 ln(sum of exp(t))))  + output_zero_point)
// exp is that of softmax, of t with 26 bits behind the point, where what lies below -32 counts as -32. The logarithm
// has 28 bits. t is off by half a unit of 2^-20, and the logarithm by less than one.
#include "backends/cortex_m/kernels/checks.h"
#include "backends/cortex_m/kernels/softmax/softmax.h"

namespace wick::cortex_m::reference {
namespace {

constexpr int32_t kNumberBits = 20, kExponentBits = 26, kLn2 = 726817;  // 2^20 ln 2

struct LogSoftmax {
  int32_t multiplier = 0, shift = 0;
  OutputStage stage;
  int32_t columns = 0;
  size_t total = 0;
  const int8_t* x = nullptr;
  int8_t* y = nullptr;

  /// d * scale with kNumberBits behind the point.
  int32_t number(int32_t difference) const {
    const int32_t right = 31 - shift;
    return static_cast<int32_t>((int64_t{difference} * multiplier + (int64_t{1} << (right - 1))) >> right);
  }
};

bool read_log_softmax(KernelContext& context, Span<EValue*> args, LogSoftmax* rows) {
  const Tensor &input = *args[0]->tensor, &out = *args[8]->tensor;
  OutputStage scale;
  if (!require_int8(context, input, out) ||
      !require(context, input.rank > 0 && is_contiguous(input) && same_layout(input, out) && is_contiguous(out),
               "input and output are not contiguous with the same sizes") ||
      !read_requantization(context, args[1]->integer, args[2]->integer, &scale) ||
      !require(context, scale.multiplier >= 0 && scale.shift <= 22,
               "the scale of the input is negative or 2^22 and more") ||
      !read_zero_point(context, *args[3], &rows->stage.offset) ||
      !read_requantization(context, args[4]->integer, args[5]->integer, &rows->stage) ||
      !read_activation(context, *args[6], *args[7], &rows->stage))
    return false;
  rows->multiplier = scale.multiplier;
  rows->shift = scale.shift;
  rows->columns = input.sizes[input.rank - 1];
  rows->total = input.numel;
  rows->x = input.as<const int8_t>();
  rows->y = out.as<int8_t>();
  return require(context, rows->columns <= 1 << 20, "rows of more than 2^20 elements");
}

/// 2^20 ln(value / 2^31) for value >= 2^31 - 1: the exponent, and the mantissa's bits by squaring it.
int32_t log_of_sum(int64_t value) {
  const int32_t exponent = 63 - __builtin_clzll(static_cast<uint64_t>(value));
  uint64_t mantissa = static_cast<uint64_t>(value) << (62 - exponent) >> 31;  // in [2^31, 2^32)
  int64_t log2 = int64_t{exponent - 31} * (int64_t{1} << 28);
  for (int32_t bit = 27; bit >= 0; --bit) {
    mantissa = mantissa * mantissa >> 31;
    if (mantissa >> 32 == 0) continue;
    mantissa >>= 1;
    log2 += int64_t{1} << bit;
  }
  return static_cast<int32_t>((log2 * kLn2 + (int64_t{1} << 27)) >> 28);
}

void write_row(const LogSoftmax& rows, const int8_t* x, int8_t* y) {
  constexpr int32_t kUp = kExponentBits - kNumberBits, kLeast = INT32_MIN >> kUp;
  int32_t max = x[0];
  for (int32_t i = 1; i < rows.columns; ++i) max = x[i] > max ? x[i] : max;
  int64_t sum = 0;
  for (int32_t i = 0; i < rows.columns; ++i) {
    const int32_t number = rows.number(x[i] - max);
    sum += exp_of_negative((number < kLeast ? kLeast : number) * (1 << kUp));
  }
  const int32_t log = log_of_sum(sum);
  for (int32_t i = 0; i < rows.columns; ++i) y[i] = rows.stage(rows.number(x[i] - max) - log);
}

}  // namespace

void log_softmax(KernelContext& context, Span<EValue*> args) {
  LogSoftmax rows;
  if (!read_log_softmax(context, args, &rows)) return;
  for (size_t at = 0; at < rows.total; at += static_cast<size_t>(rows.columns))
    write_row(rows, rows.x + at, rows.y + at);
}

}  // namespace wick::cortex_m::reference
