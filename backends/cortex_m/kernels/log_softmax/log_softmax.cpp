#include "backends/cortex_m/kernels/log_softmax/log_softmax.h"

namespace wick::cortex_m {

bool read_log_softmax_rows(KernelContext& context, Span<EValue*> args, Tensor& out, int32_t largest_shift,
                           LogSoftmax* rows) {
  constexpr int32_t kMostColumns = 1 << 20;
  const Tensor& input = *args[0]->tensor;
  OutputStage scale;
  settle_batch(input, out);
  if (!require(context, input.rank > 0 && is_contiguous(input) && same_layout(input, out) && is_contiguous(out),
               "input and output are not contiguous with the same sizes") ||
      !read_requantization(context, args[1]->integer, args[2]->integer, &scale) ||
      !require(context, scale.multiplier >= 0 && scale.shift <= largest_shift,
               "the scale of the input is negative or too large"))
    return false;
  rows->multiplier = scale.multiplier;
  rows->shift = scale.shift;
  rows->columns = input.sizes[input.rank - 1];
  return require(context, rows->columns <= kMostColumns, "rows of more than 2^20 elements");
}

bool read_log_softmax(KernelContext& context, Span<EValue*> args, LogSoftmax* rows) {
  constexpr int32_t kLargestShift = 22;
  const Tensor& x = *args[0]->tensor;
  Tensor& y = *args[8]->tensor;
  return require_int8(context, x, y) && read_log_softmax_rows(context, args, y, kLargestShift, rows) &&
         read_zero_point(context, *args[3], &rows->stage.offset) &&
         read_requantization(context, args[4]->integer, args[5]->integer, &rows->stage) &&
         read_activation(context, *args[6], *args[7], &rows->stage);
}

int32_t log_of_sum(int64_t value) {
  constexpr int32_t kLn2 = 744261118;  // 2^30 ln 2
  const int32_t exponent = 63 - __builtin_clzll(static_cast<uint64_t>(value));
  uint64_t mantissa = static_cast<uint64_t>(value) << (62 - exponent) >> 31;  // in [2^31, 2^32)
  int64_t log2 = int64_t{exponent - 31} * (int64_t{1} << 28);
  for (int32_t bit = 27; bit >= 0; --bit) {  // computes the bits of the logarithm by squaring the mantissa
    mantissa = mantissa * mantissa >> 31;
    if (mantissa >> 32 == 0) continue;
    mantissa >>= 1;
    log2 += int64_t{1} << bit;
  }
  return static_cast<int32_t>((log2 * kLn2 + (int64_t{1} << 37)) >> 38);
}

}  // namespace wick::cortex_m
