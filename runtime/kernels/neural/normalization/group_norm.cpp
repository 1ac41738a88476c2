// Normalises each group of channels of each image.   Source: aten::native_group_norm, Core ATen IR.
#include "runtime/kernels/neural/normalization/normalization.h"

namespace wick {
namespace kernels {
namespace {

struct GroupNorm {
  const Tensor* in;
  const Tensor* weight;
  const Tensor* bias;
  int64_t images, channels, plane, groups;
  double epsilon;
  Tensor* out;
  Tensor* mean;
  Tensor* deviation;  // inverse

  int64_t group_channels() const { return channels / groups; }
};

void normalize_f32(KernelContext& context, const GroupNorm& n) {
  const HotKernels& kernels = hot(context.isa());
  const int64_t size = n.group_channels() * n.plane;
  context.parallel_for(n.images * n.groups, 4096 / (size + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const float* x = n.in->as<float>() + item * size;
      float* y = n.out->as<float>() + item * size;
      float mean, deviation;
      kernels.moments_row(x, size, static_cast<float>(n.epsilon), &mean, &deviation);
      n.mean->as<float>()[item] = mean;
      n.deviation->as<float>()[item] = deviation;
      for (int64_t c = 0; c < n.group_channels(); ++c) {
        const int64_t channel = item % n.groups * n.group_channels() + c;
        const float scale = deviation * element_or<float>(n.weight, channel, 1.0f);
        const float shift = element_or<float>(n.bias, channel, 0.0f) - mean * scale;
        kernels.affine_row(x + c * n.plane, scale, shift, y + c * n.plane, n.plane);
      }
    }
  });
}

template <typename T>
void normalize_any(KernelContext& context, const GroupNorm& n) {
  using Sum = NormSum<T>;
  const int64_t size = n.group_channels() * n.plane;
  context.parallel_for(n.images * n.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const auto at = [&](int64_t i) { return static_cast<Sum>(n.in->as<T>()[memory_offset(*n.in, item * size + i)]); };
      Sum mean, deviation;
      moments<Sum>(size, static_cast<Sum>(n.epsilon), at, &mean, &deviation);
      n.mean->as<T>()[item] = T(mean);
      n.deviation->as<T>()[item] = T(deviation);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t channel = item % n.groups * n.group_channels() + i / n.plane;
        const Sum y = (at(i) - mean) * deviation * element_or<T>(n.weight, channel, Sum(1)) +
                      element_or<T>(n.bias, channel, Sum(0));
        n.out->as<T>()[memory_offset(*n.out, item * size + i)] = T(y);
      }
    }
  });
}

}  // namespace

void native_group_norm(KernelContext& context, Span<EValue*> args) {
  GroupNorm n = {args[0]->tensor,  optional(args[1]), optional(args[2]), args[3]->integer,
                 args[4]->integer, args[5]->integer,  args[6]->integer,  args[7]->real,
                 args[8]->tensor,  args[9]->tensor,   args[10]->tensor};
  const bool positive = n.images >= 0 && n.channels >= 0 && n.plane >= 0 && n.groups >= (n.channels == 0 ? 0 : 1) &&
                        n.images <= INT32_MAX && n.channels <= INT32_MAX && n.plane <= INT32_MAX &&
                        n.groups <= INT32_MAX;
  if (!require(context,
               positive && n.in->rank >= 2 && n.in->sizes[0] == n.images && n.in->sizes[1] == n.channels &&
                   (n.channels == 0 || n.channels % n.groups == 0) &&
                   static_cast<uint64_t>(n.images * n.channels) * static_cast<uint64_t>(n.plane) == n.in->numel,
               Error::InvalidArgument, "group norm: N, C, HxW and group do not fit the input"))
    return;
  const DType dtype = n.in->dtype;
  const bool types = n.out->dtype == dtype && n.mean->dtype == dtype && n.deviation->dtype == dtype;
  if (!require(context, types && is_vector(n.weight, dtype, n.channels) && is_vector(n.bias, dtype, n.channels),
               Error::InvalidArgument,
               "group norm: weight and bias must have one element for each channel, all tensors one dtype"))
    return;
  const int32_t sizes[2] = {static_cast<int32_t>(n.images), static_cast<int32_t>(n.groups)};
  if (!resize_or_fail(context, *n.out, n.in->sizes, n.in->rank, "group norm: out has a different shape") ||
      !resize_or_fail(context, *n.mean, sizes, 2, "group norm: mean has a different shape") ||
      !resize_or_fail(context, *n.deviation, sizes, 2, "group norm: rstd has a different shape"))
    return;
  if (n.in->numel == 0) {
    require(context, n.mean->numel == 0, Error::InvalidArgument, "group norm: statistics of no elements");
    return;
  }
  if (!require(context, is_contiguous(*n.mean) && is_contiguous(*n.deviation), Error::NotSupported,
               "group norm: mean and rstd must be row-major"))
    return;
  if (dtype == DType::f32 && is_contiguous(*n.in) && is_contiguous(*n.out)) return normalize_f32(context, n);
  require(context, dispatch_floating(dtype, [&](auto zero) { normalize_any<decltype(zero)>(context, n); }),
          Error::InvalidType, "group norm of this dtype is not defined");
}

}  // namespace kernels
}  // namespace wick
