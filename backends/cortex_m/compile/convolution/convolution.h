// Convolutions on int8 as the kernels take them: geometry, filter and sums of each output channel. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/scratch.h"

namespace wick::cortex_m {

/// The batch of images or rows; 1 where it is known only at run time: kernels need no more scratch for others.
int64_t batch_of(const compiler::Value& image);

/// Node of aten.convolution on rows [N, C, W] or images [N, C, H, W]; a row is an image of height 1.
struct Convolution {
  ConvolutionShape shape;  // transposed: of the node, too
  int64_t groups = 1, output_padding[2] = {0, 0};
  int64_t end_padding[2] = {-1, -1};  // behind the input, if not shape.padding as well; not transposed
  bool transposed = false, rows = false;
  Affine input, output;
  int64_t copies = 1;                        // of each group's channels, side by side: those of the filter
  std::vector<int8_t> filter;                // [outputs, kH, kW, group_channels]
  std::vector<int32_t> bias;                 // empty: none
  std::vector<int32_t> multipliers, shifts;  // of each output

  bool pads_ends_alike() const {
    return (end_padding[0] < 0 || end_padding[0] == shape.padding[0]) &&
           (end_padding[1] < 0 || end_padding[1] == shape.padding[1]);
  }
  size_t taps() const { return static_cast<size_t>(shape.kernel[0] * shape.kernel[1]); }
  bool is_depthwise() const { return groups > 1 && shape.group_channels == 1; }
};

/// Fills `convolution`, or says why the node is not taken: input and result of int8 with one scale, a constant filter
/// with one scale for each output or for all, a constant bias, sums that fit 32 bits. Weights have no zero points any
/// more; those of nine bits are split, and the convolution reads channels repeatedly (repeated_inputs).
Refusal read_convolution(const compiler::Node& node, Convolution* convolution);
/// Only its geometry, its filter and the quantization of input and result, whatever their dtype. Requires: both have
/// one scale.
Refusal read_filter(const compiler::Node& node, Convolution* convolution);
/// What an accumulator of each output counts: steps of input times weights.
std::vector<double> accumulator_steps(const compiler::Node& node, const Convolution& convolution);
/// [O, taps, 1] -> [1, taps, O].
std::vector<int8_t> depthwise_filter(const Convolution& convolution);

/// The bias in steps of the accumulator, for outputs whose sums count `steps[o]` each, or all the same; or why it does
/// not fit. A bias that is quantized with these steps keeps its elements.
Refusal quantize_bias(const compiler::Value& bias, size_t outputs, const std::vector<double>& steps,
                      std::vector<int32_t>* out);
/// The same for elements below 2^`bits` in size.
Refusal quantize_bias(const compiler::Value& bias, size_t outputs, const std::vector<double>& steps, int bits,
                      std::vector<int64_t>* out);

}  // namespace wick::cortex_m
