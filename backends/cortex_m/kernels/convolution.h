// The parts that convolutions share: their window, and quantization per output channel. C++17, freestanding.
#pragma once
#include "backends/cortex_m/kernels/checks.h"

namespace wick::cortex_m {

/// A window; {height, width} each.
struct Window {
  int32_t kernel[2], stride[2], padding[2], dilation[2];
  int32_t end_padding[2];  // padding at the end; read_window: `padding` is that at the beginning
};

/// How many paddings an operator takes: two (for both ends of a dimension), or also {top, left, bottom, right}.
enum class Paddings : uint8_t { two, two_or_four };

/// Reads stride, padding and dilation from lists, and the kernel's sizes from dimensions 1 and 2 of the weights. All
/// are positive, except that paddings may be 0.
bool read_window(KernelContext& context, const Tensor& weights, const EValue& stride, const EValue& padding,
                 const EValue& dilation, Paddings paddings, Window* window);
/// Reads all but the kernel's sizes.
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

/// Reads the tensors of a convolution: int8 images as input and output, contiguous int8 weights of rank 4 without size
/// 0. Resizes the output's batch to that of the input.
bool read_images(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out, ImageSizes sizes,
                 Image* from, Image* to);

/// The same, with any dtypes of input and output.
bool read_images_of_any_dtype(KernelContext& context, const Tensor& input, const Tensor& weights, Tensor& out,
                              ImageSizes sizes, Image* from, Image* to);

/// Finds the number of groups. Weights are [O, kH, kW, I]: O is the output's channels; I divides the input's channels,
/// and the quotient, the number of groups, divides O.
bool read_groups(KernelContext& context, const Tensor& weights, const Image& from, const Image& to, int64_t* groups);

/// Whether the positions of the window give the output's height and width.
bool check_positions(KernelContext& context, const Window& window, const Image& from, const Image& to);

/// Writes every element of c.out: the finished c.sum(n, y, x, channel).
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
