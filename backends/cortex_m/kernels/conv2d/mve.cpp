// quantized_conv2d as a matmul: each output position is a row that holds the bytes of its window on the input, line by
// line. Positions whose windows have the same taps on padding are computed together. If lines are short or taps are not
// contiguous, windows are copied to scratch. If positions are few or channels many, three windows at a time are copied
// if that is cheaper (mve_forms.h). The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d/conv2d_mve.h"
#include "backends/cortex_m/kernels/conv2d/mve_forms.h"
#include "backends/cortex_m/kernels/conv2d/mve_tiles.h"
#include "backends/cortex_m/kernels/conv2d/mve_windows.h"
#include "backends/cortex_m/kernels/mve/gemm.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m::mve {
namespace {

WICK_COLD ConvolutionForms forms_of(const Conv2d& c) {
  const auto axis = [&](size_t d, int64_t from, int64_t to) {
    return WindowAxis{static_cast<int32_t>(from), static_cast<int32_t>(to), c.window.kernel[d],
                      c.window.stride[d],         c.window.padding[d],      c.window.dilation[d]};
  };
  const int32_t inputs = static_cast<int32_t>(c.inputs);
  constexpr size_t kMost = INT32_MAX;
  const size_t scratch = c.scratch.size() < kMost ? c.scratch.size() : kMost;
  return {axis(0, c.from.h, c.to.h),
          axis(1, c.from.w, c.to.w),
          static_cast<int32_t>(c.from.n),
          static_cast<int32_t>(c.from.c) / inputs,
          inputs,
          static_cast<int32_t>(c.outputs),
          static_cast<int32_t>(scratch)};
}

/// Computes the positions of one image for the channels of a pass.
class Positions {
 public:
  Positions(const Conv2d& c, const ConvolutionForms& forms, int8_t* memory, int32_t memory_bytes)
      : c_(c),
        forms_(forms),
        windows_(c),
        inputs_(static_cast<int32_t>(c.inputs)),
        channels_(static_cast<int32_t>(c.from.c)),
        width_(static_cast<int32_t>(c.from.w)),
        line_terms_(c.window.kernel[1] * inputs_),
        terms_(c.window.kernel[0] * line_terms_),
        memory_(memory),
        memory_bytes_(memory_bytes) {}

  /// Computes all positions of an image; `image` and `out` begin at the first channel.
  void run(GemmPass& pass, const int8_t* image, int8_t* out) const {
    if (forms_.copies_windows()) return run_windows(pass, image, out);
    const WindowAxis &height = forms_.axis(0), &width = forms_.axis(1);
    for (TapSpan y = span_at(height, 0);; y = span_at(height, y.end)) {
      for (TapSpan x = span_at(width, 0);; x = span_at(width, x.end)) {
        run_spans(pass, image, y, x, out);
        if (x.end >= width.to) break;
      }
      if (y.end >= height.to) break;
    }
  }

 private:
  void run_spans(GemmPass& pass, const int8_t* image, const TapSpan& y, const TapSpan& x, int8_t* out) const {
    const Window& window = c_.window;
    const int32_t line = width_ * channels_, out_step = static_cast<int32_t>(c_.out_step());
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
      // If the number of columns is odd, the last column is computed by itself.
      --rows.width;
      GemmRows column = {rows.x + rows.width * rows.step, rows.next, 0, rows.height, 1, rows.pitch};
      pass.run(column, {to.y + rows.width * to.step, to.next, 0});
    }
    if (rows.width > 0) pass.run(rows, to);
  }

  /// Copies each position's window to memory first.
  WICK_COLD void run_windows(GemmPass& pass, const int8_t* image, int8_t* out) const {
    const int32_t width = static_cast<int32_t>(c_.to.w), out_step = static_cast<int32_t>(c_.out_step());
    const int32_t room = memory_bytes_ / terms_, most = room < kGemmRows ? room : kGemmRows;
    int32_t y = 0, x = 0;
    pass.select({0, 1, terms_, 0});
    for (int32_t left = static_cast<int32_t>(c_.to.h) * width; left > 0; left -= most, out += most * out_step) {
      const int32_t count = left < most ? left : most;
      int8_t* to = memory_;
      for (int32_t i = 0; i < count; ++i, to += terms_) {
        windows_.copy(image, y, x, to, append_bytes);
        if (++x < width) continue;
        x = 0;
        ++y;
      }
      pass.run({memory_, terms_, 0, count, 1, 0}, {out, out_step, 0});
    }
  }

  const Conv2d& c_;
  const ConvolutionForms& forms_;
  Windows windows_;
  int32_t inputs_, channels_, width_, line_terms_, terms_;
  int8_t* memory_;
  int32_t memory_bytes_;
};

WICK_COLD void run_groups(const Conv2d& c, const ConvolutionForms& forms, int8_t* memory, int32_t memory_bytes) {
  const int64_t image_size = c.from.h * c.from.w * c.from.c, out_size = c.to.h * c.to.w * c.out_step();
  Gemm gemm;
  gemm.terms = static_cast<int32_t>(c.window.kernel[0] * c.window.kernel[1] * c.inputs);
  gemm.channels = static_cast<int32_t>(c.outputs);
  gemm.input_offset = c.quantization.input_offset;
  gemm.stage = c.quantization.stage;
  const Positions positions(c, forms, memory, memory_bytes);
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

WICK_COLD void run_on_stack(const Conv2d& c, const ConvolutionForms& forms) {
  alignas(16) int8_t memory[ConvolutionForms::kStackBytes];
  run_groups(c, forms, memory, ConvolutionForms::kStackBytes);
}

}  // namespace

WICK_COLD void convolve(const Conv2d& c) {
  if (c.to.h * c.to.w * c.to.c == 0) return;
  const ConvolutionForms forms = forms_of(c);
  if (forms.takes_tiles()) return convolve_tiles(c);
  if (forms.copies_to_stack()) return run_on_stack(c, forms);
  run_groups(c, forms, reinterpret_cast<int8_t*>(c.scratch.data()), forms.scratch());
}

namespace {

void convolve_images(KernelContext& context, Span<EValue*> args, ImageSizes sizes, KernelFn reference) {
  Conv2d c;
  if (!read_conv2d(context, args, sizes, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from)) return reference(context, args);
  convolve(c);
}

}  // namespace

void quantized_conv2d(KernelContext& context, Span<EValue*> args) {
  convolve_images(context, args, ImageSizes::nchw, reference::quantized_conv2d);
}

void quantized_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  convolve_images(context, args, ImageSizes::nhwc, reference::quantized_conv2d_nhwc);
}

}  // namespace wick::cortex_m::mve
