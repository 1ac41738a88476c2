// quantized_transpose_conv2d as a matmul: a row holds everything that contributes to one output pixel, in the order of
// the weights; taps that no input pixel reaches count as padding. If each output pixel has exactly one tap, there is a
// matmul for each tap instead. Three rows at a time (gemm_tile.h) are in a tile, in scratch or, if that is too small,
// on the stack. The equation: reference.cpp.
#include "backends/cortex_m/kernels/mve/gemm_tile.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/transpose_conv2d/transpose_conv2d.h"

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kStackBytes = 512;

class Arrivals {
 public:
  Arrivals(const TransposeConv2d& c, int8_t* tile)
      : c_(c),
        channels_(static_cast<int32_t>(c.from.c)),
        terms_(c.window.kernel[0] * c.window.kernel[1] * channels_),
        straight_(channels_ % kTileVector == 0),
        padding_(static_cast<int8_t>(-c.quantization.input_offset)),
        tile_(tile) {}

  /// Computes all pixels of one image for the channels of a pass.
  void write_image(const int8_t* image, TilePass& pass, int8_t* out) const {
    const int32_t step = static_cast<int32_t>(c_.to.c), width = static_cast<int32_t>(c_.to.w);
    int32_t y = 0, x = 0;
    for (int32_t left = static_cast<int32_t>(c_.to.h) * width; left > 0; left -= kTileRows) {
      const int32_t count = left < kTileRows ? left : kTileRows;
      for (int32_t row = 0; row < count; ++row) {
        write_row(image, y, x, row);
        if (++x < width) continue;
        x = 0;
        ++y;
      }
      pass.run(count, out, step);
      out += count * step;
    }
  }

 private:
  /// The input position whose tap contributes to position `at` of the output, or -1.
  static int32_t source(int32_t at, int32_t stride, int64_t size) {
    if (at < 0) return -1;
    const int32_t position = at / stride;
    return position < size && position * stride == at ? position : -1;
  }

  void write_row(const int8_t* image, int32_t y, int32_t x, int32_t row) const {
    const Window& window = c_.window;
    int8_t* const place = tile_ + kTileVector * row;
    int8_t* to = straight_ ? place : tile_ + tile_bytes(terms_);
    fill_row(to);
    const int32_t skip = (straight_ ? kTileRows : 1) * channels_, width = static_cast<int32_t>(c_.from.w);
    for (int32_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int32_t from_y = source(y + window.padding[0] - ky, window.stride[0], c_.from.h);
      for (int32_t kx = 0; kx < window.kernel[1]; ++kx, to += skip) {
        const int32_t from_x = from_y < 0 ? -1 : source(x + window.padding[1] - kx, window.stride[1], width);
        if (from_x < 0) continue;
        const int8_t* const pixel = image + (from_y * width + from_x) * channels_;
        if (straight_)
          copy_to_tile(to, pixel, channels_);
        else
          copy_bytes(to, pixel, channels_);
      }
    }
    if (!straight_) copy_to_tile(place, tile_ + tile_bytes(terms_), terms_);
  }

  /// Writes a row without input pixels.
  void fill_row(int8_t* to) const {
    if (!straight_) return fill_bytes(to, padding_, terms_);
    for (int32_t at = 0; at < terms_; at += kTileVector) fill_bytes(to + kTileRows * at, padding_, kTileVector);
  }

  const TransposeConv2d& c_;
  int32_t channels_, terms_;
  bool straight_;  // pixels are whole vectors, copied directly to their places in the tile
  int8_t padding_;
  int8_t* tile_;
};

/// Computes one tap for the channels of a pass; `image` and `out` begin at its first pixels.
void write_tap(const TransposeConv2d& c, const TapPositions& y, const TapPositions& x, const int8_t* image,
               int8_t* tile, TilePass& pass, int8_t* out) {
  const int32_t channels = static_cast<int32_t>(c.from.c), step = c.window.stride[1] * static_cast<int32_t>(c.to.c);
  const int32_t line = static_cast<int32_t>(c.from.w) * channels;
  const int32_t out_line = c.window.stride[0] * static_cast<int32_t>(c.to.w * c.to.c);
  for (int32_t row = 0; row < y.count; ++row, image += line, out += out_line) {
    const int8_t* pixel = image;
    int8_t* to = out;
    for (int32_t left = x.count; left > 0; left -= kTileRows, to += kTileRows * step) {
      const int32_t count = left < kTileRows ? left : kTileRows;
      for (int32_t i = 0; i < count; ++i, pixel += channels) copy_to_tile(tile + kTileVector * i, pixel, channels);
      pass.run(count, to, step);
    }
  }
}

/// Computes one tap after the other. `gemm` covers all taps.
void run_taps(const TransposeConv2d& c, Gemm gemm, int8_t* tile) {
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.to.c;
  gemm.pitch = gemm.terms;
  gemm.terms = static_cast<int32_t>(c.from.c);
  for (int32_t ky = 0; ky < c.window.kernel[0]; ++ky) {
    const TapPositions y(c, 0, ky);
    for (int32_t kx = 0; kx < c.window.kernel[1]; ++kx, gemm.weights += gemm.terms) {
      const TapPositions x(c, 1, kx);
      const int8_t* image = c.x + (y.first * c.from.w + x.first) * c.from.c;
      int8_t* out = c.out + (y.out * c.to.w + x.out) * c.to.c;
      for (int32_t begin = 0; begin < gemm.channels; begin += kTileChannels) {
        TilePass pass(gemm, begin, tile);
        for (int64_t n = 0; n < c.from.n; ++n)
          write_tap(c, y, x, image + n * image_size, tile, pass, out + n * out_size + begin);
      }
    }
  }
}

void run_tiles(const TransposeConv2d& c, int8_t* tile) {
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.to.c;
  Gemm gemm;
  gemm.terms = static_cast<int32_t>(c.window.kernel[0] * c.window.kernel[1] * c.from.c);
  gemm.channels = static_cast<int32_t>(c.to.c);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  gemm.weights = c.weights;
  gemm.addend = c.quantization.bias;
  gemm.multipliers = c.quantization.multipliers;
  gemm.shifts = c.quantization.shifts;
  if (c.has_one_tap_for_each()) return run_taps(c, gemm, tile);
  const Arrivals arrivals(c, tile);
  for (int32_t begin = 0; begin < gemm.channels; begin += kTileChannels) {
    TilePass pass(gemm, begin, tile);
    for (int64_t n = 0; n < c.from.n; ++n)
      arrivals.write_image(c.x + n * image_size, pass, c.out + n * out_size + begin);
  }
}

__attribute__((noinline)) void run_on_stack(const TransposeConv2d& c) {
  alignas(16) int8_t tile[kStackBytes];
  run_tiles(c, tile);
}

void transpose_convolve_images(KernelContext& context, Span<EValue*> args, ImageSizes sizes, KernelFn reference) {
  TransposeConv2d c;
  if (!read_transpose_conv2d(context, args, sizes, &c)) return;
  const int64_t taps = c.has_one_tap_for_each() ? 1 : int64_t{c.window.kernel[0]} * c.window.kernel[1];
  const int64_t terms = taps * c.from.c;
  const int64_t bytes = kTileRows * ((terms + kTileVector - 1) / kTileVector * kTileVector) + terms;
  const bool near = positions_fit_31_bits(c.window, c.from) && positions_fit_31_bits(c.window, c.to);
  if (near && terms > 0 && static_cast<int64_t>(c.row_scratch.size()) >= bytes)
    return run_tiles(c, reinterpret_cast<int8_t*>(c.row_scratch.data()));
  if (near && terms > 0 && bytes <= kStackBytes) return run_on_stack(c);
  reference(context, args);
}

}  // namespace

void quantized_transpose_conv2d(KernelContext& context, Span<EValue*> args) {
  transpose_convolve_images(context, args, ImageSizes::nchw, reference::quantized_transpose_conv2d);
}

void quantized_transpose_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  transpose_convolve_images(context, args, ImageSizes::nhwc, reference::quantized_transpose_conv2d_nhwc);
}

}  // namespace wick::cortex_m::mve
