// y = (x - mean[c]) / sqrt(variance[c] + eps) * weight[c] + bias[c], statistics given or taken over the batch.
// Source: aten::_native_batch_norm_legit_no_training, aten::_native_batch_norm_legit.
#include "runtime/kernels/neural/normalization/normalization.h"

namespace wick {
namespace kernels {
namespace {

struct BatchNorm {
  const Tensor* in;
  const Tensor* weight;
  const Tensor* bias;
  const Tensor* mean;  // running statistics, null without
  const Tensor* variance;
  bool training;
  double momentum, epsilon;
  Tensor* out;
  Tensor* saved_mean;
  Tensor* saved_deviation;
  int64_t channels, plane;  // elements of one channel of one image
};

template <typename T>
bool planes_contiguous(const BatchNorm& n) {
  return std::is_same<T, float>::value && is_contiguous(*n.in) && is_contiguous(*n.out);
}

/// Reads channel c: fn(i) for i in [0, images * plane).
template <typename T, typename Sum>
struct ChannelReader {
  const BatchNorm& n;
  int64_t channel;
  int64_t flat(int64_t i) const { return (i / n.plane * n.channels + channel) * n.plane + i % n.plane; }
  Sum operator()(int64_t i) const { return static_cast<Sum>(n.in->as<T>()[memory_offset(*n.in, flat(i))]); }
};

/// The sum of term(x) over the elements x of a channel of row-major tensors, in one fixed order.
template <typename T, typename Sum, typename Term>
Sum sum_of_channel(const BatchNorm& n, int64_t channel, const Term& term) {
  constexpr int64_t kLanes = 16;
  Sum part[kLanes] = {};
  for (int64_t image = 0; image < n.in->sizes[0]; ++image) {
    const T* x = n.in->as<T>() + (image * n.channels + channel) * n.plane;
    int64_t i = 0;
    for (; i + kLanes <= n.plane; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) part[l] += term(static_cast<Sum>(x[i + l]));
    for (int64_t l = 0; i + l < n.plane; ++l) part[l] += term(static_cast<Sum>(x[i + l]));
  }
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t l = 0; l < width; ++l) part[l] += part[l + width];
  return part[0];
}

template <typename T, typename Sum>
void channel_moments(const BatchNorm& n, int64_t channel, int64_t count, Sum* mean, Sum* deviation) {
  const Sum epsilon = static_cast<Sum>(n.epsilon), size = static_cast<Sum>(count);
  if (!is_contiguous(*n.in)) return moments<Sum>(count, epsilon, ChannelReader<T, Sum>{n, channel}, mean, deviation);
  *mean = sum_of_channel<T, Sum>(n, channel, [](Sum x) { return x; }) / size;
  const Sum middle = *mean;
  const Sum squares = sum_of_channel<T, Sum>(n, channel, [middle](Sum x) { return (x - middle) * (x - middle); });
  *deviation = Sum(1) / math::sqrt(squares / size + epsilon);
}

template <typename T, typename Sum>
void scale_channel(const HotKernels& kernels, const BatchNorm& n, int64_t channel, Sum mean, Sum deviation) {
  const Sum scale = deviation * element_or<T>(n.weight, channel, Sum(1));
  const Sum shift = element_or<T>(n.bias, channel, Sum(0)) - mean * scale;
  const int64_t images = n.in->sizes[0];
  if constexpr (std::is_same<T, float>::value) {
    if (planes_contiguous<T>(n)) {
      for (int64_t image = 0; image < images; ++image) {
        const int64_t at = (image * n.channels + channel) * n.plane;
        kernels.affine_row(n.in->as<float>() + at, scale, shift, n.out->as<float>() + at, n.plane);
      }
      return;
    }
  }
  const ChannelReader<T, Sum> at = {n, channel};
  for (int64_t i = 0; i < images * n.plane; ++i)
    n.out->as<T>()[memory_offset(*n.out, at.flat(i))] = T(at(i) * scale + shift);
}

template <typename T>
void update_running(const BatchNorm& n, int64_t channel, NormSum<T> mean, NormSum<T> deviation, int64_t count) {
  using Sum = NormSum<T>;
  if (!n.mean) return;
  const Sum momentum = static_cast<Sum>(n.momentum),
            unbiased = static_cast<Sum>(count) / static_cast<Sum>(count > 1 ? count - 1 : 0);
  const Sum variance = Sum(1) / (deviation * deviation) - static_cast<Sum>(n.epsilon);
  T& running_mean = n.mean->as<T>()[channel];
  T& running_variance = n.variance->as<T>()[channel];
  running_mean = T(momentum * mean + (Sum(1) - momentum) * static_cast<Sum>(running_mean));
  running_variance = T(momentum * variance * unbiased + (Sum(1) - momentum) * static_cast<Sum>(running_variance));
}

template <typename T>
void normalize(KernelContext& context, const BatchNorm& n) {
  using Sum = NormSum<T>;
  const HotKernels& kernels = hot(context.isa());
  const int64_t count = n.in->sizes[0] * n.plane;
  context.parallel_for(n.channels, 4096 / (count + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      Sum mean, deviation;
      if (n.training) {
        channel_moments<T>(n, channel, count, &mean, &deviation);
        n.saved_mean->as<T>()[channel] = T(mean);
        n.saved_deviation->as<T>()[channel] = T(deviation);
        update_running<T>(n, channel, mean, deviation, count);
      } else {
        mean = static_cast<Sum>(n.mean->as<T>()[channel]);
        deviation = Sum(1) / math::sqrt(static_cast<Sum>(n.variance->as<T>()[channel]) + static_cast<Sum>(n.epsilon));
      }
      scale_channel<T>(kernels, n, channel, mean, deviation);
    }
  });
}

void run(KernelContext& context, BatchNorm& n) {
  if (!require(context, n.in->rank >= 2, Error::InvalidArgument, "batch norm: wanted an input of rank 2 or more"))
    return;
  n.channels = n.in->sizes[1];
  n.plane = 1;
  for (int d = 2; d < n.in->rank; ++d) n.plane *= n.in->sizes[d];
  const DType dtype = n.in->dtype;
  const bool types =
      n.out->dtype == dtype && (!n.training || (n.saved_mean->dtype == dtype && n.saved_deviation->dtype == dtype));
  const bool vectors = is_vector(n.weight, dtype, n.channels) && is_vector(n.bias, dtype, n.channels) &&
                       is_vector(n.mean, dtype, n.channels) && is_vector(n.variance, dtype, n.channels);
  if (!require(context, types && vectors && (n.training || n.mean), Error::InvalidArgument,
               "batch norm: weight, bias and statistics must have one element for each channel, all tensors one dtype"))
    return;
  if (!require(context, !n.training || n.in->numel != 0, Error::InvalidArgument,
               "batch norm: statistics of no elements"))
    return;
  const int32_t saved = n.training ? n.in->sizes[1] : 0;
  if (!resize_or_fail(context, *n.out, n.in->sizes, n.in->rank, "batch norm: out has a different shape") ||
      !resize_or_fail(context, *n.saved_mean, &saved, 1, "batch norm: saved mean has a different shape") ||
      !resize_or_fail(context, *n.saved_deviation, &saved, 1, "batch norm: saved deviation has a different shape") ||
      n.in->numel == 0)
    return;
  require(context, dispatch_floating(dtype, [&](auto zero) { normalize<decltype(zero)>(context, n); }),
          Error::InvalidType, "batch norm of this dtype is not defined");
}

}  // namespace

void native_batch_norm_legit_no_training(KernelContext& context, Span<EValue*> args) {
  BatchNorm n = {args[0]->tensor,
                 optional(args[1]),
                 optional(args[2]),
                 args[3]->tensor,
                 args[4]->tensor,
                 false,
                 args[5]->real,
                 args[6]->real,
                 args[7]->tensor,
                 args[8]->tensor,
                 args[9]->tensor,
                 0,
                 0};
  run(context, n);
}

void native_batch_norm_legit(KernelContext& context, Span<EValue*> args) {
  BatchNorm n = {args[0]->tensor,
                 optional(args[1]),
                 optional(args[2]),
                 args[3]->tensor,
                 args[4]->tensor,
                 args[5]->boolean,
                 args[6]->real,
                 args[7]->real,
                 args[8]->tensor,
                 args[9]->tensor,
                 args[10]->tensor,
                 0,
                 0};
  run(context, n);
}

void native_batch_norm_legit_no_stats(KernelContext& context, Span<EValue*> args) {
  BatchNorm n = {args[0]->tensor,
                 optional(args[1]),
                 optional(args[2]),
                 nullptr,
                 nullptr,
                 args[3]->boolean,
                 args[4]->real,
                 args[5]->real,
                 args[6]->tensor,
                 args[7]->tensor,
                 args[8]->tensor,
                 0,
                 0};
  run(context, n);
}

}  // namespace kernels
}  // namespace wick
