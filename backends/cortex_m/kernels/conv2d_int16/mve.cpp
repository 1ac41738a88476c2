// conv2d_int16 as a matmul: three positions at a time, whose rows are their windows. Rows that are contiguous in the
// input are used in place; others are gathered in scratch. The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d_int16/conv2d_int16.h"
#include "backends/cortex_m/kernels/mve/gemm_int16.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

void copy_elements(int16_t* to, const int16_t* from, int32_t count) {
  copy_bytes(reinterpret_cast<int8_t*>(to), reinterpret_cast<const int8_t*>(from), 2 * count);
}
void fill_zeros(int16_t* to, int32_t count) { fill_bytes(reinterpret_cast<int8_t*>(to), 0, 2 * count); }

/// The rows of one group of channels of one image.
class Rows {
 public:
  Rows(const Conv2dInt16& c, const int16_t* image, int32_t first_channel, int16_t* scratch)
      : window_(c.window),
        image_(image + first_channel),
        inputs_(static_cast<int32_t>(c.inputs)),
        channels_(static_cast<int32_t>(c.from.c)),
        height_(static_cast<int32_t>(c.from.h)),
        width_(static_cast<int32_t>(c.from.w)),
        terms_(window_.kernel[0] * window_.kernel[1] * inputs_),
        scratch_(scratch) {
    adjacent_ = inputs_ == channels_ && window_.dilation[1] == 1;
    const bool pointwise = window_.kernel[0] == 1 && window_.kernel[1] == 1;
    contiguous_ = pointwise || (adjacent_ && window_.kernel[0] == 1);
  }

  /// The row of output position (y, x); if it is not contiguous, it is gathered in slot `slot` of scratch.
  const int16_t* row(int32_t slot, int32_t y, int32_t x) const {
    const int32_t top = y * window_.stride[0] - window_.padding[0], left = x * window_.stride[1] - window_.padding[1];
    if (contiguous_ && top >= 0 && top < height_ && left >= 0 && left + window_.kernel[1] <= width_)
      return image_ + (top * width_ + left) * channels_;
    int16_t* const row = scratch_ + slot * terms_;
    int16_t* to = row;
    for (int32_t ky = 0; ky < window_.kernel[0]; ++ky, to += window_.kernel[1] * inputs_) {
      const int32_t at = top + ky * window_.dilation[0];
      if (at < 0 || at >= height_) {
        fill_zeros(to, window_.kernel[1] * inputs_);
      } else {
        gather_taps(image_ + at * width_ * channels_, left, to);
      }
    }
    return row;
  }

 private:
  void gather_taps(const int16_t* line, int32_t left, int16_t* to) const {
    const int32_t taps = window_.kernel[1];
    if (adjacent_ && left >= 0 && left + taps <= width_)
      return copy_elements(to, line + left * inputs_, taps * inputs_);
    for (int32_t tap = 0; tap < taps; ++tap, to += inputs_) {
      const int32_t at = left + tap * window_.dilation[1];
      if (at < 0 || at >= width_) {
        fill_zeros(to, inputs_);
      } else {
        copy_elements(to, line + at * channels_, inputs_);
      }
    }
  }

  const Window& window_;
  const int16_t* image_;
  int32_t inputs_, channels_, height_, width_, terms_;
  int16_t* scratch_;
  bool adjacent_, contiguous_;  // the taps of a line; whole rows, if they lie inside the image
};

void convolve_group(const Conv2dInt16& c, const GemmInt16& gemm, const Rows& rows, int16_t* out) {
  const int32_t width = static_cast<int32_t>(c.to.w), channels = static_cast<int32_t>(c.to.c);
  const int32_t positions = static_cast<int32_t>(c.to.h) * width;
  for (int32_t at = 0; at < positions; at += GemmInt16::kRows, out += GemmInt16::kRows * channels) {
    const int32_t left = positions - at, count = left < GemmInt16::kRows ? left : GemmInt16::kRows;
    const int16_t* three[GemmInt16::kRows] = {nullptr, nullptr, nullptr};
    for (int32_t slot = 0; slot < count; ++slot) three[slot] = rows.row(slot, (at + slot) / width, (at + slot) % width);
    gemm.run(three, count, out, channels);
  }
}

}  // namespace

void conv2d_int16(KernelContext& context, Span<EValue*> args) {
  Conv2dInt16 c;
  if (!read_conv2d_int16(context, args, &c)) return;
  const int32_t terms = c.window.kernel[0] * c.window.kernel[1] * static_cast<int32_t>(c.inputs);
  const uintptr_t odd = reinterpret_cast<uintptr_t>(c.scratch.data()) % sizeof(int16_t);
  const bool one_tap =
      c.window.kernel[0] == 1 && c.window.kernel[1] == 1 && c.window.padding[0] == 0 && c.window.padding[1] == 0;
  const int64_t wanted = one_tap ? 0 : int64_t{GemmInt16::kRows} * terms * static_cast<int64_t>(sizeof(int16_t));
  if (!positions_fit_31_bits(c.window, c.from) ||
      static_cast<int64_t>(c.scratch.size()) < wanted + static_cast<int64_t>(odd))
    return reference::conv2d_int16(context, args);
  auto* scratch = reinterpret_cast<int16_t*>(c.scratch.data() + odd);
  const auto outputs = static_cast<int32_t>(c.outputs);
  for (int64_t n = 0; n < c.to.n; ++n) {
    const int16_t* image = c.x + n * c.from.h * c.from.w * c.from.c;
    int16_t* out = c.out + n * c.to.h * c.to.w * c.to.c;
    for (int32_t first = 0; first < c.to.c; first += outputs) {
      const Rows rows(c, image, first / outputs * static_cast<int32_t>(c.inputs), scratch);
      convolve_group(c, {terms, outputs, c.weights + first * terms, &c.channels, first}, rows, out + first);
    }
  }
}

}  // namespace wick::cortex_m::mve
