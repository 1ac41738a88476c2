// conv2d_int4 as int8 convolutions: the weights of some channels at a time are unpacked to scratch. Without room for
// that, or with kernel_sum, as a matmul of three positions at a time: their windows are copied to scratch unless the
// kernel is 1x1. The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d/conv2d_mve.h"
#include "backends/cortex_m/kernels/conv2d/mve_windows.h"
#include "backends/cortex_m/kernels/conv2d_int4/conv2d_int4.h"
#include "backends/cortex_m/kernels/conv2d_int4/unpacked.h"
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

/// Computes the positions of one image for the channels of a pass; `image` and `out` begin at the first channel.
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

__attribute__((noinline)) void convolve_packed(const Conv2dInt4& c, bool pixels) {
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

/// Unpacks `count` rows of weights. Of 32 weights, a vector of packed bytes has the even words in its low halves and
/// the odd words in its high halves.
__attribute__((noinline)) void unpack_rows(const int8_t* packed, int32_t row_bytes, int32_t terms, int32_t count,
                                           int8_t* to) {
  alignas(16) int32_t words[8];  // used if words cannot be stored directly
  const auto* const bytes = reinterpret_cast<const int8_t*>(words);
  const int8x16_t zero = vdupq_n_s8(kInt4Zero);
  for (; count > 0; --count, packed += row_bytes) {
    const int8_t* from = packed;
    for (int32_t left = terms, bytes_left = row_bytes; left > 0; left -= 32, bytes_left -= 16, from += 16) {
      const uint8x16_t halves = vldrbq_z_u8(reinterpret_cast<const uint8_t*>(from), vctp8q(bytes_left));
      const int8x16_t even = vsubq_s8(vreinterpretq_s8_u8(vandq_u8(halves, vdupq_n_u8(15))), zero);
      const int8x16_t odd = vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(halves, 4)), zero);
      if (left >= 32 && reinterpret_cast<uintptr_t>(to) % sizeof(int32_t) == 0) {
        store_pairs(reinterpret_cast<int32_t*>(to), vreinterpretq_s32_s8(even), vreinterpretq_s32_s8(odd));
        to += 32;
        continue;
      }
      store_pairs(words, vreinterpretq_s32_s8(even), vreinterpretq_s32_s8(odd));
      vstrbq_p_s8(to, vldrbq_s8(bytes), vctp8q(left));
      if (left > 16) vstrbq_p_s8(to + 16, vldrbq_s8(bytes + 16), vctp8q(left - 16));
      to += left < 32 ? left : 32;
    }
  }
}

/// Changes `c`: it points behind the last channels afterwards, since a copy would take stack.
__attribute__((noinline)) void convolve_unpacked(Conv2dInt4& c, int32_t most) {
  auto* const unpacked = reinterpret_cast<int8_t*>(c.scratch.data());
  const auto unpacked_bytes = static_cast<size_t>(most) * static_cast<size_t>(c.terms);
  const int8_t* packed = c.weights;
  const int32_t all = static_cast<int32_t>(c.to.c), of_group = static_cast<int32_t>(c.outputs);
  c.weights = unpacked;
  c.all_outputs = all;
  c.scratch = {c.scratch.data() + unpacked_bytes, c.scratch.size() - unpacked_bytes};
  for (int32_t first = 0, left = of_group; first < all; left = left == 0 ? of_group : left) {
    const int32_t count = left < most ? left : most;
    unpack_rows(packed, c.row_bytes, c.terms, count, unpacked);
    c.outputs = c.to.c = count;
    convolve(c);
    packed += count * c.row_bytes;
    c.out += count;
    if (c.quantization.bias != nullptr) c.quantization.bias += count;
    c.quantization.multipliers += count;
    c.quantization.shifts += count;
    first += count;
    left -= count;
    if (left == 0) c.x += c.inputs;
  }
}

}  // namespace

void conv2d_int4(KernelContext& context, Span<EValue*> args) {
  Conv2dInt4 c;
  if (!read_conv2d_int4(context, args, &c)) return;
  const bool pixels = windows_are_pixels(c.window);
  const int64_t channels = unpacked_channels(static_cast<int64_t>(c.scratch.size()), c.terms, c.outputs, pixels);
  if (!c.is_summed && channels > 0 && positions_fit_31_bits(c.window, c.from))
    return convolve_unpacked(c, static_cast<int32_t>(channels));
  const bool has_room = pixels || c.scratch.size() / kInt4Rows >= static_cast<size_t>(c.terms);
  if (!has_room || !positions_fit_31_bits(c.window, c.from)) return reference::conv2d_int4(context, args);
  convolve_packed(c, pixels);
}

}  // namespace wick::cortex_m::mve
