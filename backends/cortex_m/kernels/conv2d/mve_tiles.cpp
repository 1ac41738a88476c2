#include "backends/cortex_m/kernels/conv2d/mve_tiles.h"

#include "backends/cortex_m/kernels/conv2d/mve_windows.h"
#include "backends/cortex_m/kernels/mve/gemm_tile.h"
#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m::mve {
namespace {

int32_t terms_of(const Conv2d& c) { return static_cast<int32_t>(c.window.kernel[0] * c.window.kernel[1] * c.inputs); }
/// Whether each copy consists of whole vectors, which go straight to their places in the tile.
bool copies_straight(const Conv2d& c) { return c.inputs % kTileVector == 0; }

/// Computes all positions of one image for the channels of a pass. A separate function, so that it gets enough
/// registers.
template <bool kStraight>
__attribute__((noinline)) void write_image(const Conv2d& c, const Windows& windows, const int8_t* image, TilePass& pass,
                                           int8_t* out) {
  int8_t* const tile = reinterpret_cast<int8_t*>(c.scratch.data());
  const int32_t step = static_cast<int32_t>(c.out_step()), width = static_cast<int32_t>(c.to.w), terms = terms_of(c);
  int32_t y = 0, x = 0;
  for (int32_t left = static_cast<int32_t>(c.to.h) * width; left > 0; left -= kTileRows) {
    const int32_t count = left < kTileRows ? left : kTileRows;
    for (int32_t row = 0; row < count; ++row) {
      int8_t* const place = tile + kTileVector * row;
      if (kStraight) {
        windows.copy(image, y, x, place, copy_to_tile);
      } else {
        int8_t* const window = tile + tile_bytes(terms);
        windows.copy(image, y, x, window, append_bytes);
        copy_to_tile(place, window, terms);
      }
      if (++x < width) continue;
      x = 0;
      ++y;
    }
    pass.run(count, out, step);
    out += count * step;
  }
}

}  // namespace

WICK_COLD void convolve_tiles(const Conv2d& c) {
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.out_step();
  const Windows windows(c);
  const auto write = copies_straight(c) ? write_image<true> : write_image<false>;
  Gemm gemm;
  gemm.terms = terms_of(c);
  gemm.channels = static_cast<int32_t>(c.outputs);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  for (int64_t group = 0; group * c.outputs < c.to.c; ++group) {
    const int64_t first = group * c.outputs;
    gemm.weights = c.weights + first * gemm.terms;
    gemm.addend = c.quantization.bias != nullptr ? c.quantization.bias + first : nullptr;
    gemm.multipliers = c.quantization.multipliers + first;
    gemm.shifts = c.quantization.shifts + first;
    for (int32_t begin = 0; begin < gemm.channels; begin += kTileChannels) {
      TilePass pass(gemm, begin, reinterpret_cast<const int8_t*>(c.scratch.data()));
      for (int64_t n = 0; n < c.from.n; ++n)
        write(c, windows, c.x + n * image_size + group * c.inputs, pass, c.out + n * out_size + first + begin);
    }
  }
}

}  // namespace wick::cortex_m::mve
