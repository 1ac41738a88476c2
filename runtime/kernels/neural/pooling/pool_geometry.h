// Pooling over the last two or three dimensions of [channels, ..] or [batch, channels, ..]. C++17, freestanding.
#pragma once
#include "runtime/kernels/neural/window.h"

namespace wick {

/// Where the planes of a tensor lie. Unused leading spatial dimensions have size 1.
struct Planes {
  int64_t batch = 1, channels = 0;
  int64_t batch_stride = 0, channel_stride = 0;
  int64_t size[3], stride[3];

  int64_t count() const { return batch * channels; }
  int64_t positions() const { return size[0] * size[1] * size[2]; }
  int64_t plane_offset(int64_t plane) const {
    return plane / channels * batch_stride + plane % channels * channel_stride;
  }
  int64_t offset(int64_t z, int64_t y, int64_t x) const { return z * stride[0] + y * stride[1] + x * stride[2]; }
};

/// False unless `tensor` has rank dims + 1 or dims + 2.
bool planes_of(const Tensor& tensor, int dims, Planes* planes);

struct Pool {
  int dims = 2;
  int64_t kernel[3], stride[3], padding[3], dilation[3], output[3];
};

/// Reads the windows; an empty stride is the kernel. Fails the context with InvalidArgument: sizes below 1, padding
/// above half the kernel, no output. `dilation` null: 1.
bool read_pool(KernelContext& context, const Planes& in, int dims, const EValue& kernel, const EValue& stride,
               const EValue& padding, const EValue* dilation, bool ceil_mode, Pool* pool);

/// Gives `out` the leading dimensions of `in` and these last ones.
bool resize_pooled(KernelContext& context, const Tensor& in, int dims, const int64_t* output, Tensor& out);

/// Plane by plane over all threads: fn(plane).
template <typename F>
void for_each_plane(KernelContext& context, const Planes& planes, int64_t work_per_plane, F&& fn) {
  context.parallel_for(planes.count(), 4096 / (work_per_plane + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) fn(plane);
  });
}

/// fn(z, y, x) for each position.
template <typename F>
void for_each_position(const int64_t* size, F&& fn) {
  for (int64_t z = 0; z < size[0]; ++z)
    for (int64_t y = 0; y < size[1]; ++y)
      for (int64_t x = 0; x < size[2]; ++x) fn(z, y, x);
}

}  // namespace wick
