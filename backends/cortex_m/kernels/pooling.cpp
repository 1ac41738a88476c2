#include "backends/cortex_m/kernels/pooling.h"

namespace wick::cortex_m {

bool read_pooling(KernelContext& context, Span<EValue*> lists, bool ceil_mode, const Tensor& input, Tensor& out,
                  ImageSizes order, Window* window, Image* from, Image* to) {
  settle_batch(input, out);
  if (!require_int8(context, input, out) || !read_image(context, input, order, from) ||
      !read_image(context, out, order, to) ||
      !read_pair(context, *lists[0], 1, true, window->kernel, "kernel_size is not two numbers of at least 1") ||
      !read_pair(context, *lists[1], 1, true, window->stride, "stride is not two numbers of at least 1") ||
      !read_pair(context, *lists[2], 0, true, window->padding, "padding is not two numbers of at least 0") ||
      !require(context, from->n == to->n && from->c == to->c, "input and output differ in batch or channels"))
    return false;
  const int64_t sizes[] = {from->h, from->w}, wanted[] = {to->h, to->w};
  for (size_t axis = 0; axis < 2; ++axis) {
    window->dilation[axis] = 1;
    const int64_t positions =
        window_positions(sizes[axis], window->kernel[axis], window->stride[axis], window->padding[axis], 1, ceil_mode);
    if (!require(context, window->padding[axis] < window->kernel[axis] && sizes[axis] > 0,
                 "a position of the window lies in the padding: wanted padding less than kernel_size") ||
        !require(context, positions == wanted[axis],
                 "the output's height and width are not the positions of the window on the input"))
      return false;
  }
  return true;
}

}  // namespace wick::cortex_m
