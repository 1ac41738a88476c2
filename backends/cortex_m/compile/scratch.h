// Scratch memory of the operators: what CMSIS-NN's functions `*_get_buffer_size` ask for. C++20.
#pragma once
#include <cstdint>

namespace wick::cortex_m {

/// Bytes for each instruction set. A size beyond int64 is INT64_MAX; CMSIS-NN computes in int32, so nothing above
/// INT32_MAX can be used.
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

/// quantized_conv2d: im2col of four (MVE) or two positions. A 1x1 kernel without padding needs none.
ScratchBytes conv2d_scratch(const ConvolutionShape& shape);

/// conv2d_int16: rows of three positions (MVE), or four in the tile of a matrix multiplication. CMSIS-NN has no say in
/// it.
ScratchBytes conv2d_int16_scratch(const ConvolutionShape& shape);

/// quantized_depthwise_conv2d: im2col by blocks of channels; with one input channel on MVE that of a convolution, and
/// its weights. group_channels is not read.
ScratchBytes depthwise_conv2d_scratch(const ConvolutionShape& shape);

/// quantized_transpose_conv2d: `rows` is its im2col or the rows of sums that are not complete yet, `filter` the filter
/// turned around. Does not read `output`, dilation and padding.
struct TransposedScratch {
  ScratchBytes rows, filter;
};
TransposedScratch transpose_conv2d_scratch(const ConvolutionShape& shape);

/// quantized_batch_matmul whose right operand has `columns` columns: their sums.
ScratchBytes batch_matmul_scratch(int64_t columns);

/// quantized_avg_pool2d: sums of one position.
ScratchBytes avg_pool2d_scratch(int64_t channels);

}  // namespace wick::cortex_m
