// quantized_transpose_conv2d as a matmul on cores without vectors (gemm.h): a row holds everything that contributes to
// one output pixel, in the order of the weights; taps that no input pixel reaches count as padding. If each output
// pixel has exactly one tap, there is a matmul for each tap instead. C++17, freestanding.
#include "backends/cortex_m/kernels/gemm/gemm.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/transpose_conv2d/transpose_conv2d.h"

namespace wick::cortex_m::plain {
namespace {

struct TransposeConv2dRows {
  const int8_t* x;
  int32_t height, width, channels, out_height, out_width;
  const Window& window;

  explicit TransposeConv2dRows(const TransposeConv2d& c)
      : x(c.x),
        height(static_cast<int32_t>(c.from.h)),
        width(static_cast<int32_t>(c.from.w)),
        channels(static_cast<int32_t>(c.from.c)),
        out_height(static_cast<int32_t>(c.to.h)),
        out_width(static_cast<int32_t>(c.to.w)),
        window(c.window) {}

  /// Appends the values [k, k + count) of one row.
  template <typename Row>
  void operator()(int32_t row, int32_t k, int32_t count, Row& to) const {
    const int32_t line = row / out_width, image = line / out_height;
    const int32_t top = line - image * out_height + window.padding[0],
                  left = row - line * out_width + window.padding[1];
    int32_t tap = k / channels, skip = k - tap * channels;
    int32_t ky = tap / window.kernel[1], kx = tap - ky * window.kernel[1];
    for (; count > 0; skip = 0) {
      const int32_t length = channels - skip < count ? channels - skip : count;
      const int32_t y = source(top - ky, window.stride[0], height), at = source(left - kx, window.stride[1], width);
      if (y < 0 || at < 0) {
        to.append_padding(length);
      } else {
        to.append(x + ((image * height + y) * width + at) * channels + skip, length);
      }
      count -= length;
      if (++kx < window.kernel[1]) continue;
      kx = 0;
      ++ky;
    }
  }

 private:
  /// The input position that contributes to `at`, or -1.
  static int32_t source(int32_t at, int32_t stride, int32_t size) {
    if (at < 0) return -1;
    const int32_t position = at / stride;
    return position < size && position * stride == at ? position : -1;
  }
};

/// The matmul of all taps.
Gemm gemm_of(const TransposeConv2d& c) {
  Gemm gemm;
  gemm.num_rows = static_cast<int32_t>(c.to.n * c.to.h * c.to.w);
  gemm.depth = c.window.kernel[0] * c.window.kernel[1] * static_cast<int32_t>(c.from.c);
  gemm.num_outputs = gemm.row_stride = static_cast<int32_t>(c.to.c);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  gemm.weights = c.weights;
  gemm.bias = c.quantization.bias;
  gemm.multipliers = c.quantization.multipliers;
  gemm.shifts = c.quantization.shifts;
  return gemm;
}

/// Computes one tap after the other.
__attribute__((noinline)) void transpose_convolve_taps(const TransposeConv2d& c, Span<uint32_t> tile) {
  Gemm gemm = gemm_of(c);
  gemm.pitch = gemm.depth;
  gemm.depth = static_cast<int32_t>(c.from.c);
  gemm.row_stride = c.window.stride[1] * gemm.num_outputs;
  for (int32_t ky = 0; ky < c.window.kernel[0]; ++ky) {
    const TapPositions y(c, 0, ky);
    for (int32_t kx = 0; kx < c.window.kernel[1]; ++kx, gemm.weights += gemm.depth) {
      const TapPositions x(c, 1, kx);
      gemm.num_rows = x.count;
      GemmTile<Isa> products(gemm, tile);
      for (int64_t n = 0; n < c.from.n; ++n) {
        for (int32_t row = 0; row < y.count; ++row) {
          const int64_t from = (n * c.from.h + y.first + row) * c.from.w + x.first;
          const int64_t to = (n * c.to.h + y.out + row * c.window.stride[0]) * c.to.w + x.out;
          products.run(MatrixRows<int8_t>{c.x + from * c.from.c, gemm.depth}, c.out + to * c.to.c);
        }
      }
    }
  }
}

__attribute__((noinline)) void transpose_convolve_rows(const TransposeConv2d& c, Span<uint32_t> tile) {
  const Gemm gemm = gemm_of(c);
  GemmTile<Isa>(gemm, tile).run(TransposeConv2dRows(c), c.out);
}

void transpose_convolve(KernelContext& context, Span<EValue*> args, ImageSizes sizes, KernelFn reference) {
  TransposeConv2d c;
  if (!read_transpose_conv2d(context, args, sizes, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from) || !positions_fit_31_bits(c.window, c.to))
    return reference(context, args);
  run_with_tile(c.row_scratch, [&](Span<uint32_t> tile) {
    if (c.has_one_tap_for_each()) return transpose_convolve_taps(c, tile);
    transpose_convolve_rows(c, tile);
  });
}

}  // namespace

void quantized_transpose_conv2d(KernelContext& context, Span<EValue*> args) {
  transpose_convolve(context, args, ImageSizes::nchw, reference::quantized_transpose_conv2d);
}

void quantized_transpose_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  transpose_convolve(context, args, ImageSizes::nhwc, reference::quantized_transpose_conv2d_nhwc);
}

}  // namespace wick::cortex_m::plain
