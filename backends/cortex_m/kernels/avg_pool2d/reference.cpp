// quantized_avg_pool2d(input, kernel_size, stride, padding, ceil_mode, zero_point, multiplier, shift, scratch):
//   y = round_half_away(sum of the taps on the input / their number)
// The padding never counts. Stock's kernel ignores zero_point, multiplier and shift, which only its reference in Python
// reads; so does this one. Only code for DSP needs the scratch tensor. Source: arm_avgpool_s8.
#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {
namespace {

int8_t average(const int8_t* x, const Image& from, const Extent& rows, const Extent& columns) {
  int64_t sum = 0;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t i = columns.begin; i < columns.end; ++i) sum += x[(y * from.w + i) * from.c];
  }
  const int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
  return static_cast<int8_t>((sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

}  // namespace

void quantized_avg_pool2d(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[9]->tensor;
  Window window;
  Image from, to;
  if (!read_pooling(context, args.subspan(1, 3), args[4]->boolean, input, out, &window, &from, &to)) return;
  write_windows(
      window, from, input.as<const int8_t>(), to, out.as<int8_t>(),
      [&](const int8_t* x, const Extent& rows, const Extent& columns) { return average(x, from, rows, columns); });
}

}  // namespace wick::cortex_m
