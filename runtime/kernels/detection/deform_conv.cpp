// Convolution whose taps lie where offsets say.   Source: torchvision::deform_conv2d.
#include "runtime/kernels/detection/regions.h"

namespace wick {
namespace kernels {
namespace {

struct Deformed {
  int64_t batch, channels, height, width;                 // input
  int64_t filters, group_channels, kernel[2];             // weight [filters, group channels, kh, kw]
  int64_t stride[2], padding[2], dilation[2], blocks[2];  // blocks: output rows and columns
  int64_t groups, offset_groups;
  bool use_mask;
};

/// As bilinear_sample, but each pixel outside the plane counts as 0.
template <typename T, typename Lane>
Lane sample(const T* plane, int64_t height, int64_t width, Lane y, Lane x) {
  if (!(y > -1 && x > -1 && y < static_cast<Lane>(height) && x < static_cast<Lane>(width))) return 0;
  const auto top = static_cast<int64_t>(math::floor(static_cast<double>(y)));
  const auto left = static_cast<int64_t>(math::floor(static_cast<double>(x)));
  const Lane ly = y - static_cast<Lane>(top), lx = x - static_cast<Lane>(left), hy = 1 - ly, hx = 1 - lx;
  auto at = [&](int64_t row, int64_t column) {
    return row >= 0 && column >= 0 && row < height && column < width ? static_cast<Lane>(plane[row * width + column])
                                                                     : Lane(0);
  };
  return hy * hx * at(top, left) + hy * lx * at(top, left + 1) + ly * hx * at(top + 1, left) +
         ly * lx * at(top + 1, left + 1);
}

struct DeformedData {
  const void *input, *weight, *offset, *mask, *bias;
  void* out;
};

/// taps[c, i, j] of one output pixel.
template <typename T, typename Lane>
void gather_taps(const Deformed& d, const DeformedData& data, int64_t n, int64_t row, int64_t column, Lane* taps) {
  const int64_t area = d.kernel[0] * d.kernel[1], pixels = d.blocks[0] * d.blocks[1],
                pixel = row * d.blocks[1] + column;
  const auto* offset = static_cast<const T*>(data.offset) + n * d.offset_groups * 2 * area * pixels + pixel;
  const auto* mask = static_cast<const T*>(data.mask) + (d.use_mask ? n * d.offset_groups * area * pixels + pixel : 0);
  const int64_t share = d.channels / d.offset_groups;
  for (int64_t c = 0; c < d.channels; ++c) {
    const auto* plane = static_cast<const T*>(data.input) + (n * d.channels + c) * d.height * d.width;
    for (int64_t k = 0; k < area; ++k) {
      const int64_t at = (c / share) * area + k;
      const Lane y = static_cast<Lane>(row * d.stride[0] - d.padding[0] + k / d.kernel[1] * d.dilation[0]) +
                     static_cast<Lane>(offset[2 * at * pixels]);
      const Lane x = static_cast<Lane>(column * d.stride[1] - d.padding[1] + k % d.kernel[1] * d.dilation[1]) +
                     static_cast<Lane>(offset[(2 * at + 1) * pixels]);
      const Lane weight = d.use_mask ? static_cast<Lane>(mask[at * pixels]) : Lane(1);
      taps[c * area + k] = weight * sample<T, Lane>(plane, d.height, d.width, y, x);
    }
  }
}

template <typename T>
void convolve(KernelContext& context, const Deformed& d, const DeformedData& data) {
  using Lane = typename RegionLane<T>::type;
  const int64_t length = d.group_channels * d.kernel[0] * d.kernel[1], pixels = d.blocks[0] * d.blocks[1];
  Lane* taps = context.allocate_temp_array<Lane>(static_cast<size_t>(d.channels * d.kernel[0] * d.kernel[1]));
  if (!taps) return;
  for (int64_t at = 0; at < d.batch * pixels; ++at) {
    const int64_t n = at / pixels, pixel = at % pixels;
    gather_taps<T, Lane>(d, data, n, pixel / d.blocks[1], pixel % d.blocks[1], taps);
    for (int64_t f = 0; f < d.filters; ++f) {
      const T* weight = static_cast<const T*>(data.weight) + f * length;
      const Lane* group = taps + f / (d.filters / d.groups) * length;
      Lane sum = static_cast<Lane>(static_cast<const T*>(data.bias)[f]);
      for (int64_t i = 0; i < length; ++i) sum += group[i] * static_cast<Lane>(weight[i]);
      static_cast<T*>(data.out)[(n * d.filters + f) * pixels + pixel] = T(sum);
    }
  }
}

bool has_sizes(const Tensor& tensor, int64_t a, int64_t b, int64_t c, int64_t d) {
  return tensor.rank == 4 && tensor.sizes[0] == a && tensor.sizes[1] == b && tensor.sizes[2] == c &&
         tensor.sizes[3] == d;
}

bool read_geometry(KernelContext& context, Span<EValue*> args, Deformed* d) {
  const Tensor &input = *args[0]->tensor, &weight = *args[1]->tensor;
  if (!require(context, input.rank == 4 && weight.rank == 4, "deform_conv2d: input and weight need rank 4"))
    return false;
  *d = {input.sizes[0],
        input.sizes[1],
        input.sizes[2],
        input.sizes[3],
        weight.sizes[0],
        weight.sizes[1],
        {weight.sizes[2], weight.sizes[3]},
        {},
        {},
        {},
        {},
        args[11]->integer,
        args[12]->integer,
        args[13]->boolean};
  for (int i = 0; i < 2; ++i) {
    d->stride[i] = args[static_cast<size_t>(5 + i)]->integer;
    d->padding[i] = args[static_cast<size_t>(7 + i)]->integer;
    d->dilation[i] = args[static_cast<size_t>(9 + i)]->integer;
    const bool sane = d->stride[i] > 0 && d->padding[i] >= 0 && d->dilation[i] > 0 && d->kernel[i] > 0 &&
                      d->stride[i] < 65536 && d->padding[i] < 65536 && d->dilation[i] < 65536 && d->kernel[i] < 65536;
    if (!require(context, sane,
                 "deform_conv2d: an argument is out of range: wanted stride and dilation in [1, 2^16), padding in [0, "
                 "2^16), kernel "
                 "sizes in [1, 2^16)"))
      return false;
    const int64_t free = input.sizes[2 + i] + 2 * d->padding[i] - d->dilation[i] * (d->kernel[i] - 1) - 1;
    if (!require(context, free >= 0, "deform_conv2d: the window is larger than the image")) return false;
    d->blocks[i] = free / d->stride[i] + 1;
  }
  return require(context,
                 d->groups > 0 && d->offset_groups > 0 && d->filters > 0 && d->filters % d->groups == 0 &&
                     d->channels == d->group_channels * d->groups && d->offset_groups <= d->channels &&
                     d->channels % d->offset_groups == 0,
                 "deform_conv2d: the groups do not fit: wanted filters and channels that they divide, and group "
                 "channels = channels "
                 "/ groups");
}

}  // namespace

void deform_conv2d_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &input = *args[0]->tensor, &weight = *args[1]->tensor, &offset = *args[2]->tensor,
               &mask = *args[3]->tensor, &bias = *args[4]->tensor;
  Tensor& out = *args[14]->tensor;
  Deformed d;
  if (!read_geometry(context, args, &d)) return;
  const int64_t taps = d.kernel[0] * d.kernel[1] * d.offset_groups;
  const bool fits = has_sizes(offset, d.batch, 2 * taps, d.blocks[0], d.blocks[1]) &&
                    (!d.use_mask || has_sizes(mask, d.batch, taps, d.blocks[0], d.blocks[1])) && bias.rank == 1 &&
                    bias.sizes[0] == d.filters;
  if (!require(context, fits, "deform_conv2d: offset, mask or bias does not fit the output")) return;
  for (const Tensor* tensor : {&weight, &offset, &bias, const_cast<const Tensor*>(&out)})
    if (!require_dtype(context, *tensor, input.dtype, "deform_conv2d: dtypes differ")) return;
  if (d.use_mask && !require_dtype(context, mask, input.dtype, "deform_conv2d: dtypes differ")) return;
  const int64_t sizes[] = {d.batch, d.filters, d.blocks[0], d.blocks[1]};
  if (!resize_out(context, out, sizes, 4) || out.numel == 0) return;
  const DeformedData data{contiguous_data(context, input),  contiguous_data(context, weight),
                          contiguous_data(context, offset), contiguous_data(context, d.use_mask ? mask : offset),
                          contiguous_data(context, bias),   contiguous_target(context, out)};
  if (!data.input || !data.weight || !data.offset || !data.mask || !data.bias || !data.out) return;
  const bool known = dispatch_floating(input.dtype, [&](auto zero) { convolve<decltype(zero)>(context, d, data); });
  if (!known) return context.fail(Error::InvalidType, "deform_conv2d of this dtype is not defined");
  if (context.ok()) store_contiguous(context, out, data.out);
}

}  // namespace kernels
}  // namespace wick
