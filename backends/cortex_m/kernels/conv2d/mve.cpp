// quantized_conv2d as products of matrices: each position is a row, the bytes of its window on the input, line by line.
// Positions whose windows leave out the same taps, because these lie on padding, are computed together. Where lines are
// short or taps lie apart, windows are copied to scratch. The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d/conv2d_mve.h"
#include "backends/cortex_m/kernels/mve/gemm.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

/// A tile of windows on the stack, for programs whose scratch has room for fewer.
constexpr int32_t kStackBytes = 320;
/// Lines of fewer bytes are gathered with their window: a vector would be mostly empty.
constexpr int32_t kLeastLineBytes = 9;

bool copies_windows(const Conv2d& c) {
  const bool contiguous = c.window.kernel[1] == 1 || (c.inputs == c.from.c && c.window.dilation[1] == 1);
  return !contiguous || (c.window.kernel[0] > 1 && c.window.kernel[1] * c.inputs < kLeastLineBytes);
}

/// The positions of one image for the channels of a pass.
class Positions {
 public:
  Positions(const Conv2d& c, int8_t* memory, int32_t memory_bytes)
      : c_(c),
        inputs_(static_cast<int32_t>(c.inputs)),
        channels_(static_cast<int32_t>(c.from.c)),
        width_(static_cast<int32_t>(c.from.w)),
        height_(static_cast<int32_t>(c.from.h)),
        line_terms_(c.window.kernel[1] * inputs_),
        terms_(c.window.kernel[0] * line_terms_),
        memory_(memory),
        memory_bytes_(memory_bytes) {}

  /// For all positions of an image; `image` and `out` are at the first channel.
  void run(GemmPass& pass, const int8_t* image, int8_t* out) const {
    if (copies_windows(c_)) return run_windows(pass, image, out);
    for (Span y = first_span(0); y.begin < c_.to.h; y = next_span(0, y)) {
      for (Span x = first_span(1); x.begin < c_.to.w; x = next_span(1, x)) run_spans(pass, image, y, x, out);
    }
  }

 private:
  /// Positions along an axis whose windows have the same taps on the input.
  struct Span {
    int32_t begin, end;  // positions
    int32_t first_tap, taps_end;
    int32_t size() const { return end - begin; }
    int32_t taps() const { return taps_end - first_tap; }
  };
  Span first_span(size_t axis) const { return next_span(axis, {0, 0, 0, 0}); }
  Span next_span(size_t axis, const Span& before) const {
    const int32_t all = static_cast<int32_t>(axis == 0 ? c_.to.h : c_.to.w);
    Span span = taps_at(axis, before.end);
    for (; span.end < all; ++span.end) {
      const Span next = taps_at(axis, span.end);
      if (next.first_tap != span.first_tap || next.taps_end != span.taps_end) break;
    }
    return span;
  }
  Span taps_at(size_t axis, int32_t position) const {
    const int32_t size = axis == 0 ? height_ : width_, kernel = c_.window.kernel[axis];
    const int32_t dilation = c_.window.dilation[axis];
    const int32_t at = position * c_.window.stride[axis] - c_.window.padding[axis];
    const int32_t first = at < 0 ? (dilation - 1 - at) / dilation : 0;
    const int32_t end = at >= size ? 0 : (size - 1 - at) / dilation + 1;
    if (first >= kernel || end <= first) return {position, position + 1, 0, 0};
    return {position, position + 1, first, end < kernel ? end : kernel};
  }

  void run_spans(GemmPass& pass, const int8_t* image, const Span& y, const Span& x, int8_t* out) const {
    const Window& window = c_.window;
    const int32_t line = width_ * channels_, out_step = static_cast<int32_t>(c_.to.c);
    const int32_t out_next = static_cast<int32_t>(c_.to.w) * out_step;
    const int32_t top = y.begin * window.stride[0] - window.padding[0] + y.first_tap * window.dilation[0];
    const int32_t left = x.begin * window.stride[1] - window.padding[1] + x.first_tap * window.dilation[1];
    if (y.taps() == 0 || x.taps() == 0)
      pass.select({0, 1, 0, 0});
    else
      pass.select({y.first_tap * line_terms_ + x.first_tap * inputs_, y.taps(), x.taps() * inputs_, line_terms_});
    GemmRows rows = {image + top * line + left * channels_,
                     window.stride[1] * channels_,
                     window.stride[0] * line,
                     x.size(),
                     y.size(),
                     window.dilation[0] * line};
    GemmOut to = {out + y.begin * out_next + x.begin * out_step, out_step, out_next};
    if (rows.next == rows.width * rows.step && to.next == rows.width * to.step) {
      rows.width *= rows.height;
      rows.height = 1;
    }
    const bool by_height = rows.height > 1 && 2 * rows.width <= kGemmRows;
    if (by_height && rows.width % 2 == 1) {
      // The last column of an odd number by itself.
      --rows.width;
      GemmRows column = {rows.x + rows.width * rows.step, rows.next, 0, rows.height, 1, rows.pitch};
      pass.run(column, {to.y + rows.width * to.step, to.next, 0});
    }
    if (rows.width > 0) pass.run(rows, to);
  }

  int8_t padding() const { return static_cast<int8_t>(-c_.quantization.input_offset); }

  /// Each position's window copied to memory.
  void run_windows(GemmPass& pass, const int8_t* image, int8_t* out) const {
    const int32_t width = static_cast<int32_t>(c_.to.w), out_step = static_cast<int32_t>(c_.to.c);
    const int32_t room = memory_bytes_ / terms_, most = room < kGemmRows ? room : kGemmRows;
    int32_t y = 0, x = 0;
    pass.select({0, 1, terms_, 0});
    for (int32_t left = static_cast<int32_t>(c_.to.h) * width; left > 0; left -= most, out += most * out_step) {
      const int32_t count = left < most ? left : most;
      int8_t* to = memory_;
      for (int32_t i = 0; i < count; ++i, to += terms_) {
        gather(image, y, x, to);
        if (++x < width) continue;
        x = 0;
        ++y;
      }
      pass.run({memory_, terms_, 0, count, 1, 0}, {out, out_step, 0});
    }
  }

  void gather(const int8_t* image, int32_t y, int32_t x, int8_t* to) const {
    const Window& window = c_.window;
    const int32_t left = x * window.stride[1] - window.padding[1], taps = window.kernel[1];
    int32_t line = y * window.stride[0] - window.padding[0];
    for (int32_t ky = 0; ky < window.kernel[0]; ++ky, line += window.dilation[0]) {
      const int8_t* from = image + line * width_ * channels_;
      if (line < 0 || line >= height_) {
        fill_bytes(to, padding(), line_terms_);
        to += line_terms_;
      } else if (inputs_ == channels_ && window.dilation[1] == 1 && left >= 0 && left + taps <= width_) {
        copy_bytes(to, from + left * channels_, line_terms_);
        to += line_terms_;
      } else {
        for (int32_t tap = 0, column = left; tap < taps; ++tap, column += window.dilation[1], to += inputs_) {
          if (column < 0 || column >= width_)
            fill_bytes(to, padding(), inputs_);
          else
            copy_bytes(to, from + column * channels_, inputs_);
        }
      }
    }
  }

  const Conv2d& c_;
  int32_t inputs_, channels_, width_, height_, line_terms_, terms_;
  int8_t* memory_;
  int32_t memory_bytes_;
};

void run_groups(const Conv2d& c, int8_t* memory, int32_t memory_bytes) {
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.to.c;
  Gemm gemm;
  gemm.terms = static_cast<int32_t>(c.window.kernel[0] * c.window.kernel[1] * c.inputs);
  gemm.channels = static_cast<int32_t>(c.outputs);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  const Positions positions(c, memory, memory_bytes);
  for (int64_t group = 0; group * c.outputs < c.to.c; ++group) {
    const int64_t first = group * c.outputs;
    gemm.weights = c.weights + first * gemm.terms;
    gemm.addend = c.quantization.bias != nullptr ? c.quantization.bias + first : nullptr;
    gemm.multipliers = c.quantization.multipliers + first;
    gemm.shifts = c.quantization.shifts + first;
    for (int32_t begin = 0; begin < gemm.channels; begin += kGemmChannels) {
      GemmPass pass(gemm, begin);
      for (int64_t n = 0; n < c.from.n; ++n)
        positions.run(pass, c.x + n * image_size + group * c.inputs, c.out + n * out_size + first + begin);
    }
  }
}

__attribute__((noinline)) void run_on_stack(const Conv2d& c) {
  alignas(16) int8_t memory[kStackBytes];
  run_groups(c, memory, kStackBytes);
}

}  // namespace

void convolve(const Conv2d& c) {
  if (c.to.h * c.to.w * c.to.c == 0) return;
  const int64_t window_bytes = int64_t{c.window.kernel[0]} * c.window.kernel[1] * c.inputs;
  if (copies_windows(c) && window_bytes * 4 <= kStackBytes && c.scratch.size() < kStackBytes) return run_on_stack(c);
  const size_t most = INT32_MAX;
  run_groups(c, reinterpret_cast<int8_t*>(c.scratch.data()),
             static_cast<int32_t>(c.scratch.size() < most ? c.scratch.size() : most));
}

void quantized_conv2d(KernelContext& context, Span<EValue*> args) {
  Conv2d c;
  if (!read_conv2d(context, args, &c)) return;
  if (!has_near_positions(c.window, c.from)) return reference::quantized_conv2d(context, args);
  convolve(c);
}

}  // namespace wick::cortex_m::mve
