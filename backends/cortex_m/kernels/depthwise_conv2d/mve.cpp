// quantized_depthwise_conv2d, 16 input channels at a time: four rows of their columns are interleaved, so that the 4 x
// 4 taps that begin at a column are four words, and one instruction multiplies and sums them. Taps beyond the kernel
// have the weight 0. For 3 x 3 windows of stride 1, the 4 x 4 taps hold four windows, for four outputs. The equation:
// reference.cpp.
#include "backends/cortex_m/kernels/conv2d/conv2d_mve.h"
#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kLanes = 16, kColumnBytes = 4 * kLanes;  // a column: a word of four rows for each channel
constexpr int32_t kQuad = 4;                               // channels that are requantized together
constexpr int32_t kStackBytes = 1216;

/// Sizes in columns of one strip of outputs.
struct Strip {
  bool four_outputs;           // 3 x 3 at most, stride 1: the windows of two rows and two columns at once
  int32_t row_groups, groups;  // of four taps each: rows of the window; rows times columns
  int32_t column_groups;
  int32_t outputs;         // of a strip
  int32_t columns;         // of input for them, of one row group
  int32_t weight_columns;  // of one row group
  int32_t weight_groups;   // row groups of weights; one more for the second row of four outputs

  int32_t bytes() const {
    const int32_t sums = outputs * kQuad * 4 * (four_outputs ? 2 : 1);
    return (row_groups * columns + weight_groups * weight_columns) * kColumnBytes + sums;
  }
};

class Depthwise {
 public:
  Depthwise(const DepthwiseConv2d& c, const Strip& strip, int8_t* memory)
      : c_(c),
        strip_(strip),
        columns_(memory),
        weights_(columns_ + strip.row_groups * strip.columns * kColumnBytes),
        sums_(reinterpret_cast<int32_t*>(weights_ + strip.weight_groups * strip.weight_columns * kColumnBytes)) {
    const uint32x4_t lanes = vidupq_n_u32(0, 1);
    weight_offsets_ = vmulq_n_u32(lanes, kColumnBytes);
    offsets_ = vmulq_n_u32(weight_offsets_, static_cast<uint32_t>(c.window.dilation[1]));
    for (int64_t o = 0; o < c.to.c; ++o) shifts_right_ = shifts_right_ && c.quantization.shifts[o] < 0;
  }

  void run() {
    for (int32_t phase = 0; phase < c_.depth_multiplier; ++phase) {
      for (int32_t first = 0; first < c_.from.c; first += kLanes) {
        const int32_t left = static_cast<int32_t>(c_.from.c) - first;
        run_channels(first, left < kLanes ? left : kLanes, phase);
      }
    }
  }

 private:
  /// Channels [first, first + count) of the input, and of each the output channel number `phase`.
  void run_channels(int32_t first, int32_t count, int32_t phase) {
    interleave_weights(first, count, phase);
    const int32_t height = static_cast<int32_t>(c_.to.h), width = static_cast<int32_t>(c_.to.w);
    const int32_t rows = strip_.four_outputs ? 2 : 1;
    for (int64_t n = 0; n < c_.from.n; ++n) {
      const int8_t* image = c_.x + n * c_.from.h * c_.from.w * c_.from.c + first;
      for (int32_t y = 0; y < height; y += rows) {
        for (int32_t x = 0; x < width; x += strip_.outputs) {
          const int32_t outputs = width - x < strip_.outputs ? width - x : strip_.outputs;
          for (int32_t g = 0; g < strip_.row_groups; ++g) interleave_input(image, count, y, x, g);
          int8_t* out = c_.out + ((n * height + y) * width + x) * c_.to.c;
          for (int32_t quad = 0; quad < count; quad += kQuad) {
            const int32_t channels = count - quad < kQuad ? count - quad : kQuad;
            run_quad(quad, first + quad, channels, phase, outputs, out, y + 1 < height);
          }
        }
      }
    }
  }

  /// Four rows of 16 channels, null for those of padding, to a column.
  static void interleave(const int8_t* const rows[4], const int8x16_t padding, mve_pred16_t live, int8_t* to) {
    int8x16x4_t column;
    for (int32_t r = 0; r < 4; ++r) column.val[r] = rows[r] == nullptr ? padding : vldrbq_z_s8(rows[r], live);
    vst4q_s8(to, column);
  }

  void interleave_input(const int8_t* image, int32_t count, int32_t y, int32_t x, int32_t group) const {
    const int32_t width = static_cast<int32_t>(c_.from.w), channels = static_cast<int32_t>(c_.from.c);
    const int8x16_t padding = vdupq_n_s8(static_cast<int8_t>(-c_.quantization.input_offset));
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(count));
    const int8_t* rows[4];
    for (int32_t r = 0; r < 4; ++r) {
      const int64_t iy =
          int64_t{y} * c_.window.stride[0] - c_.window.padding[0] + int64_t{4 * group + r} * c_.window.dilation[0];
      rows[r] = iy < 0 || iy >= c_.from.h ? nullptr : image + static_cast<int32_t>(iy) * width * channels;
    }
    int8_t* to = columns_ + group * strip_.columns * kColumnBytes;
    const int32_t left = x * c_.window.stride[1] - c_.window.padding[1], end = left + strip_.columns;
    const int8_t* const none[4] = {nullptr, nullptr, nullptr, nullptr};
    int32_t at = left;
    for (; at < end && at < 0; ++at, to += kColumnBytes) interleave(none, padding, live, to);
    const int8_t* here[4];
    for (int32_t r = 0; r < 4; ++r) here[r] = rows[r] == nullptr ? nullptr : rows[r] + at * channels;
    const int32_t inside = end < width ? end : width;
    if (rows[0] != nullptr && rows[1] != nullptr && rows[2] != nullptr && rows[3] != nullptr) {
      for (; at < inside; ++at, to += kColumnBytes) {
        const int8x16x4_t column = {{vldrbq_z_s8(here[0], live), vldrbq_z_s8(here[1], live), vldrbq_z_s8(here[2], live),
                                     vldrbq_z_s8(here[3], live)}};
        vst4q_s8(to, column);
        for (const int8_t*& row : here) row += channels;
      }
    }
    for (; at < inside; ++at, to += kColumnBytes) {
      interleave(here, padding, live, to);
      for (const int8_t*& row : here) row = row == nullptr ? nullptr : row + channels;
    }
    for (; at < end; ++at, to += kColumnBytes) interleave(none, padding, live, to);
  }

  /// The weights as columns like those of the input, one column of zeros before and as many behind as taps are missing.
  /// Four outputs have them twice, the second time a row lower.
  void interleave_weights(int32_t first, int32_t count, int32_t phase) const {
    const int32_t lead = strip_.four_outputs ? 1 : 0;
    int8_t* to = weights_;
    for (int32_t group = 0; group < strip_.weight_groups; ++group) {
      const int32_t top = strip_.four_outputs ? -group : 4 * group;
      for (int32_t column = 0; column < strip_.weight_columns; ++column, to += kColumnBytes) {
        int8x16x4_t taps;
        for (int32_t r = 0; r < 4; ++r) taps.val[r] = weights_of(top + r, column - lead, first, count, phase);
        vst4q_s8(to, taps);
      }
    }
  }

  /// The weights of one tap for 16 channels; zeros beyond the kernel.
  int8x16_t weights_of(int32_t ky, int32_t kx, int32_t first, int32_t count, int32_t phase) const {
    const int32_t taps_x = c_.window.kernel[1], multiplier = c_.depth_multiplier;
    if (kx < 0 || kx >= taps_x || ky < 0 || ky >= c_.window.kernel[0]) return vdupq_n_s8(0);
    const int8_t* from = c_.weights + (ky * taps_x + kx) * static_cast<int32_t>(c_.to.c) + first * multiplier + phase;
    if (multiplier == 1) return vldrbq_z_s8(from, vctp8q(static_cast<uint32_t>(count)));
    int8_t lanes[kLanes];
    for (int32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lane < count ? from[lane * multiplier] : int8_t{0};
    return vldrbq_s8(lanes);
  }

  int8x16_t taps(const int8_t* from, uint32x4_t offsets) const {
    return vreinterpretq_s8_s32(vldrwq_gather_offset_s32(reinterpret_cast<const int32_t*>(from), offsets));
  }

  void run_quad(int32_t quad, int32_t first, int32_t channels, int32_t phase, int32_t outputs, int8_t* out,
                bool second_row) {
    int32_t initial[kQuad] = {0, 0, 0, 0}, multipliers[kQuad] = {0, 0, 0, 0}, shifts[kQuad] = {-1, -1, -1, -1};
    const ChannelQuantization& quantization = c_.quantization;
    for (int32_t i = 0; i < channels; ++i) {
      const int32_t o = (first + i) * c_.depth_multiplier + phase;
      const int32_t sum =
          strip_.four_outputs ? sum_four(4 * (quad + i), outputs, i) : sum_any(4 * (quad + i), outputs, i);
      initial[i] = wrapping_add(quantization.initial(o), wrapping_mul(quantization.input_offset, sum));
      multipliers[i] = quantization.multipliers[o];
      shifts[i] = quantization.shifts[o];
    }
    const int32x4_t biases = vldrwq_s32(initial), multiplier = vldrwq_s32(multipliers), shift = vldrwq_s32(shifts);
    int8_t* to = out + first * c_.depth_multiplier + phase;
    write(sums_, biases, multiplier, shift, channels, outputs, to);
    if (strip_.four_outputs && second_row)
      write(sums_ + kQuad * strip_.outputs, biases, multiplier, shift, channels, outputs, to + c_.to.w * c_.to.c);
  }

  /// Sums of one channel of a strip; `at` is its word in a column. Returns the sum of the weights.
  int32_t sum_four(int32_t at, int32_t outputs, int32_t lane) const {
    const int8_t *lower = weights_ + at, *upper = lower + strip_.weight_columns * kColumnBytes;
    const int8x16_t w00 = taps(lower + kColumnBytes, weight_offsets_), w01 = taps(lower, weight_offsets_);
    const int8x16_t w10 = taps(upper + kColumnBytes, weight_offsets_), w11 = taps(upper, weight_offsets_);
    const int8_t* from = columns_ + at;
    int32_t *first = sums_ + lane, *second = first + kQuad * strip_.outputs;
    for (int32_t left = (outputs + 1) / 2; left > 0; --left) {
      const int8x16_t x = taps(from, weight_offsets_);
      from += 2 * kColumnBytes;
      first[0] = vmladavq_s8(x, w00);
      first[kQuad] = vmladavq_s8(x, w01);
      second[0] = vmladavq_s8(x, w10);
      second[kQuad] = vmladavq_s8(x, w11);
      first += 2 * kQuad;
      second += 2 * kQuad;
    }
    return vaddvq_s8(w00);
  }

  int32_t sum_any(int32_t at, int32_t outputs, int32_t lane) const {
    const int32_t step = c_.window.stride[1] * kColumnBytes;
    int32_t sum = 0;
    for (int32_t group = 0; group < strip_.groups; ++group) {
      const int32_t row = group / strip_.column_groups, column = 4 * (group % strip_.column_groups);
      const int8x16_t w = taps(weights_ + (row * strip_.weight_columns + column) * kColumnBytes + at, weight_offsets_);
      const int8_t* from = columns_ + (row * strip_.columns + column * c_.window.dilation[1]) * kColumnBytes + at;
      int32_t* to = sums_ + lane;
      sum = vaddvaq_s8(sum, w);
      if (group == 0) {
        for (int32_t left = outputs; left > 0; --left, from += step, to += kQuad)
          *to = vmladavq_s8(taps(from, offsets_), w);
      } else {
        for (int32_t left = outputs; left > 0; --left, from += step, to += kQuad)
          *to = vmladavaq_s8(*to, taps(from, offsets_), w);
      }
    }
    return sum;
  }

  void write(const int32_t* sums, int32x4_t biases, int32x4_t multiplier, int32x4_t shift, int32_t channels,
             int32_t outputs, int8_t* out) const {
    const OutputStage& stage = c_.quantization.stage;
    const int32x4_t min = vdupq_n_s32(stage.min), max = vdupq_n_s32(stage.max);
    const int32_t step = static_cast<int32_t>(c_.to.c), offset = stage.offset;
    if (channels == kQuad && shifts_right_ && c_.depth_multiplier == 1) {
      for (int32_t left = outputs; left > 0; --left, sums += kQuad, out += step) {
        const int32x4_t value = requantize_right(vaddq_s32(vldrwq_s32(sums), biases), multiplier, shift);
        vstrbq_s32(out, clamp(vaddq_n_s32(value, offset), min, max));
      }
      return;
    }
    const mve_pred16_t live = vctp32q(static_cast<uint32_t>(channels));
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(c_.depth_multiplier));
    for (int32_t left = outputs; left > 0; --left, sums += kQuad, out += step) {
      const int32x4_t value = requantize_any(vaddq_s32(vldrwq_s32(sums), biases), multiplier, shift);
      vstrbq_scatter_offset_p_s32(out, places, clamp(vaddq_n_s32(value, offset), min, max), live);
    }
  }

  const DepthwiseConv2d& c_;
  const Strip& strip_;
  int8_t *columns_, *weights_;
  int32_t* sums_;
  uint32x4_t offsets_, weight_offsets_;
  bool shifts_right_ = true;
};

/// The widest strip for `bytes` of memory; without outputs if there is none.
Strip plan(const DepthwiseConv2d& c, int64_t bytes) {
  const Window& window = c.window;
  Strip strip = {};
  strip.four_outputs = window.kernel[0] <= 3 && window.kernel[1] <= 3 && window.stride[0] == 1 &&
                       window.stride[1] == 1 && window.dilation[0] == 1 && window.dilation[1] == 1;
  constexpr int32_t kMostTaps = 64, kMostReach = 64;
  if (window.kernel[0] > kMostTaps || window.kernel[1] > kMostTaps || window.stride[1] > kMostReach ||
      window.dilation[1] > kMostReach)
    return strip;
  strip.row_groups = (window.kernel[0] + 3) / 4;
  strip.column_groups = (window.kernel[1] + 3) / 4;
  strip.groups = strip.row_groups * strip.column_groups;
  strip.weight_columns = strip.four_outputs ? 5 : 4 * strip.column_groups;
  strip.weight_groups = strip.four_outputs ? 2 : strip.row_groups;
  constexpr int32_t kMostOutputs = 32;
  const int32_t width = static_cast<int32_t>(c.to.w < kMostOutputs ? (c.to.w + 1) & ~int64_t{1} : kMostOutputs);
  for (strip.outputs = width; strip.outputs > 0; strip.outputs -= 2) {
    strip.columns = (strip.outputs - 1) * window.stride[1] + (4 * strip.column_groups - 1) * window.dilation[1] + 1;
    if (strip.bytes() <= bytes) break;
  }
  if (strip.outputs < 0) strip.outputs = 0;
  return strip;
}

/// For programs whose scratch is too small. Returns false if this is, too.
__attribute__((noinline)) bool run_on_stack(const DepthwiseConv2d& c) {
  alignas(16) int8_t memory[kStackBytes];
  const Strip strip = plan(c, kStackBytes);
  if (strip.outputs > 0) Depthwise(c, strip, memory).run();
  return strip.outputs > 0;
}

/// weights [taps][outputs] to [outputs][taps].
void turn_weights(const int8_t* weights, int32_t taps, int32_t outputs, int8_t* to) {
  const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), static_cast<uint16_t>(taps));
  for (int32_t tap = 0; tap < taps; ++tap, ++to) {
    int8_t* at = to;
    for (int32_t left = outputs; left > 0; left -= 8, weights += 8, at += 8 * taps) {
      const mve_pred16_t live = vctp16q(static_cast<uint32_t>(left));
      vstrbq_scatter_offset_p_s16(at, places, vldrbq_z_s16(weights, live), live);
    }
    weights += outputs % 8 == 0 ? 0 : outputs % 8 - 8;
  }
}

/// One input channel and several outputs. False if scratch has no room for the weights and a convolution.
bool run_as_convolution(const DepthwiseConv2d& c) {
  constexpr int64_t kMostTaps = UINT16_MAX / 7;
  const int64_t taps = int64_t{c.window.kernel[0]} * c.window.kernel[1];
  const int64_t weights_bytes = taps * c.to.c, rest = static_cast<int64_t>(c.scratch.size()) - weights_bytes;
  if (c.from.c != 1 || c.to.c == 1 || taps > kMostTaps || rest < 4 * ((taps + 15) & ~int64_t{15})) return false;
  int8_t* turned = reinterpret_cast<int8_t*>(c.scratch.data());
  turn_weights(c.weights, static_cast<int32_t>(taps), static_cast<int32_t>(c.to.c), turned);
  const size_t used = static_cast<size_t>(weights_bytes);
  convolve({c.window, c.from, c.to, 1, c.to.c, c.quantization, c.x, turned, c.out,
            c.scratch.subspan(used, c.scratch.size() - used)});
  return true;
}

}  // namespace

void quantized_depthwise_conv2d(KernelContext& context, Span<EValue*> args) {
  DepthwiseConv2d c;
  if (!read_depthwise_conv2d(context, args, &c)) return;
  if (c.to.n * c.to.h * c.to.w == 0) return;
  if (!has_near_positions(c.window, c.from)) return reference::quantized_depthwise_conv2d(context, args);
  if (run_as_convolution(c)) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(c.scratch.data()), aligned = (begin + 15) & ~uintptr_t{15};
  const Strip strip = plan(c, static_cast<int64_t>(c.scratch.size()) - static_cast<int64_t>(aligned - begin));
  if (strip.outputs > 0) {
    Depthwise(c, strip, reinterpret_cast<int8_t*>(aligned)).run();
  } else if (!run_on_stack(c)) {
    reference::quantized_depthwise_conv2d(context, args);
  }
}

}  // namespace wick::cortex_m::mve
