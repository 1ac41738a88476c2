// quantized_max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, input_zero_point, output_zero_point,
// activation_min, activation_max): y = clamp(max of the taps on the input, activation_min, activation_max).
// As in stock, dilation is 1, there is no ceil mode, and both zero points are equal. Source: arm_max_pool_s8.
#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {
namespace {

int8_t largest(const int8_t* x, const Image& from, const Extent& rows, const Extent& columns) {
  int8_t max = INT8_MIN;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t i = columns.begin; i < columns.end; ++i) {
      const int8_t value = x[(y * from.w + i) * from.c];
      max = value > max ? value : max;
    }
  }
  return max;
}

}  // namespace

void quantized_max_pool2d(KernelContext& context, Span<EValue*> args) {
  const Tensor& input = *args[0]->tensor;
  Tensor& out = *args[10]->tensor;
  Window window;
  Image from, to;
  OutputStage bounds;
  int32_t dilation[2], zero_in = 0, zero_out = 0;
  if (!read_pooling(context, args.subspan(1, 3), false, input, out, &window, &from, &to) ||
      !read_pair(context, *args[4], 1, true, dilation, "dilation is not two numbers of at least 1") ||
      !require(context, dilation[0] == 1 && dilation[1] == 1 && !args[5]->boolean,
               "CMSIS-NN has no max pooling with dilation or ceil mode") ||
      !read_zero_point(context, *args[6], &zero_in) || !read_zero_point(context, *args[7], &zero_out) ||
      !require(context, zero_in == zero_out, "the zero points of input and output differ") ||
      !read_activation(context, *args[8], *args[9], &bounds))
    return;
  write_windows(window, from, input.as<const int8_t>(), to, out.as<int8_t>(),
                [&](const int8_t* x, const Extent& rows, const Extent& columns) {
                  const int32_t max = largest(x, from, rows, columns);
                  return static_cast<int8_t>(max < bounds.min ? bounds.min : max > bounds.max ? bounds.max : max);
                });
}

}  // namespace wick::cortex_m
