// Chooses the form of a convolution on MVE by estimating the instructions of each form. The kernel chooses by these
// estimates, and the compiler predicts costs with them. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "backends/cortex_m/kernels/seldom.h"

namespace wick::cortex_m {

/// One axis of a convolution.
struct WindowAxis {
  int32_t from, to, kernel, stride, padding, dilation;
};

/// Positions along an axis whose windows have the same taps on the input.
struct TapSpan {
  int32_t begin, end;  // positions
  int32_t first_tap, taps_end;
  int32_t size() const { return end - begin; }
  int32_t taps() const { return taps_end - first_tap; }
};

inline TapSpan taps_at(const WindowAxis& axis, int32_t position) {
  const int32_t at = position * axis.stride - axis.padding, dilation = axis.dilation;
  const int32_t first = at < 0 ? (dilation - 1 - at) / dilation : 0;
  const int32_t end = at >= axis.from ? 0 : (axis.from - 1 - at) / dilation + 1;
  if (first >= axis.kernel || end <= first) return {position, position + 1, 0, 0};
  return {position, position + 1, first, end < axis.kernel ? end : axis.kernel};
}

/// The span that begins at position `begin`. Requires: begin < axis.to.
inline TapSpan span_at(const WindowAxis& axis, int32_t begin) {
  TapSpan span = taps_at(axis, begin);
  if (span.taps() == axis.kernel) {
    // The span has all taps, up to the last window that ends on the input.
    const int32_t last = (axis.from - 1 - (axis.kernel - 1) * axis.dilation + axis.padding) / axis.stride;
    span.end = last < axis.to ? last + 1 : axis.to;
    return span;
  }
  for (; span.end < axis.to; ++span.end) {
    const TapSpan next = taps_at(axis, span.end);
    if (next.first_tap != span.first_tap || next.taps_end != span.taps_end) break;
  }
  return span;
}

/// Sums over the spans of an axis.
struct SpanCounts {
  float spans = 0, taps = 0;  // each span counts once
  float position_taps = 0;    // each position counts
  float vectors = 0;          // of 16 terms, in a line; each span counts once
  float position_blocks = 0;  // of 32 terms, in a line; each position counts

  WICK_COLD SpanCounts(const WindowAxis& axis, int32_t inputs) {
    constexpr int kMost = 1000;  // different spans; no window of a sane program has as many
    int32_t begin = 0;
    for (int i = 0; i < kMost && begin < axis.to; ++i) {
      const TapSpan span = span_at(axis, begin);
      const int32_t terms = span.taps() * inputs;
      const float size = static_cast<float>(span.size()), blocks = static_cast<float>((terms + 31) / 32);
      spans += 1;
      taps += static_cast<float>(span.taps());
      position_taps += size * static_cast<float>(span.taps());
      vectors += static_cast<float>((terms + 15) / 16);
      position_blocks += size * blocks;
      begin = span.end;
    }
  }
};

/// The properties of a convolution that decide its form on MVE.
class ConvolutionForms {
 public:
  /// `height` and `width` are axes, `inputs` and `outputs` channels of a group, `scratch` bytes. Requires: the terms of
  /// a window fit 31 bits, and so do sums of three positions (near_positions.h).
  ConvolutionForms(const WindowAxis& height, const WindowAxis& width, int32_t batch, int32_t groups, int32_t inputs,
                   int32_t outputs, int32_t scratch)
      : axes_{height, width},
        inputs_(inputs),
        scratch_(scratch),
        terms_(height.kernel * width.kernel * inputs),
        grouped_(groups > 1),
        groups_(static_cast<float>(groups)),
        outputs_(static_cast<float>(outputs)),
        positions_(static_cast<float>(batch) * static_cast<float>(height.to) * static_cast<float>(width.to)),
        batch_(static_cast<float>(batch)) {}

  const WindowAxis& axis(size_t d) const { return axes_[d]; }
  int32_t scratch() const { return scratch_; }
  /// Whether every form copies windows: the taps of a line are not contiguous, or lines are so short that a vector
  /// would be mostly empty.
  bool copies_windows() const {
    const bool contiguous = axes_[1].kernel == 1 || (!grouped_ && axes_[1].dilation == 1);
    return !contiguous || (axes_[0].kernel > 1 && axes_[1].kernel * inputs_ < kLeastLineBytes);
  }
  /// Bytes of a tile of windows on the stack, for programs whose scratch is smaller.
  static constexpr int32_t kStackBytes = 320;
  bool copies_to_stack() const { return copies_windows() && terms_ <= kStackBytes / 4 && scratch_ < kStackBytes; }

  /// Whether scratch holds a tile of three windows, plus one window unless all copies are whole vectors.
  bool has_room_for_tiles() const {
    const int64_t vectors = (int64_t{terms_} + 15) / 16;
    return terms_ > 0 && scratch_ >= kTileRows * vectors * 16 + (copies_vectors() ? 0 : terms_);
  }
  bool copies_vectors() const { return inputs_ % 16 == 0; }
  WICK_COLD bool takes_tiles() const { return has_room_for_tiles() && tile_instructions() < span_instructions(); }
  float instructions() const { return takes_tiles() ? tile_instructions() : span_instructions(); }

 private:
  static constexpr int32_t kLeastLineBytes = 9, kTileRows = 3;

  static float pieces(float count, float of) {
    constexpr float kMost = 1 << 30;
    const float parts = count / of, whole = parts < kMost ? static_cast<float>(static_cast<int32_t>(parts)) : parts;
    return whole < parts ? whole + 1 : whole;
  }

  /// gemm_tile.h: three windows and two channels at a time.
  WICK_COLD float tile_instructions() const {
    const float vectors = pieces(static_cast<float>(terms_), 16), tiles = pieces(positions_, kTileRows);
    const float passes = pieces(outputs_, 64), lines = static_cast<float>(axes_[0].kernel);
    const float pairs = tiles * pieces(outputs_, 2);
    const float window = 58 * lines + (copies_vectors() ? 2.5F : 7.5F) * vectors + tap_copies();
    return 2000 + groups_ * (outputs_ * (74 + 3 * vectors) + pairs * (9.5F + 11.8F * vectors) + tiles * passes * 205 +
                             positions_ * (outputs_ * 2.8F + passes * window));
  }
  /// gemm.h: two windows and three channels at a time, separately for each span of positions.
  WICK_COLD float span_instructions() const {
    const float triples = pieces(outputs_, 3), passes = pieces(outputs_, 33);
    if (copies_windows()) {
      const float bytes = static_cast<float>(copies_to_stack() ? kStackBytes : scratch_);
      const float room = bytes / static_cast<float>(terms_);
      const float runs = pieces(positions_, room < 1 ? 1 : room > 36 ? 36 : room);
      const float blocks = pieces(static_cast<float>(terms_), 32);
      const float window = 58 * static_cast<float>(axes_[0].kernel) + tap_copies();
      return 2200 + groups_ * (outputs_ * 104 + runs * triples * 230 + positions_ * triples * (8 + 9 * blocks) +
                               positions_ * passes * window);
    }
    const SpanCounts y(axes_[0], inputs_), x(axes_[1], inputs_);
    const float spans = y.spans * x.spans;
    const float initial = outputs_ * (53 * spans + 25 * y.taps * x.spans + 8.5F * y.taps * x.vectors);
    const float sums = 110 * batch_ * spans + 11 * batch_ * y.position_taps * x.position_blocks + 22 * positions_;
    return 3600 + groups_ * (initial + triples * sums + 275 * spans * passes);
  }
  /// Instructions to copy the taps of a window one by one; 0 if they are contiguous.
  float tap_copies() const {
    const bool apart = grouped_ || axes_[1].dilation > 1;
    return apart ? 18 * static_cast<float>(axes_[0].kernel) * static_cast<float>(axes_[1].kernel) : 0;
  }

  WindowAxis axes_[2];
  int32_t inputs_;
  int32_t scratch_, terms_;
  bool grouped_;
  float groups_, outputs_, positions_, batch_;
};

}  // namespace wick::cortex_m
