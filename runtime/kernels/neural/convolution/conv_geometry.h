// The arguments of a convolution, checked once and in three spatial dimensions. C++17, freestanding.
#pragma once
#include "runtime/kernels/neural/window.h"

namespace wick {

/// One convolution. Unused leading spatial dimensions have size 1, kernel 1, stride 1. Output position o and tap t read
/// input position (o * out_step + origin + t * tap_step) / divisor if that divides and lies inside: this covers
/// ordinary (divisor 1) and transposed convolutions (divisor = stride) alike.
struct ConvGeometry {
  int dims = 2;
  bool transposed = false;
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  int64_t input[3], output[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t out_step[3], origin[3], tap_step[3], divisor[3];
  int64_t input_batch_stride = 0, input_channel_stride = 0, input_stride[3];
  int64_t output_batch_stride = 0, output_channel_stride = 0, output_stride[3];
  int64_t weight_out_stride = 0, weight_in_stride = 0, weight_stride[3];

  int64_t weight_group_stride() const {
    return transposed ? in_channels * weight_in_stride : out_channels * weight_out_stride;
  }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return in_channels * taps(); }  // k of the matrix product
  int64_t positions() const { return output[0] * output[1] * output[2]; }
};

/// The arguments of aten::convolution without tensors' dtypes. Fails the context with InvalidArgument.
struct ConvArguments {
  const EValue* stride;
  const EValue* padding;
  const EValue* dilation;
  bool transposed;
  const EValue* output_padding;
  int64_t groups;
};
/// Fills sizes and input and weight strides; output strides need set_output_strides.
bool read_geometry(KernelContext& context, const Tensor& input, const Tensor& weight, const ConvArguments& arguments,
                   ConvGeometry* geometry);
/// Sizes of the output tensor; returns its rank.
int output_sizes(const ConvGeometry& geometry, int32_t* sizes);
void set_output_strides(ConvGeometry& geometry, const Tensor& out);

/// Whether the three dimensions walk memory in steps of one stride, in order. Then gives that stride.
inline bool is_flat(const int64_t* sizes, const int64_t* strides, int64_t* step) {
  int64_t next = 0;
  *step = 0;
  for (int d = 2; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    if (*step == 0) {
      *step = strides[d];
    } else if (strides[d] != next) {
      return false;
    }
    next = strides[d] * sizes[d];
  }
  return true;
}

/// A transposed f32 convolution as one ordinary convolution for each residue of the output position modulo the stride.
/// False, with nothing done, if there is no temp memory for the rearranged weights.
bool convolve_transposed(KernelContext& context, const ConvGeometry& geometry, const float* input, const float* weight,
                         const float* bias, float* out);

/// f32, f16, bf16 through the blocked product; fails with OutOfResources without temp memory.
void convolve_float(KernelContext& context, const ConvGeometry& geometry, const Tensor& input, const Tensor& weight,
                    const Tensor* bias, Tensor& out);

}  // namespace wick
