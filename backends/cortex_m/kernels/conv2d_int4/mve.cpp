// conv2d_int4 as products of matrices, three positions at a time: their windows are copied to scratch, unless they are
// pixels. The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d/mve_windows.h"
#include "backends/cortex_m/kernels/conv2d_int4/conv2d_int4.h"
#include "backends/cortex_m/kernels/mve/gemm_int4.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

bool windows_are_pixels(const Window& window) {
  for (int axis = 0; axis < 2; ++axis) {
    if (window.kernel[axis] != 1 || window.padding[axis] != 0 || window.end_padding[axis] != 0) return false;
  }
  return true;
}

/// The positions of one image for the channels of a pass; `image` and `out` are at the first channel.
void run_image(const Conv2dInt4& c, const Windows& windows, bool pixels, Int4Pass& pass, const int8_t* image,
               int8_t* out) {
  const int32_t width = static_cast<int32_t>(c.to.w), positions = static_cast<int32_t>(c.to.h) * width;
  int8_t* const memory = reinterpret_cast<int8_t*>(c.scratch.data());
  int32_t y = 0, x = 0;
  for (int32_t at = 0; at < positions; at += kInt4Rows, out += kInt4Rows * c.to.c) {
    const int32_t left = positions - at, count = left < kInt4Rows ? left : kInt4Rows;
    const int8_t* rows[kInt4Rows] = {memory, memory, memory};
    for (int32_t i = 0; i < count; ++i) {
      if (pixels) {
        rows[i] = image + (y * c.window.stride[0] * c.from.w + x * c.window.stride[1]) * c.from.c;
      } else {
        windows.copy(image, y, x, memory + i * c.terms, append_bytes);
        rows[i] = memory + i * c.terms;
      }
      if (++x < width) continue;
      x = 0;
      ++y;
    }
    pass.run(rows, count, out, static_cast<int32_t>(c.to.c));
  }
}

void convolve_packed(const Conv2dInt4& c, bool pixels) {
  const Windows windows(c);
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.to.c;
  Gemm gemm;
  gemm.terms = c.terms;
  gemm.channels = static_cast<int32_t>(c.outputs);
  gemm.input_offset = c.is_summed ? 0 : c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  for (int64_t first = 0; first < c.to.c; first += c.outputs) {
    gemm.weights = c.weights + first * c.row_bytes;
    gemm.addend = c.quantization.bias != nullptr ? c.quantization.bias + first : nullptr;
    gemm.multipliers = c.quantization.multipliers + first;
    gemm.shifts = c.quantization.shifts + first;
    const int8_t* x = c.x + first / c.outputs * c.inputs;
    for (int32_t begin = 0; begin < gemm.channels; begin += kInt4Channels) {
      Int4Pass pass(gemm, begin);
      for (int64_t n = 0; n < c.from.n; ++n)
        run_image(c, windows, pixels, pass, x + n * image_size, c.out + n * out_size + first + begin);
    }
  }
}

}  // namespace

void conv2d_int4(KernelContext& context, Span<EValue*> args) {
  Conv2dInt4 c;
  if (!read_conv2d_int4(context, args, &c)) return;
  const bool pixels = windows_are_pixels(c.window);
  const bool has_room = pixels || c.scratch.size() / kInt4Rows >= static_cast<size_t>(c.terms);
  if (!has_room || !has_near_positions(c.window, c.from)) return reference::conv2d_int4(context, args);
  convolve_packed(c, pixels);
}

}  // namespace wick::cortex_m::mve
