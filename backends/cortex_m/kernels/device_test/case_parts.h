// Arguments that several operators share: windows, scales, biases, ranges. C++17, no heap.
#pragma once
#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

struct Clamp {
  int32_t min = INT8_MIN, max = INT8_MAX;
};

inline Clamp random_clamp(Stream& random) {
  Clamp clamp;
  if (random.one_in(3)) {
    clamp.min = random.in(INT8_MIN, INT8_MAX);
    clamp.max = random.in(clamp.min, INT8_MAX);
  }
  return clamp;
}

/// activation_min, activation_max.
inline void add_clamp(Call& call) {
  const Clamp clamp = random_clamp(call.random);
  call.add_int(clamp.min);
  call.add_int(clamp.max);
}

inline int32_t random_offset(Stream& random) {
  const int32_t kind = random.in(0, 3);
  return kind == 0 ? -127 : kind == 1 ? 128 : kind == 2 ? 0 : random.in(-127, 128);
}

inline int32_t random_multiplier(Stream& random) {
  return random.one_in(16) ? random.in(-INT32_MAX, INT32_MAX) : random.in(1 << 30, INT32_MAX);
}

/// A shift that brings sums of `terms` products of int8 into the range of int8; sometimes any shift.
inline int32_t random_shift(Stream& random, int32_t terms) {
  if (random.one_in(16)) return random.in(-31, 8);
  int32_t extra = 0;
  while (terms >> extra > 1) ++extra;
  return -6 - extra / 2 - random.in(0, 4);
}

inline int32_t random_channels(Stream& random, int32_t most) {
  const int32_t kind = random.in(0, 5);
  if (kind == 0) return random.in(1, 4);
  if (kind == 1 && most >= 16) return 16 * random.in(1, most / 16);
  return random.in(1, kind == 2 ? most : most < 20 ? most : 20);
}

/// Adds {first, weight} for `count` positions on `size` pixels; weights of `bits` bits, or 0 for none.
inline void add_taps(Call& call, int32_t count, int32_t size, int32_t bits) {
  Tensor& taps = call.add_int32(2 * count, 0, 0);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t first = call.random.in(0, size - 1);
    taps.as<int32_t>()[2 * i] = first;
    taps.as<int32_t>()[2 * i + 1] = bits == 0 || first + 1 == size ? 0 : call.random.in(0, 1 << bits);
  }
}

/// Adds no mask, or one that hides keys or adds to scores.
inline void add_mask(Call& call, int32_t batch, int32_t queries, int32_t keys) {
  Stream& random = call.random;
  const int32_t kind = random.in(0, 3);
  if (kind < 2) {
    call.add_none();
    return;
  }
  const int32_t rows = random.one_in(2) ? 1 : queries, batches = random.one_in(2) ? 1 : batch;
  Tensor& mask = call.add_tensor(kind == 2 ? DType::boolean : DType::i32, {batches, rows, keys});
  const bool none = random.one_in(8);
  for (int32_t i = 0; i < batches * rows * keys; ++i) {
    const bool hidden = none || random.one_in(3);
    if (kind == 2)
      mask.as<uint8_t>()[i] = hidden ? 0 : 1;
    else
      mask.as<int32_t>()[i] = hidden              ? INT32_MIN
                              : random.one_in(20) ? random.in(INT32_MIN, INT32_MAX)
                                                  : random.in(-100000, 100000);
  }
}

struct Geometry {
  int32_t batch, height, width, kernel[2], stride[2], padding[2], dilation[2], out[2];
  int32_t end_padding[2];
};

/// A window that fits at least once.
inline Geometry random_geometry(Stream& random, bool dilated) {
  Geometry g;
  do {
    g.batch = random.one_in(6) ? random.in(2, 3) : 1;
    const int32_t size[2] = {random.one_in(6) ? 1 : random.in(1, 9),
                             random.one_in(8) ? random.in(18, 50) : random.in(1, 17)};
    g.height = size[0];
    g.width = size[1];
    const bool pointwise = random.one_in(3), plain = random.one_in(3);
    for (size_t axis = 0; axis < 2; ++axis) {
      g.kernel[axis] = pointwise ? 1 : plain ? 3 : random.in(1, 5);
      g.stride[axis] = random.one_in(3) ? random.in(1, 3) : 1;
      g.padding[axis] = random.one_in(2) ? 0 : random.in(0, g.kernel[axis] - 1);
      g.dilation[axis] = dilated && random.one_in(6) ? random.in(1, 3) : 1;
      const int32_t room = size[axis] + 2 * g.padding[axis] - g.dilation[axis] * (g.kernel[axis] - 1) - 1;
      g.out[axis] = room < 0 ? 0 : room / g.stride[axis] + 1;
    }
  } while (g.out[0] == 0 || g.out[1] == 0);
  return g;
}

/// The same, with different padding at each end.
inline Geometry random_padded_geometry(Stream& random) {
  Geometry g = random_geometry(random, true);
  for (size_t axis = 0; axis < 2; ++axis) {
    const int32_t span = g.dilation[axis] * (g.kernel[axis] - 1) + 1, size = axis == 0 ? g.height : g.width;
    g.end_padding[axis] = random.one_in(3) ? 0 : random.in(0, random.one_in(8) ? span + 2 : span);
    const int32_t room = size + g.padding[axis] + g.end_padding[axis] - span;
    if (room < 0) return random_padded_geometry(random);
    g.out[axis] = room / g.stride[axis] + 1;
  }
  return g;
}
inline void add_paddings(Call& call, const Geometry& g) {
  call.add_ints({g.padding[0], g.padding[1], g.end_padding[0], g.end_padding[1]});
}

inline void add_pair(Call& call, const int32_t pair[2]) { call.add_ints({pair[0], pair[1]}); }

/// Adds a multiplier and a shift for each channel.
inline void add_scales(Call& call, int32_t channels, int32_t terms) {
  Tensor& multipliers = call.add_int32(channels, 0, 0);
  for (int32_t c = 0; c < channels; ++c) multipliers.as<int32_t>()[c] = random_multiplier(call.random);
  Tensor& shifts = call.add_int32(channels, 0, 0);
  for (int32_t c = 0; c < channels; ++c) shifts.as<int32_t>()[c] = random_shift(call.random, terms);
}

/// input_offset, output_offset, multipliers, shifts, activation_min, activation_max.
inline void add_channel_quantization(Call& call, int32_t channels, int32_t terms) {
  call.add_int(random_offset(call.random));
  call.add_int(call.random.in(INT8_MIN, INT8_MAX));
  add_scales(call, channels, terms);
  const Clamp clamp = random_clamp(call.random);
  call.add_int(clamp.min);
  call.add_int(clamp.max);
}

inline void add_bias(Call& call, int32_t channels) {
  if (call.random.one_in(4)) return call.add_none();
  call.add_int32(channels, -100000, 100000);
}

inline int32_t round_up(int32_t value, int32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// A number of channels that is smaller the more terms a position has.
inline int32_t channels_for(Stream& random, int32_t most, int32_t positions, int32_t terms) {
  constexpr int32_t kMostProducts = 40000;
  const int32_t fit = kMostProducts / (positions * terms);
  return random_channels(random, fit < 1 ? 1 : fit < most ? fit : most);
}

/// Bytes of scratch: as many as stock's programs have, or the least that is accepted.
inline int32_t convolution_scratch(Stream& random, int32_t column) {
  return random.one_in(4) ? 4 * round_up(column, 4) : 4 * round_up(column, 16);
}

inline void add_scale(Call& call, int32_t terms) {
  call.add_int(random_multiplier(call.random));
  call.add_int(random_shift(call.random, terms));
}

}  // namespace wick::cortex_m
