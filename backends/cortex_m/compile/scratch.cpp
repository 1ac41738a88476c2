// Source: arm_convolve_get_buffer_sizes_s8.c and its siblings in CMSIS-NN of July 2026, as GCC and clang build them.
#include "backends/cortex_m/compile/scratch.h"

#include <algorithm>
#include <initializer_list>

#include "common/checked.h"

namespace wick::cortex_m {
namespace {

constexpr int64_t kDepthwiseBlock = 124;      // channels that MVE code processes at once
constexpr int64_t kLeastTurnedChannels = 17;  // with at least so many, transposed convolutions reverse their filter

int64_t product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (const int64_t factor : factors) {
    if (!checked_mul(result, factor, &result)) return INT64_MAX;
  }
  return result;
}
int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return checked_add(a, b, &result) ? result : INT64_MAX;
}
int64_t round_up(int64_t value, int64_t multiple) {
  int64_t result = 0;
  return checked_add(value, multiple - 1, &result) ? result / multiple * multiple : INT64_MAX;
}
bool both(const int64_t values[2], int64_t value) { return values[0] == value && values[1] == value; }

// Four im2col columns of bytes, each rounded up to whole vectors.
int64_t mve_columns(const ConvolutionShape& s) {
  return product({4, round_up(product({s.channels, s.kernel[0], s.kernel[1]}), 16)});
}
// Two im2col columns of int16.
int64_t word_columns(const ConvolutionShape& s) {
  return product({2, 2, round_up(product({s.channels, s.kernel[0], s.kernel[1]}), 4)});
}

bool is_pointwise(const ConvolutionShape& s) {
  return both(s.padding, 0) && both(s.kernel, 1) && both(s.dilation, 1) && s.channels == s.group_channels;
}
bool is_row(const ConvolutionShape& s) {
  return s.input[0] == 1 && s.kernel[0] == 1 && s.dilation[1] == 1 && product({s.stride[1], s.channels}) % 4 == 0 &&
         s.channels == s.group_channels;
}

// The padded ends of one row. A row whose ends overlap is treated as any other convolution.
int64_t mve_row(const ConvolutionShape& s) {
  const int64_t stride = s.stride[1], left = s.padding[1];
  const int64_t odd = ((s.output[1] - 1) * stride + s.kernel[1] - s.input[1]) % 2;  // -1 if input is left over
  const auto positions = [&](int64_t pad) { return pad == 0 ? 0 : std::max<int64_t>(1, (pad + stride - 1) / stride); };
  const int64_t right_positions = positions(left + odd), ends = right_positions + positions(left);
  if (std::max<int64_t>(s.output[1] - ends, 0) + ends != s.output[1]) return mve_columns(s);
  const int64_t right = odd != 0 ? right_positions : left;
  return std::max(product({s.kernel[1] + left, s.channels}), product({s.kernel[1] - 1 + right, s.channels}));
}

}  // namespace

ScratchBytes conv2d_scratch(const ConvolutionShape& s) {
  if (is_pointwise(s)) return {};
  const int64_t words = word_columns(s);
  return {is_row(s) ? mve_row(s) : mve_columns(s), words, words};
}

ScratchBytes conv2d_int16_scratch(const ConvolutionShape& s) {
  const int64_t terms = product({s.group_channels, s.kernel[0], s.kernel[1]});
  const int64_t tile = product({8, round_up(terms, 4)});
  const bool one_tap = both(s.padding, 0) && both(s.kernel, 1);
  return {one_tap ? 0 : product({6, terms}), tile, tile};
}

ScratchBytes depthwise_conv2d_scratch(const ConvolutionShape& s) {
  const int64_t taps = product({s.kernel[0], s.kernel[1]});
  if (s.channels == 1 && s.outputs > 1) {
    ConvolutionShape convolution = s;
    convolution.group_channels = 1;
    return {sum(conv2d_scratch(convolution).mve, product({s.outputs, taps})), 0, 0};
  }
  if (s.channels != s.outputs || s.batch != 1 || !both(s.dilation, 1)) return {};
  const bool small = both(s.kernel, 3) && s.padding[0] <= 1 && s.padding[1] <= 1;
  return {product({4, kDepthwiseBlock, taps}), small ? 0 : product({2, s.channels, taps}), 0};
}

TransposedScratch transpose_conv2d_scratch(const ConvolutionShape& s) {
  if (s.stride[0] <= 2 && s.stride[1] <= 2 && s.channels >= kLeastTurnedChannels) {
    const int64_t words = word_columns(s), filter = product({s.channels, s.kernel[0], s.kernel[1], s.outputs});
    return {{mve_columns(s), words, words}, {filter, filter, filter}};
  }
  // CMSIS-NN uses the vertical stride for both axes here.
  const int64_t width = sum(product({s.input[1] - 1, s.stride[1]}), std::max(s.kernel[1], s.stride[0]));
  const int64_t rows = product({width, s.outputs, std::max(s.kernel[0], s.stride[0]), 4});
  return {{rows, rows, rows}, {}};
}

ScratchBytes batch_matmul_scratch(int64_t columns) { return {product({4, columns}), 0, 0}; }

ScratchBytes avg_pool2d_scratch(int64_t channels) { return {0, product({4, channels}), 0}; }

}  // namespace wick::cortex_m
