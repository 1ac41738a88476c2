// What the convolutions share: their window, and quantization per output channel. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

/// {height, width} each.
struct Window {
  int32_t kernel[2], stride[2], padding[2], dilation[2];
  int32_t end_padding[2];  // behind the input; read_window: that before it is `padding`
};

/// How many paddings an operator takes: one for both ends of each dimension, or {top, left, bottom, right} as well.
enum class Paddings : uint8_t { two, two_or_four };

/// Stride, padding and dilation from lists of two; the kernel's sizes from dimensions 1 and 2 of the weights. None is 0
/// but paddings.
bool read_window(KernelContext& context, const Tensor& weights, const EValue& stride, const EValue& padding,
                 const EValue& dilation, Paddings paddings, Window* window);
/// All but the kernel's sizes.
bool read_steps(KernelContext& context, const EValue& stride, const EValue& padding, const EValue& dilation,
                Paddings paddings, Window* window);

struct ChannelQuantization {
  int32_t input_offset = 0;
  OutputStage stage;  // without multiplier and shift
  const int32_t *bias = nullptr, *multipliers = nullptr, *shifts = nullptr;

  int32_t initial(int64_t channel) const { return bias ? bias[channel] : 0; }
  __attribute__((always_inline)) int8_t finish(int32_t sum, int64_t channel) const {
    OutputStage of_channel = stage;
    of_channel.multiplier = multipliers[channel];
    of_channel.shift = shifts[channel];
    return of_channel(sum);
  }
};

/// args: input_offset, output_offset, multipliers, shifts, activation_min, activation_max.
bool read_channels(KernelContext& context, const EValue& bias, Span<EValue*> args, int64_t channels, const Tensor& out,
                   ChannelQuantization* quantization);

/// The tensors of a convolution: int8 all, input and output images, weights contiguous of rank 4, no kernel of size 0.
/// The output takes the batch of the input.
bool read_images(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out, ImageSizes sizes,
                 Image* from, Image* to);

/// The same but for the dtypes of input and output.
bool read_images_of_any_dtype(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out,
                              ImageSizes sizes, Image* from, Image* to);

/// How many groups a convolution has. The weights are [O, kH, kW, I]: O the output's channels, I a divisor of the
/// input's, as many groups a divisor of O.
bool read_groups(KernelContext& context, const Tensor& weights, const Image& from, const Image& to, int64_t* groups);

/// Do the positions of the window give the output's height and width?
bool check_positions(KernelContext& context, const Window& window, const Image& from, const Image& to);

/// Writes every element of c.out: c.sum(n, y, x, channel), finished.
template <typename Convolution>
void write_sums(const Convolution& c) {
  int8_t* out = c.out;
  for (int64_t n = 0; n < c.to.n; ++n) {
    for (int64_t y = 0; y < c.to.h; ++y) {
      for (int64_t x = 0; x < c.to.w; ++x) {
        for (int64_t o = 0; o < c.to.c; ++o) *out++ = c.quantization.finish(c.sum(n, y, x, o), o);
      }
    }
  }
}

}  // namespace wick::cortex_m
