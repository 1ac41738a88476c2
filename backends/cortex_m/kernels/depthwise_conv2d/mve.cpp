// quantized_depthwise_conv2d, 16 input channels at a time. Four rows of their columns are interleaved: the 4 x 4 taps
// that begin at a column are then four words, which one instruction multiplies and sums. Taps beyond the kernel have
// the weight 0. For 3 x 3 windows of stride 1, the 4 x 4 taps contain four windows, which give four outputs. A
// channel's weights and constants stay in registers for all outputs of a tile. The equation: reference.cpp.
#include "backends/cortex_m/kernels/conv2d/conv2d_mve.h"
#include "backends/cortex_m/kernels/depthwise_conv2d/depthwise_mve.h"
#include "backends/cortex_m/kernels/mve/vectors.h"
#include "backends/cortex_m/kernels/near_positions.h"
#include "backends/cortex_m/kernels/reference.h"
#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m::mve {
namespace {

constexpr int32_t kLanes = 16, kColumnBytes = 4 * kLanes;  // a column: a word of four rows for each channel
constexpr int32_t kStackBytes = 1024;
constexpr int32_t kMostChannels = UINT16_MAX / 7;  // of the output: eight positions must be less than 2^16 bytes apart

/// How outputs are computed at a time: a part of a row, or whole rows. A step is one row of outputs, or two.
struct Tile {
  bool four_outputs;           // 3 x 3 at most, stride 1: windows of two rows and two columns at once
  int32_t row_groups, groups;  // of four taps each: rows of the window; rows times columns
  int32_t column_groups;
  int32_t outputs;         // of a row
  int32_t steps;           // more than one only for whole rows
  int32_t columns;         // input columns for them, in one row group
  int32_t weight_columns;  // in one row group
  int32_t weight_groups;   // row groups of weights; one more for the second row of four outputs

  int32_t rows_per_step() const { return four_outputs ? 2 : 1; }
  int32_t input_bytes() const { return steps * row_groups * columns * kColumnBytes; }
  /// Bytes for the sums of one channel, and for what vectors read or write beyond them.
  int32_t sums_bytes() const { return (steps * rows_per_step() * outputs + 8) * 4; }
  int32_t bytes() const { return input_bytes() + weight_groups * weight_columns * kColumnBytes + sums_bytes(); }
};

/// Writes the results of one channel, position by position.
class Writer {
 public:
  Writer(const OutputStage& stage, int32_t channels)
      : stage_(stage),
        channels_(channels),
        min_(vdupq_n_s16(static_cast<int16_t>(stage.min))),
        max_(vdupq_n_s16(static_cast<int16_t>(stage.max))),
        places_(vmulq_n_u16(vidupq_n_u16(0, 1), static_cast<uint16_t>(channels))) {}

  struct Channel {
    int32_t initial, multiplier, shift;
  };
  void operator()(const int32_t* sums, int32_t count, const Channel& channel, int8_t* out) const {
    if (channel.shift >= 0) return write_any(stage_, channels_, sums, count, channel, out);
    const Channel c = channel;
    const int16x8_t min = min_, max = max_;
    const uint16x8_t places = places_;
    const int32_t offset = stage_.offset, step = 8 * channels_;
    const auto eight = [=](const int32_t* from) {
      const int32x4x2_t value = load_pairs(from);
      const int32x4_t even = requantize_right(vaddq_n_s32(value.val[0], c.initial), c.multiplier, c.shift);
      const int32x4_t odd = requantize_right(vaddq_n_s32(value.val[1], c.initial), c.multiplier, c.shift);
      return narrow(even, odd, offset, min, max);
    };
    for (int32_t eights = count / 8; eights > 0; --eights, sums += 8, out += step)
      vstrbq_scatter_offset_s16(out, places, eight(sums));
    if (count % 8 != 0)
      vstrbq_scatter_offset_p_s16(out, places, eight(sums), vctp16q(static_cast<uint32_t>(count % 8)));
  }

 private:
  /// Writes with any shift.
  WICK_COLD static void write_any(OutputStage stage, int32_t channels, const int32_t* sums, int32_t count, Channel c,
                                  int8_t* out) {
    stage.multiplier = c.multiplier;
    stage.shift = c.shift;
    for (; count > 0; --count, ++sums, out += channels) *out = stage(wrapping_add(*sums, c.initial));
  }

  OutputStage stage_;
  int32_t channels_;
  int16x8_t min_, max_;
  uint16x8_t places_;
};

class Depthwise {
 public:
  Depthwise(const DepthwiseConv2d& c, LoadWeights load, const Tile& tile, int8_t* memory)
      : c_(c),
        load_(load),
        tile_(tile),
        width_(static_cast<int32_t>(c.to.w)),
        channels_(static_cast<int32_t>(c.to.c)),
        columns_(memory),
        weights_(columns_ + tile.input_bytes()),
        sums_(reinterpret_cast<int32_t*>(weights_ + tile.weight_groups * tile.weight_columns * kColumnBytes)) {
    weight_offsets_ = vmulq_n_u32(vidupq_n_u32(0, 1), kColumnBytes);
    offsets_ = vmulq_n_u32(weight_offsets_, static_cast<uint32_t>(c.window.dilation[1]));
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
  /// Rows [y, y + rows) and columns [x, x + outputs) of the output.
  struct Part {
    int32_t y, x, rows, outputs;
  };

  /// Computes channels [first, first + count) of the input, and for each of them output channel number `phase`.
  WICK_COLD void run_channels(int32_t first, int32_t count, int32_t phase) {
    interleave_weights(first, count, phase);
    const int32_t height = static_cast<int32_t>(c_.to.h), rows = tile_.steps * tile_.rows_per_step();
    for (int64_t n = 0; n < c_.from.n; ++n) {
      const int8_t* image = c_.x + n * c_.from.h * c_.from.w * c_.from.c + first;
      int8_t* out = c_.out + n * height * width_ * channels_;
      for (int32_t y = 0; y < height; y += rows) {
        for (int32_t x = 0; x < width_; x += tile_.outputs) {
          const Part part = {y, x, height - y < rows ? height - y : rows,
                             width_ - x < tile_.outputs ? width_ - x : tile_.outputs};
          run_part(part, image, count, out + (y * width_ + x) * channels_ + first * c_.depth_multiplier + phase);
        }
      }
    }
  }

  WICK_COLD void run_part(const Part& part, const int8_t* image, int32_t count, int8_t* out) const {
    const int32_t per_step = tile_.rows_per_step(), steps = (part.rows + per_step - 1) / per_step;
    int8_t* to = columns_;
    for (int32_t step = 0; step < steps; ++step) {
      for (int32_t group = 0; group < tile_.row_groups; ++group, to += tile_.columns * kColumnBytes)
        interleave_input(image, count, part.y + step * per_step, part.x, group, to);
    }
    write_channels(part, steps, count, out);
  }

  /// Writes the output channels for the columns of the tile.
  void write_channels(const Part& part, int32_t steps, int32_t count, int8_t* out) const {
    const ChannelQuantization quantization = c_.quantization;
    const bool four_outputs = tile_.four_outputs, whole_rows = part.outputs == width_;
    const int32_t runs = whole_rows ? 1 : part.rows, length = whole_rows ? part.rows * width_ : part.outputs;
    const int32_t channel_step = c_.depth_multiplier, outputs = part.outputs, run_step = width_ * channels_;
    const Patches patches(tile_, outputs, steps);
    const Writer writer(quantization.stage, channels_);
    const int32_t *const sums = sums_, o = static_cast<int32_t>(out - c_.out) % channels_;
    const int32_t *multiplier = quantization.multipliers + o, *shift = quantization.shifts + o;
    const int32_t* bias = quantization.bias == nullptr ? nullptr : quantization.bias + o;
    for (int32_t at = 0; at < 4 * count; at += 4) {
      const int32_t sum = four_outputs ? sum_four(at, patches, outputs) : sum_any(at, part, steps);
      const int32_t initial = wrapping_add(bias == nullptr ? 0 : *bias, wrapping_mul(quantization.input_offset, sum));
      const Writer::Channel channel = {initial, *multiplier, *shift};
      const int32_t* from = sums;
      int8_t* to = out;
      for (int32_t run = runs; run > 0; --run, from += length, to += run_step) writer(from, length, channel, to);
      multiplier += channel_step;
      shift += channel_step;
      if (bias != nullptr) bias += channel_step;
      out += channel_step;
    }
  }

  /// Interleaves four rows of the input's columns for the outputs from (y, x) on; outside of the input it writes
  /// padding.
  void interleave_input(const int8_t* image, int32_t count, int32_t y, int32_t x, int32_t group, int8_t* to) const {
    const int32_t width = static_cast<int32_t>(c_.from.w), height = static_cast<int32_t>(c_.from.h);
    const int32_t channels = static_cast<int32_t>(c_.from.c), dilation = c_.window.dilation[0];
    const int8x16_t padding = vdupq_n_s8(static_cast<int8_t>(-c_.quantization.input_offset));
    alignas(16) int8_t padding_bytes[kLanes];
    vstrbq_s8(padding_bytes, padding);
    const int32_t left = x * c_.window.stride[1] - c_.window.padding[1], end = left + tile_.columns;
    const int32_t begin = left < 0 ? 0 : left, inside = end < width ? end : width;
    const int8_t* rows[4];
    int32_t steps[4], row = y * c_.window.stride[0] - c_.window.padding[0] + 4 * group * dilation;
    for (int32_t r = 0; r < 4; ++r, row += dilation) {
      const bool is_inside = row >= 0 && row < height;
      rows[r] = is_inside ? image + (row * width + begin) * channels : padding_bytes;
      steps[r] = is_inside ? channels : 0;
    }
    const int8x16x4_t none = {{padding, padding, padding, padding}};
    int32_t at = left;
    for (; at < end && at < 0; ++at, to += kColumnBytes) vst4q_s8(to, none);
    const mve_pred16_t live = vctp8q(static_cast<uint32_t>(count));
    const auto interleave = [&](const auto& load) {
      for (; at < inside; ++at, to += kColumnBytes) {
        int8x16x4_t column;
        for (int32_t r = 0; r < 4; ++r, rows[r - 1] += steps[r - 1]) column.val[r] = load(rows[r]);
        vst4q_s8(to, column);
      }
    };
    if (count == kLanes)
      interleave([](const int8_t* from) { return vldrbq_s8(from); });
    else
      interleave([=](const int8_t* from) { return vldrbq_z_s8(from, live); });
    for (; at < end; ++at, to += kColumnBytes) vst4q_s8(to, none);
  }

  /// Interleaves the weights like the input's columns. One column of zeros precedes them, and as many follow as taps
  /// are missing. For four outputs there are two copies, the second one shifted down by a row.
  WICK_COLD void interleave_weights(int32_t first, int32_t count, int32_t phase) const {
    const int32_t lead = tile_.four_outputs ? 1 : 0;
    int8_t* to = weights_;
    for (int32_t group = 0; group < tile_.weight_groups; ++group) {
      const int32_t top = tile_.four_outputs ? -group : 4 * group;
      for (int32_t column = 0; column < tile_.weight_columns; ++column, to += kColumnBytes) {
        int8x16x4_t taps;
        for (int32_t r = 0; r < 4; ++r) taps.val[r] = weights_of(top + r, column - lead, first, count, phase);
        vst4q_s8(to, taps);
      }
    }
  }

  /// The weights of one tap for 16 channels; zeros if the tap is beyond the kernel.
  WICK_COLD int8x16_t weights_of(int32_t ky, int32_t kx, int32_t first, int32_t count, int32_t phase) const {
    const int32_t taps_x = c_.window.kernel[1];
    if (kx < 0 || kx >= taps_x || ky < 0 || ky >= c_.window.kernel[0]) return vdupq_n_s8(0);
    return load_(c_, ky * taps_x + kx, first * c_.depth_multiplier + phase, count);
  }

  int8x16_t taps(const int8_t* from, uint32x4_t offsets) const {
    return vreinterpretq_s8_s32(vldrwq_gather_offset_s32(reinterpret_cast<const int32_t*>(from), offsets));
  }

  /// A tile as the assembly reads it, in this order.
  struct Patches {
    int32_t pairs;      // of columns of outputs
    int32_t next_step;  // bytes from the end of a step's columns to those of the next
    int32_t next_sums;  // the same for the sums
    int32_t steps;
    bool odd;  // whether there is a last single column

    Patches(const Tile& tile, int32_t outputs, int32_t all_steps)
        : pairs(outputs == 1 ? 1 : outputs / 2), steps(all_steps), odd(outputs % 2 == 1 && outputs > 1) {
      next_step = (tile.columns - 2 * pairs) * kColumnBytes;
      next_sums = 4 * (2 * outputs - 2 * pairs - (odd ? 1 : 0));
    }
  };

#define WICK_PATCH_LOAD "  vldrw.u32 %q[x], [%[from], %q[offsets]]\n"
#define WICK_PATCH_PAIRS                \
  "1: ldr lr, [%[patches]]\n"           \
  "  dls lr, lr\n"                      \
  "2:\n" WICK_PATCH_LOAD                \
  "  add.w %[from], %[from], #128\n"    \
  "  vmladav.s8 %[a], %q[x], %q[wa]\n"  \
  "  vmladav.s8 %[b], %q[x], %q[wb]\n"  \
  "  vmladav.s8 %[c], %q[x], %q[wc]\n"  \
  "  vmladav.s8 %[d], %q[x], %q[wd]\n"  \
  "  strd %[a], %[b], [%[upper]], #8\n" \
  "  strd %[c], %[d], [%[lower]], #8\n" \
  "  le lr, 2b\n"
#define WICK_PATCH_ODD                 \
  WICK_PATCH_LOAD                      \
  "  vmladav.s8 %[a], %q[x], %q[wa]\n" \
  "  vmladav.s8 %[c], %q[x], %q[wc]\n" \
  "  str %[a], [%[upper]], #4\n"       \
  "  str %[c], [%[lower]], #4\n"
#define WICK_PATCH_STEP                   \
  "  ldrd %[a], %[b], [%[patches], #4]\n" \
  "  subs.w %[steps], %[steps], #1\n"     \
  "  add.w %[from], %[from], %[a]\n"      \
  "  add.w %[upper], %[upper], %[b]\n"    \
  "  add.w %[lower], %[lower], %[b]\n"    \
  "  bne 1b\n"
#define WICK_PATCHES(odd)                                                                                           \
  asm volatile(WICK_PATCH_PAIRS odd WICK_PATCH_STEP                                                                 \
               : [from] "+r"(from), [upper] "+r"(upper), [lower] "+r"(lower), [steps] "+r"(steps), [a] "=&Te"(a),   \
                 [b] "=&Te"(b), [c] "=&Te"(c), [d] "=&Te"(d), [x] "=&w"(x)                                          \
               : [patches] "r"(&patches), [offsets] "w"(weight_offsets_), [wa] "w"(wa), [wb] "w"(wb), [wc] "w"(wc), \
                 [wd] "w"(wd)                                                                                       \
               : "lr", "cc", "memory")

  /// Computes the sums of one channel of a tile; `at` is its word in a column. Returns the sum of the weights. The
  /// results of a last row that is not needed are stored after the others.
  int32_t sum_four(int32_t at, const Patches& patches, int32_t outputs) const {
    static_assert(kColumnBytes == 64, "the assembly advances by two columns");
    const int8_t *low = weights_ + at, *high = low + tile_.weight_columns * kColumnBytes;
    const int8x16_t wa = taps(low + kColumnBytes, weight_offsets_), wb = taps(low, weight_offsets_);
    const int8x16_t wc = taps(high + kColumnBytes, weight_offsets_), wd = taps(high, weight_offsets_);
    const int8_t* from = columns_ + at;
    int32_t *upper = sums_, *lower = sums_ + outputs, steps = patches.steps, a, b, c, d;
    int8x16_t x;
    if (patches.odd)
      WICK_PATCHES(WICK_PATCH_ODD);
    else
      WICK_PATCHES("");
    return vaddvq_s8(wa);
  }

  int32_t sum_any(int32_t at, const Part& part, int32_t steps) const {
    const int32_t step_bytes = c_.window.stride[1] * kColumnBytes, row_bytes = tile_.columns * kColumnBytes;
    int32_t sum = 0;
    for (int32_t group = 0; group < tile_.groups; ++group) {
      const int32_t row = group / tile_.column_groups, column = 4 * (group % tile_.column_groups);
      const int8x16_t w = taps(weights_ + (row * tile_.weight_columns + column) * kColumnBytes + at, weight_offsets_);
      const int8_t* line = columns_ + (row * tile_.columns + column * c_.window.dilation[1]) * kColumnBytes + at;
      int32_t* to = sums_;
      sum = vaddvaq_s8(sum, w);
      for (int32_t step = 0; step < steps; ++step, line += tile_.row_groups * row_bytes) {
        const int8_t* from = line;
        if (group == 0) {
          for (int32_t left = part.outputs; left > 0; --left, from += step_bytes, ++to)
            *to = vmladavq_s8(taps(from, offsets_), w);
        } else {
          for (int32_t left = part.outputs; left > 0; --left, from += step_bytes, ++to)
            *to = vmladavaq_s8(*to, taps(from, offsets_), w);
        }
      }
    }
    return sum;
  }

  const DepthwiseConv2d& c_;
  LoadWeights load_;
  const Tile& tile_;
  int32_t width_, channels_;
  int8_t *columns_, *weights_;
  int32_t* sums_;
  uint32x4_t offsets_, weight_offsets_;
};

/// The tile with the most rows for `bytes` of memory, or with the widest part of one; no outputs if nothing fits.
WICK_COLD Tile plan(const DepthwiseConv2d& c, int64_t bytes) {
  const Window& window = c.window;
  Tile tile = {};
  tile.four_outputs = window.kernel[0] <= 3 && window.kernel[1] <= 3 && window.stride[0] == 1 &&
                      window.stride[1] == 1 && window.dilation[0] == 1 && window.dilation[1] == 1;
  constexpr int32_t kMostTaps = 64, kMostReach = 64, kMostOutputs = 64, kMostSteps = 16;
  if (window.kernel[0] > kMostTaps || window.kernel[1] > kMostTaps || window.stride[1] > kMostReach ||
      window.dilation[1] > kMostReach || c.to.c > kMostChannels)
    return tile;
  tile.row_groups = (window.kernel[0] + 3) / 4;
  tile.column_groups = (window.kernel[1] + 3) / 4;
  tile.groups = tile.row_groups * tile.column_groups;
  tile.weight_columns = tile.four_outputs ? 5 : 4 * tile.column_groups;
  tile.weight_groups = tile.four_outputs ? 2 : tile.row_groups;
  tile.steps = 1;
  // For taps beyond the kernel, loads may read what follows the columns: the next ones, or the weights.
  const int32_t reach =
      window.dilation[1] == 1 ? window.kernel[1] : (4 * tile.column_groups - 1) * window.dilation[1] + 1;
  const auto set_outputs = [&](int32_t outputs) {
    tile.outputs = outputs;
    tile.columns = (outputs - 1) * window.stride[1] + reach;
    return tile.bytes() <= bytes;
  };
  const int32_t width = static_cast<int32_t>(c.to.w < kMostOutputs ? c.to.w : kMostOutputs);
  if (!set_outputs(width)) {
    int32_t outputs = (width - 1) & ~1;
    while (outputs > 0 && !set_outputs(outputs)) outputs -= 2;
    if (outputs <= 0) tile.outputs = 0;
    return tile;
  }
  if (width < c.to.w) return tile;
  // Whole rows: as many as fit, in parts of about the same size.
  const int32_t all = static_cast<int32_t>((c.to.h + tile.rows_per_step() - 1) / tile.rows_per_step());
  while (tile.steps < all && tile.steps < kMostSteps) {
    ++tile.steps;
    if (tile.bytes() <= bytes) continue;
    --tile.steps;
    break;
  }
  const int32_t parts = (all + tile.steps - 1) / tile.steps;
  tile.steps = (all + parts - 1) / parts;
  return tile;
}

/// Runs in memory aligned to 16 bytes. Returns false if it is too small.
WICK_COLD bool run_in(const DepthwiseConv2d& c, LoadWeights load, int8_t* memory, int64_t bytes) {
  const Tile tile = plan(c, bytes);
  if (tile.outputs > 0) Depthwise(c, load, tile, memory).run();
  return tile.outputs > 0;
}

/// Runs on the stack, for programs whose scratch is too small.
WICK_COLD bool run_on_stack(const DepthwiseConv2d& c, LoadWeights load) {
  alignas(16) int8_t memory[kStackBytes];
  return run_in(c, load, memory, kStackBytes);
}

/// Loads weights of eight bits, [taps][outputs].
WICK_COLD int8x16_t load_bytes(const DepthwiseConv2d& c, int32_t tap, int32_t channel, int32_t count) {
  const int32_t multiplier = c.depth_multiplier;
  const int8_t* from = c.weights + tap * static_cast<int32_t>(c.to.c) + channel;
  if (multiplier == 1) return vldrbq_z_s8(from, vctp8q(static_cast<uint32_t>(count)));
  int8_t lanes[kLanes];
  for (int32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lane < count ? from[lane * multiplier] : int8_t{0};
  return vldrbq_s8(lanes);
}

/// Transposes weights [taps][outputs] to [outputs][taps].
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

/// Computes one input channel with several outputs as a convolution. Returns false if scratch cannot hold the weights
/// and that convolution's scratch.
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

bool convolve_depthwise(const DepthwiseConv2d& c, LoadWeights load) {
  if (c.to.n * c.to.h * c.to.w == 0) return true;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(c.scratch.data()), aligned = (begin + 15) & ~uintptr_t{15};
  const int64_t bytes = static_cast<int64_t>(c.scratch.size()) - static_cast<int64_t>(aligned - begin);
  return run_in(c, load, reinterpret_cast<int8_t*>(aligned), bytes) || run_on_stack(c, load);
}

namespace {

void convolve_channels(KernelContext& context, Span<EValue*> args, ImageSizes sizes, KernelFn reference) {
  DepthwiseConv2d c;
  if (!read_depthwise_conv2d(context, args, sizes, &c)) return;
  if (c.to.n * c.to.h * c.to.w == 0) return;
  if (!positions_fit_31_bits(c.window, c.from)) return reference(context, args);
  if (!run_as_convolution(c) && !convolve_depthwise(c, load_bytes)) reference(context, args);
}

}  // namespace

void quantized_depthwise_conv2d(KernelContext& context, Span<EValue*> args) {
  convolve_channels(context, args, ImageSizes::nchw, reference::quantized_depthwise_conv2d);
}

void quantized_depthwise_conv2d_nhwc(KernelContext& context, Span<EValue*> args) {
  convolve_channels(context, args, ImageSizes::nhwc, reference::quantized_depthwise_conv2d_nhwc);
}

}  // namespace wick::cortex_m::mve
