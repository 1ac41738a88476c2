// The checked arguments of quantized_transpose_conv2d. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/convolution.h"

namespace wick::cortex_m {

struct TransposeConv2d {
  Window window;
  Image from, to;
  ChannelQuantization quantization;
  const int8_t *x, *weights;
  int8_t* out;
  Span<uint8_t> row_scratch, filter_scratch;

  /// Whether each output pixel has exactly one tap on one input pixel. Then each tap is a matmul, whose results are a
  /// stride apart.
  bool has_one_tap_for_each() const {
    return window.stride[0] == window.kernel[0] && window.stride[1] == window.kernel[1];
  }
};
/// The input positions along an axis from which a tap contributes to the output, and where the first one does.
/// Requires: near positions.
struct TapPositions {
  int32_t first, count, out;

  TapPositions(const TransposeConv2d& c, size_t axis, int32_t tap) {
    const int32_t stride = c.window.stride[axis], before = c.window.padding[axis] - tap;
    const auto from = static_cast<int32_t>(axis == 0 ? c.from.h : c.from.w);
    const auto to = static_cast<int32_t>(axis == 0 ? c.to.h : c.to.w);
    first = before > 0 ? (before + stride - 1) / stride : 0;
    const int32_t end = to + before > 0 ? (to + before + stride - 1) / stride : 0;
    count = (end < from ? end : from) - first;
    out = first * stride - before;
  }
};
bool read_transpose_conv2d(KernelContext& context, Span<EValue*> args, ImageSizes sizes, TransposeConv2d* c);

}  // namespace wick::cortex_m
