// Copies the windows of a convolution. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/conv2d/conv2d.h"
#include "backends/cortex_m/kernels/mve/vectors.h"

namespace wick::cortex_m::mve {

/// Windows of one group of channels. `to = copy(to, from, count)` must copy `count` bytes and return where the next go.
class Windows {
 public:
  explicit Windows(const Conv2d& c)
      : window_(c.window),
        inputs_(static_cast<int32_t>(c.inputs)),
        channels_(static_cast<int32_t>(c.from.c)),
        width_(static_cast<int32_t>(c.from.w)),
        height_(static_cast<int32_t>(c.from.h)),
        adjacent_(c.inputs == c.from.c && c.window.dilation[1] == 1) {
    fill_bytes(padding_, static_cast<int8_t>(-c.quantization.input_offset), kPaddingBytes);
  }

  /// Copies the window of position (y, x); `image` begins at the first channel of the group.
  template <typename Copy>
  void copy(const int8_t* image, int32_t y, int32_t x, int8_t* to, const Copy& copy) const {
    const int32_t left = x * window_.stride[1] - window_.padding[1];
    int32_t line = y * window_.stride[0] - window_.padding[0];
    for (int32_t ky = 0; ky < window_.kernel[0]; ++ky, line += window_.dilation[0]) {
      if (line < 0 || line >= height_)
        to = pad(to, window_.kernel[1] * inputs_, copy);
      else
        to = copy_line(image + line * width_ * channels_, left, to, copy);
    }
  }

 private:
  static constexpr int32_t kPaddingBytes = 64;

  /// Writes taps in the padding: the input's zero point, which adds nothing.
  template <typename Copy>
  int8_t* pad(int8_t* to, int32_t count, const Copy& copy) const {
    for (; count > 0; count -= kPaddingBytes) to = copy(to, padding_, count < kPaddingBytes ? count : kPaddingBytes);
    return to;
  }

  template <typename Copy>
  int8_t* copy_line(const int8_t* from, int32_t left, int8_t* to, const Copy& copy) const {
    const int32_t taps = window_.kernel[1], end = left + taps;
    if (adjacent_) {
      if (left >= 0 && end <= width_) return copy(to, from + left * inputs_, taps * inputs_);
      const int32_t before = left >= 0 ? 0 : end < 0 ? taps : -left, last = end > width_ ? width_ - left : taps;
      const int32_t after = last > before ? last : before;
      to = pad(to, before * inputs_, copy);
      if (after > before) to = copy(to, from + (left + before) * inputs_, (after - before) * inputs_);
      return pad(to, (taps - after) * inputs_, copy);
    }
    for (int32_t tap = 0, x = left; tap < taps; ++tap, x += window_.dilation[1])
      to = x < 0 || x >= width_ ? pad(to, inputs_, copy) : copy(to, from + x * channels_, inputs_);
    return to;
  }

  const Window& window_;
  int32_t inputs_, channels_, width_, height_;
  bool adjacent_;  // whether the taps of a line are contiguous in the input
  int8_t padding_[kPaddingBytes];
};

/// copy_bytes() in the form that Windows::copy needs. Not inline, as many places call it.
__attribute__((noinline)) inline int8_t* append_bytes(int8_t* to, const int8_t* from, int32_t count) {
  copy_bytes(to, from, count);
  return to + count;
}

}  // namespace wick::cortex_m::mve
