// Convolutions on int8 as the kernels take them: geometry, filter, and sums for each output channel. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"
#include "backends/cortex_m/compile/scratch.h"

namespace wick::cortex_m {

/// The batch size, or 1 if it is dynamic. Kernels need no more scratch for other batch sizes.
int64_t batch_of(const compiler::Value& image);

/// An aten.convolution on rows [N, C, W] or images [N, C, H, W]; a row is an image of height 1.
struct Convolution {
  ConvolutionShape shape;  // the node's sizes, even if it is transposed
  int64_t groups = 1, output_padding[2] = {0, 0};
  int64_t end_padding[2] = {-1, -1};  // padding at the end, if it is not shape.padding; not transposed
  bool transposed = false, rows = false;
  Affine input, output;
  int64_t copies = 1;                        // how often each group's input channels are repeated, to match the filter
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

/// Fills `convolution`, or says why the node is not taken. It needs an int8 input and result with one scale each, a
/// constant filter with one scale or one for each output, a constant bias, and sums that fit 32 bits. Zero points of
/// the weights are subtracted. Weights that then need nine bits are split; the convolution must read repeated channels
/// (repeated_inputs).
Refusal read_convolution(const compiler::Node& node, Convolution* convolution);
/// Fills only the geometry, the filter, and the quantization of input and result. Requires: both have one scale; any
/// dtype.
Refusal read_filter(const compiler::Node& node, Convolution* convolution);
/// scale(input) * scale(weights), the unit of the accumulator, for each output.
std::vector<double> accumulator_steps(const compiler::Node& node, const Convolution& convolution);
/// [O, taps, 1] -> [1, taps, O].
std::vector<int8_t> depthwise_filter(const Convolution& convolution);

/// The bias as int32 elements of the accumulator's scale: `steps[o]` for each output, or one for all. Or why it does
/// not fit. The elements of a bias that already has this scale are kept.
Refusal quantize_bias(const compiler::Value& bias, size_t outputs, const std::vector<double>& steps,
                      std::vector<int32_t>* out);
/// The same for elements below 2^`bits` in magnitude.
Refusal quantize_bias(const compiler::Value& bias, size_t outputs, const std::vector<double>& steps, int bits,
                      std::vector<int64_t>* out);

}  // namespace wick::cortex_m
