// For tests of convolutions: seeded cases with their tensors, and sums over windows written as a scatter or gather over
// logical coordinates. C++20, hosted.
#pragma once
#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {

/// A case with NCHW sizes and elements in that order.
struct ConvolutionCase {
  int64_t batch, channels, height, width, outputs, kernel[2], stride[2], padding[2], dilation[2];
  int64_t input_offset;
  std::vector<int64_t> x, bias;  // no bias: empty
  std::vector<OutputParameters> stages;

  /// Randomizes everything but the weights; a sum has `terms` products.
  void randomize(Random& random, int64_t terms) {
    input_offset = random.pick<int64_t>({-127, 0, 128, random.in(-127, 128)});
    x = random_int8(random, batch * channels * height * width);
    bias = random.one_in(4) ? std::vector<int64_t>() : random_bias(random, outputs);
    const OutputParameters shared = random_output(random, terms);
    for (int64_t o = 0; o < outputs; ++o) {
      stages.push_back(shared);
      randomize_scale(random, terms, &stages.back());
    }
  }
  /// The input plus its offset; 0 in the padding.
  int64_t at(int64_t n, int64_t c, int64_t y, int64_t ix) const {
    if (y < 0 || y >= height || ix < 0 || ix >= width) return 0;
    return x[((n * channels + c) * height + y) * width + ix] + input_offset;
  }
  int64_t positions(size_t axis) const {
    const int64_t size = axis == 0 ? height : width, span = dilation[axis] * (kernel[axis] - 1) + 1;
    const int64_t room = size + 2 * padding[axis] - span;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
  double finish(int64_t sum, int64_t o) const { return stages[o](sum + (bias.empty() ? 0 : bias[o])); }
  TestTensor input() const {
    return make_ints_in(DType::i8,
                        {static_cast<int32_t>(batch), static_cast<int32_t>(channels), static_cast<int32_t>(height),
                         static_cast<int32_t>(width)},
                        x, {0, 2, 3, 1});
  }
  TestTensor output(int64_t rows, int64_t columns) const {
    return make_out(DType::i8,
                    {static_cast<int32_t>(batch), static_cast<int32_t>(outputs), static_cast<int32_t>(rows),
                     static_cast<int32_t>(columns)},
                    {0, 2, 3, 1});
  }
  TestTensor bias_tensor() const { return row(bias); }
  TestTensor multipliers() const {
    std::vector<int64_t> values;
    for (const OutputParameters& stage : stages) values.push_back(stage.multiplier);
    return row(values);
  }
  TestTensor shifts() const {
    std::vector<int64_t> values;
    for (const OutputParameters& stage : stages) values.push_back(stage.shift);
    return row(values);
  }
  static TestTensor row(const std::vector<int64_t>& values) {
    return make_ints(DType::i32, {static_cast<int32_t>(values.size())}, values);
  }
  static std::vector<int64_t> pair(const int64_t values[2]) { return {values[0], values[1]}; }
};

inline ConvolutionCase random_window(Random& random) {
  ConvolutionCase c{};
  c.batch = random.in(1, 3);
  c.channels = random.in(1, 6);
  c.height = random.one_in(6) ? 1 : random.in(1, 9);
  c.width = random.in(1, 9);
  for (size_t axis = 0; axis < 2; ++axis) {
    c.kernel[axis] = random.in(1, 4);
    c.stride[axis] = random.in(1, 3);
    c.padding[axis] = random.in(0, 4);
    c.dilation[axis] = random.one_in(3) ? random.in(1, 3) : 1;
  }
  return c;
}

}  // namespace wick::cortex_m
