#include "backends/cortex_m/kernels/softmax_int16/softmax_int16.h"

namespace wick::cortex_m {

bool read_softmax_int16(KernelContext& context, Span<EValue*> args, SoftmaxInt16* softmax) {
  constexpr int32_t kMostColumns = 1 << 20;
  const Tensor& x = *args[0]->tensor;
  Tensor& y = *args[7]->tensor;
  OutputStage input;
  settle_batch(x, y);
  if (!require_int16(context, x, y) ||
      !require(context, x.rank > 0 && is_contiguous(x) && same_layout(x, y) && is_contiguous(y),
               "input and output are not contiguous with the same sizes") ||
      !read_requantization(context, args[1]->integer, args[2]->integer, &input) ||
      !require(context, input.multiplier >= 0, "the multiplier of the input is negative") ||
      !read_requantization(context, args[3]->integer, args[4]->integer, &softmax->stage) ||
      !read_int16_range(context, *args[5], *args[6], &softmax->stage.min, &softmax->stage.max) ||
      !require(context, x.sizes[x.rank - 1] <= kMostColumns, "rows of more than 2^20 elements"))
    return false;
  softmax->multiplier = input.multiplier;
  softmax->shift = input.shift;
  softmax->columns = x.sizes[x.rank - 1];
  softmax->count = x.numel;
  softmax->x = x.as<const int16_t>();
  softmax->y = y.as<int16_t>();
  return true;
}

}  // namespace wick::cortex_m
