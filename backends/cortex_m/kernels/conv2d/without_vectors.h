// quantized_conv2d as a matmul on cores without vectors (gemm.h): a row holds the taps of one output pixel; there is
// one matmul for each group. The tile is in scratch if that is larger than the tile on the stack. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m {

/// The windows of a convolution on elements of type `Element`, as the rows of a matrix.
template <typename Element>
struct Conv2dRows {
  const Element* x;  // begins at the first channel of the group
  int32_t height, width, channels, out_height, out_width, inputs;
  int32_t kernel[2], stride[2], padding[2], dilation[2];
  bool pixels_are_rows;    // one tap, and each pixel is read once
  bool taps_are_adjacent;  // for the taps of one line of the window

  /// Conv2d or Conv2dInt16.
  template <typename Convolution>
  explicit Conv2dRows(const Convolution& c)
      : x(c.x),
        height(static_cast<int32_t>(c.from.h)),
        width(static_cast<int32_t>(c.from.w)),
        channels(static_cast<int32_t>(c.from.c)),
        out_height(static_cast<int32_t>(c.to.h)),
        out_width(static_cast<int32_t>(c.to.w)),
        inputs(static_cast<int32_t>(c.inputs)) {
    bool simple = true;
    for (int d = 0; d < 2; ++d) {
      kernel[d] = c.window.kernel[d];
      stride[d] = c.window.stride[d];
      padding[d] = c.window.padding[d];
      dilation[d] = c.window.dilation[d];
      simple = simple && kernel[d] == 1 && stride[d] == 1 && padding[d] == 0 && c.window.end_padding[d] == 0;
    }
    pixels_are_rows = simple;
    taps_are_adjacent = inputs == channels && dilation[1] == 1;
  }

  /// Appends the values [k, k + count) of one row.
  template <typename Row>
  void operator()(int32_t row, int32_t k, int32_t count, Row& to) const {
    if (pixels_are_rows) return to.append(x + row * channels + k, count);
    const int32_t line = row / out_width, image = line / out_height;
    const int32_t top = (line - image * out_height) * stride[0] - padding[0];
    const int32_t left = (row - line * out_width) * stride[1] - padding[1];
    const int32_t per_line = kernel[1] * inputs;
    int32_t y = k / per_line, skip = k - y * per_line;
    for (; count > 0; ++y, skip = 0) {
      const int32_t length = per_line - skip < count ? per_line - skip : count, at = top + y * dilation[0];
      if (static_cast<uint32_t>(at) >= static_cast<uint32_t>(height)) {
        to.append_padding(length);
      } else {
        append_line(x + (image * height + at) * width * channels, left, skip, length, to);
      }
      count -= length;
    }
  }

 private:
  /// Appends `count` values of a line of the window, after the first `skip`; its first tap is at column `left`.
  template <typename Row>
  void append_line(const Element* pixels, int32_t left, int32_t skip, int32_t count, Row& to) const {
    if (taps_are_adjacent && left >= 0 && left + kernel[1] <= width)
      return to.append(pixels + left * channels + skip, count);
    int32_t tap = skip / inputs, first = skip - tap * inputs;
    for (; count > 0; ++tap, first = 0) {
      const int32_t length = inputs - first < count ? inputs - first : count, at = left + tap * dilation[1];
      if (static_cast<uint32_t>(at) >= static_cast<uint32_t>(width)) {
        to.append_padding(length);
      } else {
        to.append(pixels + at * channels + first, length);
      }
      count -= length;
    }
  }
};

/// `row_bytes`: bytes of the weights of one output.
template <typename Isa, GemmWeights kWeights = GemmWeights::int8>
__attribute__((noinline)) void convolve_groups(const Conv2d& c, int32_t row_bytes, Span<uint32_t> tile) {
  Conv2dRows<int8_t> rows(c);
  Gemm gemm;
  gemm.num_rows = static_cast<int32_t>(c.to.n * c.to.h * c.to.w);
  gemm.depth = c.window.kernel[0] * c.window.kernel[1] * rows.inputs;
  gemm.num_outputs = static_cast<int32_t>(c.outputs);
  gemm.row_stride = static_cast<int32_t>(c.to.c);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  for (int32_t n = 0; n < gemm.row_stride; n += gemm.num_outputs, rows.x += rows.inputs) {
    gemm.weights = c.weights + n * row_bytes;
    gemm.bias = c.quantization.bias ? c.quantization.bias + n : nullptr;
    gemm.multipliers = c.quantization.multipliers + n;
    gemm.shifts = c.quantization.shifts + n;
    GemmTile<Isa, kWeights>(gemm, tile).run(rows, c.out + n);
  }
}

template <typename Isa>
void quantized_conv2d_without_vectors(KernelContext& context, Span<EValue*> args, ImageSizes sizes,
                                      KernelFn reference) {
  Conv2d c;
  if (!read_conv2d(context, args, sizes, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from)) return reference(context, args);
  const int32_t row_bytes = c.window.kernel[0] * c.window.kernel[1] * static_cast<int32_t>(c.inputs);
  run_with_tile(c.scratch, [&](Span<uint32_t> tile) { convolve_groups<Isa>(c, row_bytes, tile); });
}

}  // namespace wick::cortex_m
