#include "runtime/kernels/neural/pooling/pool_geometry.h"

namespace wick {

bool planes_of(const Tensor& tensor, int dims, Planes* planes) {
  if (tensor.rank != dims + 1 && tensor.rank != dims + 2) return false;
  const int channel = tensor.rank - dims - 1;
  planes->batch = channel == 1 ? tensor.sizes[0] : 1;
  planes->batch_stride = channel == 1 ? tensor.strides[0] : 0;
  planes->channels = tensor.sizes[channel];
  planes->channel_stride = tensor.strides[channel];
  for (int d = 0; d < 3; ++d) {
    const int at = channel + 1 + d - (3 - dims);
    planes->size[d] = d < 3 - dims ? 1 : tensor.sizes[at];
    planes->stride[d] = d < 3 - dims ? 0 : tensor.strides[at];
  }
  return true;
}

bool read_pool(KernelContext& context, const Planes& in, int dims, const EValue& kernel, const EValue& stride,
               const EValue& padding, const EValue* dilation, bool ceil_mode, Pool* pool) {
  const int64_t zeros[3] = {0, 0, 0};
  pool->dims = dims;
  for (int d = 0; d < 3; ++d) pool->dilation[d] = 1;
  if (!read_window(context, kernel, dims, 1, 1, nullptr,
                   "pooling: kernel sizes must be positive, one for each dimension", pool->kernel) ||
      !read_window(context, stride, dims, 1, 1, pool->kernel,
                   "pooling: strides must be positive, one for each dimension", pool->stride) ||
      !read_window(context, padding, dims, 0, 0, zeros, "pooling: padding must not be negative, one for each dimension",
                   pool->padding))
    return false;
  if (dilation &&
      !read_window(context, *dilation, dims, 1, 1, zeros, "pooling: dilation must be positive", pool->dilation))
    return false;
  for (int d = 0; d < 3; ++d) {
    if (!require(context, pool->dilation[d] >= 1, Error::InvalidArgument, "pooling: dilation must be positive"))
      return false;
    if (!require(context, pool->padding[d] <= pool->kernel[d] / 2, Error::InvalidArgument,
                 "pooling: padding exceeds half the kernel"))
      return false;
    pool->output[d] = d < 3 - dims ? 1
                                   : window_outputs(in.size[d], pool->kernel[d], pool->stride[d], pool->padding[d],
                                                    pool->dilation[d], ceil_mode);
    if (!require(context, in.size[d] >= 1 && pool->output[d] >= 1 && pool->output[d] < INT32_MAX,
                 Error::InvalidArgument, "pooling: kernel does not fit the padded input"))
      return false;
  }
  return true;
}

bool resize_pooled(KernelContext& context, const Tensor& in, int dims, const int64_t* output, Tensor& out) {
  int32_t sizes[kMaxRank];
  for (int d = 0; d < in.rank; ++d) {
    const int back = in.rank - d;  // 1: last
    const int64_t size = back > dims ? in.sizes[d] : output[3 - back];
    if (!require(context, size >= 0 && size <= INT32_MAX, Error::InvalidArgument, "pooling: output size out of range"))
      return false;
    sizes[d] = static_cast<int32_t>(size);
  }
  return resize_or_fail(context, out, sizes, in.rank, "pooling: out has a different shape");
}

}  // namespace wick
