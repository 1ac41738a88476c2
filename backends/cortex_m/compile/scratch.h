// Sizes of scratch memory, as CMSIS-NN's functions `*_get_buffer_size` compute them. C++20.
#pragma once
#include <cstdint>

namespace wick::cortex_m {

/// Bytes for each instruction set. Sizes beyond int64 become INT64_MAX. Sizes above INT32_MAX are unusable: CMSIS-NN
/// computes in int32.
struct ScratchBytes {
  int64_t mve = 0, dsp = 0, scalar = 0;
  friend bool operator==(const ScratchBytes&, const ScratchBytes&) = default;
};

/// Sizes of a convolution, {height, width} where there are two. All are positive, paddings at least 0.
struct ConvolutionShape {
  int64_t batch = 1, channels = 1, outputs = 1;  // channels of input and output
  int64_t group_channels = 1;                    // of the input, in one group
  int64_t input[2], output[2], kernel[2];
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
};

/// quantized_conv2d: im2col of four positions (MVE) or two. A 1x1 kernel without padding needs none.
ScratchBytes conv2d_scratch(const ConvolutionShape& shape);

/// conv2d_int16: rows of three positions (MVE), or of four in a tile of the matmul. This size is Wick's own, not
/// CMSIS-NN's.
ScratchBytes conv2d_int16_scratch(const ConvolutionShape& shape);

/// quantized_depthwise_conv2d: im2col by blocks of channels. With one input channel on MVE: the scratch of a
/// convolution, and its weights. Does not read group_channels.
ScratchBytes depthwise_conv2d_scratch(const ConvolutionShape& shape);

/// quantized_transpose_conv2d. `rows`: its im2col, or rows of incomplete sums; `filter`: the reversed filter. Does not
/// read `output`, dilation and padding.
struct TransposedScratch {
  ScratchBytes rows, filter;
};
TransposedScratch transpose_conv2d_scratch(const ConvolutionShape& shape);

/// quantized_batch_matmul: sums of the `columns` columns of its right operand.
ScratchBytes batch_matmul_scratch(int64_t columns);

/// quantized_avg_pool2d: the sums of one position.
ScratchBytes avg_pool2d_scratch(int64_t channels);

}  // namespace wick::cortex_m
