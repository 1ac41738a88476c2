// quantized_depthwise_conv2d on cores without vectors: four output channels at a time, whose weights are widened once.
// One call of an inner loop computes a run of outputs whose windows have the same taps on the input. C++17,
// freestanding.
#pragma once
#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "backends/cortex_m/kernels/gemm/tile.h"
#include "backends/cortex_m/kernels/isa/depthwise_loops.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m {

/// Weights of eight bits, [taps][outputs].
struct DepthwiseWeights {
  const int8_t* begin;
  int32_t outputs;

  /// sum (pixel + offset) * weight over `count` pixels, `step` bytes apart, with the weights of a channel from `tap`
  /// on.
  uint32_t dot(const int8_t* x, int32_t step, int32_t offset, int32_t tap, int32_t channel, int32_t count) const {
    const int8_t* weight = begin + tap * outputs + channel;
    uint32_t sum = 0;
    for (; count > 0; --count, x += step, weight += outputs) sum += static_cast<uint32_t>((*x + offset) * *weight);
    return sum;
  }
  /// The weights of four channels, `apart` channels apart, as bytes of a word.
  uint32_t four(int32_t tap, int32_t channel, int32_t apart) const {
    const int8_t* bytes = begin + tap * outputs + channel;
    if (apart == 1) return load_word(bytes);
    uint32_t word = 0;
    for (int32_t i = 0; i < 4; ++i) word |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[i * apart])) << (8 * i);
    return word;
  }
};

/// `Weights` has the functions of DepthwiseWeights.
template <typename Isa, typename Weights>
class TiledDepthwise {
 public:
  TiledDepthwise(const DepthwiseConv2d& c, const Weights& weights)
      : c_(c),
        of_taps_(weights),
        height_(static_cast<int32_t>(c.from.h)),
        width_(static_cast<int32_t>(c.from.w)),
        channels_(static_cast<int32_t>(c.from.c)),
        out_height_(static_cast<int32_t>(c.to.h)),
        out_width_(static_cast<int32_t>(c.to.w)),
        out_channels_(static_cast<int32_t>(c.to.c)) {
    const Window& w = c.window;
    fits_ = w.kernel[0] * w.kernel[1] <= kWords / Isa::kDepthwiseWords;
    const Run rows = inner(0), columns = inner(1);
    axis_ = rows.end - rows.begin > columns.end - columns.begin ? 0 : 1;
    inner_ = axis_ == 0 ? rows : columns;
  }

  void run() {
    for (int32_t n = 0; n < static_cast<int32_t>(c_.to.n); ++n) {
      const int8_t* x = c_.x + n * height_ * width_ * channels_;
      int8_t* out = c_.out + n * out_height_ * out_width_ * out_channels_;
      // One output channel of each of four input channels at a time; the last four may overlap those before ..
      for (int32_t input = 0; input < channels_ && channels_ >= kChannels; input += kChannels) {
        const int32_t first = input + kChannels <= channels_ ? input : channels_ - kChannels;
        for (int32_t i = 0; i < c_.depth_multiplier; ++i)
          run_channels(x + first, first * c_.depth_multiplier + i, c_.depth_multiplier, false, out);
      }
      // .. or four output channels of one input channel.
      for (int32_t input = 0; input < channels_ && channels_ < kChannels; ++input) {
        int32_t channel = input * c_.depth_multiplier;
        const int32_t end = channel + c_.depth_multiplier;
        for (; channel + kChannels <= end; channel += kChannels) run_channels(x + input, channel, 1, true, out);
        for (; channel < end; ++channel) run_channel(x + input, channel, out + channel);
      }
    }
  }

 private:
  static constexpr int32_t kChannels = 4, kWords = 160;

  struct Run {
    int32_t begin, end;
  };
  /// The outputs along one dimension whose windows lie entirely on the input.
  Run inner(size_t axis) const {
    const Window& w = c_.window;
    const int32_t size = axis == 0 ? height_ : width_, outputs = axis == 0 ? out_height_ : out_width_;
    const int32_t room = size - 1 - (w.kernel[axis] - 1) * w.dilation[axis] + w.padding[axis];
    const auto bounded = [&](int32_t value) { return value < outputs ? value : outputs; };
    const int32_t begin = bounded((w.padding[axis] + w.stride[axis] - 1) / w.stride[axis]);
    const int32_t end = room < 0 ? 0 : bounded(room / w.stride[axis] + 1);
    return {begin, end < begin ? begin : end};
  }

  /// The part of the window's taps along one dimension that lies on the input.
  using Taps = Run;
  Taps taps_at(int32_t at, size_t axis) const {
    const int32_t d = c_.window.dilation[axis], size = axis == 0 ? height_ : width_, kernel = c_.window.kernel[axis];
    const int32_t begin = at >= 0 ? 0 : d == 1 ? -at : (-at + d - 1) / d;
    const int32_t end = at >= size ? 0 : d == 1 ? size - at : (size - at + d - 1) / d;
    return {begin, end < kernel ? end : kernel};
  }

  /// Computes four output channels, `apart` channels apart, from `channel` on: of four input channels, or of one
  /// (`shares`).
  void run_channels(const int8_t* x, int32_t channel, int32_t apart, bool shares, int8_t* out) {
    shares_ = shares;
    block_.out_apart = apart;
    if (read_block(channel)) return run_block(x, channel, out + channel);
    for (int32_t i = 0; i < kChannels; ++i, x += shares ? 0 : 1, channel += apart)
      run_channel(x, channel, out + channel);
  }

  /// Reads the weights and requantization of the four channels. Returns false if the inner loops cannot compute them.
  bool read_block(int32_t channel) {
    if (!fits_) return false;
    const ChannelQuantization& q = c_.quantization;
    const int32_t apart = block_.out_apart;
    for (int32_t i = 0; i < kChannels; ++i) {
      const int32_t from = channel + i * apart, bias = q.initial(from), shift = q.shifts[from];
      if (shift >= 0 || bias >= 1 << 29 || bias <= -(1 << 29)) return false;  // with at most kWords taps: below 2^30
      bias_[i] = bias;
      block_.multipliers[i] = q.multipliers[from];
      block_.rights[i] = -shift;
    }
    uint32_t* to = weights_;
    const int32_t taps = c_.window.kernel[0] * c_.window.kernel[1];
    for (int32_t tap = 0; tap < taps; ++tap) to = Isa::widen(of_taps_.four(tap, channel, apart), Isa::spread(0), 1, to);
    block_.input_offset = Isa::spread(q.input_offset);
    block_.output_offset = q.stage.offset;
    block_.step = c_.window.dilation[1] * channels_;
    block_.x_row = c_.window.dilation[0] * width_ * channels_;
    block_.x_step = c_.window.stride[axis_] * channels_ * (axis_ == 0 ? width_ : 1);
    block_.out_step = out_channels_ * (axis_ == 0 ? out_width_ : 1);
    return true;
  }

  /// Computes runs along the longer dimension.
  void run_block(const int8_t* x, int32_t channel, int8_t* out) {
    const int32_t along = axis_ == 0 ? out_height_ : out_width_, across = axis_ == 0 ? out_width_ : out_height_;
    for (int32_t line = 0; line < across; ++line) {
      for (int32_t at = 0; at < inner_.begin; ++at) run_pixels(x, channel, line, at, 1, out);
      if (inner_.begin < inner_.end) run_pixels(x, channel, line, inner_.begin, inner_.end - inner_.begin, out);
      for (int32_t at = inner_.end; at < along; ++at) run_pixels(x, channel, line, at, 1, out);
    }
  }

  /// `count` outputs from `at` on along the axis.
  void run_pixels(const int8_t* x, int32_t channel, int32_t line, int32_t at, int32_t count, int8_t* out) {
    const Window& w = c_.window;
    const int32_t row = axis_ == 0 ? at : line, column = axis_ == 0 ? line : at;
    const int32_t top = row * w.stride[0] - w.padding[0], left = column * w.stride[1] - w.padding[1];
    const Taps rows = taps_at(top, 0), taps = taps_at(left, 1);
    out += (row * out_width_ + column) * out_channels_;
    if (rows.begin >= rows.end || taps.begin >= taps.end) return finish_bias(channel, count, out);
    const int32_t num_taps = taps.end - taps.begin;
    block_.rows = rows.end - rows.begin;
    block_.taps = num_taps;
    block_.count = count;
    block_.x_skip = block_.x_row - num_taps * block_.step;
    block_.weights_skip = (w.kernel[1] - num_taps) * Isa::kDepthwiseWords * static_cast<int32_t>(sizeof(uint32_t));
    const uint32_t* weights = weights_ + (rows.begin * w.kernel[1] + taps.begin) * Isa::kDepthwiseWords;
    for (int32_t i = 0; i < kChannels; ++i) block_.bias[i] = bias_[i];
    Isa::fold_offset(weights, &block_);
    x += ((top + rows.begin * w.dilation[0]) * width_ + left + taps.begin * w.dilation[1]) * channels_;
    if (shares_) {
      Isa::depthwise_pixels_of_one(x, weights, out, &block_);
    } else if (block_.rows == 3 && num_taps == 3 && w.kernel[1] == 3) {
      Isa::depthwise_pixels_3x3(x, weights, out, &block_);
    } else {
      Isa::depthwise_pixels(x, weights, out, &block_);
    }
    const OutputStage& stage = c_.quantization.stage;
    if (stage.min != INT8_MIN || stage.max != INT8_MAX) clamp(count, out);
  }

  void clamp(int32_t count, int8_t* out) const {
    const int8_t min = static_cast<int8_t>(c_.quantization.stage.min),
                 max = static_cast<int8_t>(c_.quantization.stage.max);
    for (; count > 0; --count, out += block_.out_step) {
      for (int32_t i = 0; i < kChannels; ++i) {
        int8_t& value = out[i * block_.out_apart];
        value = value < min ? min : value > max ? max : value;
      }
    }
  }
  /// Writes outputs without a tap on the input: the bias alone.
  WICK_COLD void finish_bias(int32_t channel, int32_t count, int8_t* out) const {
    for (; count > 0; --count, out += block_.out_step) {
      for (int32_t i = 0; i < kChannels; ++i)
        out[i * block_.out_apart] = c_.quantization.finish(bias_[i], channel + i * block_.out_apart);
    }
  }

  /// Computes one channel, with any parameters.
  void run_channel(const int8_t* x, int32_t channel, int8_t* out) const {
    const Window& w = c_.window;
    for (int32_t y = 0; y < out_height_; ++y) {
      const int32_t top = y * w.stride[0] - w.padding[0];
      const Taps rows = taps_at(top, 0);
      for (int32_t at = 0; at < out_width_; ++at, out += out_channels_) {
        const int32_t left = at * w.stride[1] - w.padding[1];
        const Taps taps = taps_at(left, 1);
        uint32_t sum = static_cast<uint32_t>(c_.quantization.initial(channel));
        for (int32_t ky = rows.begin; ky < rows.end; ++ky) {
          const int32_t line = (top + ky * w.dilation[0]) * width_ + left + taps.begin * w.dilation[1];
          sum += of_taps_.dot(x + line * channels_, w.dilation[1] * channels_, c_.quantization.input_offset,
                              ky * w.kernel[1] + taps.begin, channel, taps.end - taps.begin);
        }
        *out = c_.quantization.finish(static_cast<int32_t>(sum), channel);
      }
    }
  }

  const DepthwiseConv2d& c_;
  const Weights of_taps_;
  int32_t height_, width_, channels_, out_height_, out_width_, out_channels_;
  bool fits_, shares_ = false;  // the weights of four channels fit; the four read one input channel
  size_t axis_ = 0;             // runs go along the axis with the longer `inner_`
  Run inner_;
  DepthwiseBlock block_;
  int32_t bias_[kChannels];
  uint32_t weights_[kWords];
};

template <typename Isa>
void quantized_depthwise_conv2d_without_vectors(KernelContext& context, Span<EValue*> args, ImageSizes sizes,
                                                KernelFn reference) {
  DepthwiseConv2d c;
  if (!read_depthwise_conv2d(context, args, sizes, &c)) return;
  if (!positions_fit_31_bits(c.window, c.from)) return reference(context, args);
  TiledDepthwise<Isa, DepthwiseWeights>(c, {c.weights, static_cast<int32_t>(c.to.c)}).run();
}

}  // namespace wick::cortex_m
