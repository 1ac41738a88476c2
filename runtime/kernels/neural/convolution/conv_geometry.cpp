#include "runtime/kernels/neural/convolution/conv_geometry.h"

namespace wick {
namespace {

/// Spatial sizes or strides of a tensor at the end of out[3].
void spatial(const int32_t* values, int rank, int64_t fill, int64_t* out) {
  const int dims = rank - 2;
  for (int d = 0; d < 3; ++d) out[d] = d < 3 - dims ? fill : values[2 + d - (3 - dims)];
}

bool read_channels(KernelContext& context, const Tensor& input, const Tensor& weight, ConvGeometry& g) {
  const char* const message = "convolution: channels of input, weight and groups do not fit";
  if (!require(context, g.groups >= 1 && g.groups <= kMaxWindow, Error::InvalidArgument,
               "convolution: groups must be positive"))
    return false;
  const int64_t first = weight.sizes[0], second = weight.sizes[1];
  if (!require(context, first % g.groups == 0, Error::InvalidArgument, message)) return false;
  g.in_channels = g.transposed ? first / g.groups : second;
  g.out_channels = g.transposed ? second : first / g.groups;
  g.weight_in_stride = weight.strides[g.transposed ? 0 : 1];
  g.weight_out_stride = weight.strides[g.transposed ? 1 : 0];
  return require(context, g.in_channels * g.groups == input.sizes[1], Error::InvalidArgument, message) &&
         require(context, g.out_channels * g.groups < INT32_MAX, Error::InvalidArgument, message);
}

}  // namespace

bool read_geometry(KernelContext& context, const Tensor& input, const Tensor& weight, const ConvArguments& arguments,
                   ConvGeometry* geometry) {
  ConvGeometry& g = *geometry;
  g.dims = input.rank - 2;
  g.transposed = arguments.transposed;
  g.groups = arguments.groups;
  if (!require(context, g.dims >= 1 && g.dims <= 3 && weight.rank == input.rank, Error::InvalidArgument,
               "convolution: input and weight must have equal rank 3, 4 or 5"))
    return false;
  if (!read_channels(context, input, weight, g)) return false;
  const int64_t zeros[3] = {0, 0, 0}, ones[3] = {1, 1, 1};
  int64_t output_padding[3];
  if (!read_window(context, *arguments.stride, g.dims, 1, 1, ones,
                   "convolution: stride must be positive, one for each dimension", g.stride) ||
      !read_window(context, *arguments.padding, g.dims, 0, 0, zeros,
                   "convolution: padding must not be negative, one for each dimension", g.padding) ||
      !read_window(context, *arguments.dilation, g.dims, 1, 1, ones,
                   "convolution: dilation must be positive, one for each dimension", g.dilation) ||
      !read_window(context, *arguments.output_padding, g.dims, 0, 0, zeros,
                   "convolution: output_padding must not be negative", output_padding))
    return false;
  g.batch = input.sizes[0];
  spatial(input.sizes, input.rank, 1, g.input);
  spatial(weight.sizes, weight.rank, 1, g.kernel);
  spatial(input.strides, input.rank, 0, g.input_stride);
  spatial(weight.strides, weight.rank, 0, g.weight_stride);
  g.input_batch_stride = input.strides[0];
  g.input_channel_stride = input.strides[1];
  for (int d = 0; d < 3; ++d) {
    if (!require(context, g.kernel[d] >= 1, Error::InvalidArgument, "convolution: kernel must not be empty"))
      return false;
    if (!require(context, g.input[d] >= 1, Error::InvalidArgument, "convolution: the input has no rows or columns"))
      return false;
    const int64_t reach = g.dilation[d] * (g.kernel[d] - 1) + 1;
    const int64_t outputs =
        g.transposed ? (g.input[d] - 1) * g.stride[d] - 2 * g.padding[d] + reach + output_padding[d]
                     : window_outputs(g.input[d], g.kernel[d], g.stride[d], g.padding[d], g.dilation[d], false);
    if (!require(context, outputs >= 1 && outputs < INT32_MAX, Error::InvalidArgument,
                 "convolution: kernel does not fit the padded input"))
      return false;
    g.output[d] = outputs;
    g.out_step[d] = g.transposed ? 1 : g.stride[d];
    g.origin[d] = g.transposed ? g.padding[d] : -g.padding[d];
    g.tap_step[d] = g.transposed ? -g.dilation[d] : g.dilation[d];
    g.divisor[d] = g.transposed ? g.stride[d] : 1;
  }
  return true;
}

int output_sizes(const ConvGeometry& g, int32_t* sizes) {
  sizes[0] = static_cast<int32_t>(g.batch);
  sizes[1] = static_cast<int32_t>(g.out_channels * g.groups);
  for (int d = 0; d < g.dims; ++d) sizes[2 + d] = static_cast<int32_t>(g.output[3 - g.dims + d]);
  return g.dims + 2;
}

void set_output_strides(ConvGeometry& g, const Tensor& out) {
  g.output_batch_stride = out.strides[0];
  g.output_channel_stride = out.strides[1];
  spatial(out.strides, out.rank, 0, g.output_stride);
}

}  // namespace wick
