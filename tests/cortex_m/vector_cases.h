// Seeded cases for vectors of CMSIS-NN: a seed alone decides shapes, parameters and elements, so that the program that
// calls CMSIS-NN (cmsis_nn_lab.cpp) and the test that calls Wick's kernels see the same. Elements are in the order of
// memory: NHWC for activations. C++20, no other header of Wick.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

namespace wick::vectors {

/// splitmix64.
class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) {}
  uint64_t word() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  int32_t in(int32_t low, int32_t high) {  // both included
    return static_cast<int32_t>(low + static_cast<int64_t>(word() % static_cast<uint64_t>(int64_t{high} - low + 1)));
  }
  std::vector<int8_t> bytes(int64_t count) {
    std::vector<int8_t> values(static_cast<size_t>(count));
    const bool ends = in(0, 9) == 0;  // only -128 and 127
    for (int8_t& value : values) value = static_cast<int8_t>(ends ? (in(0, 1) ? -128 : 127) : in(-128, 127));
    return values;
  }

 private:
  uint64_t state_;
};

/// `average` and `maximum` are pools. Those from `elementwise_minimum` to `transpose` have no seeded cases, only
/// shapes.
enum class Kind {
  convolution,
  depthwise,
  transposed,
  linear,
  matmul,
  add,
  mul,
  softmax,
  average,
  maximum,
  elementwise_minimum,
  elementwise_maximum,
  pad,
  transpose,
  convolution_int4,
  depthwise_int4,
  linear_int4
};

/// The kind of the same cases with weights of int8.
inline Kind with_whole_weights(Kind kind) {
  switch (kind) {
    case Kind::convolution_int4: return Kind::convolution;
    case Kind::depthwise_int4: return Kind::depthwise;
    case Kind::linear_int4: return Kind::linear;
    default: return kind;
  }
}

struct VectorCase {
  int32_t batch, height, width, channels, outputs, groups, out_height, out_width;  // linear, matmul: height x channels
  int32_t kernel[2], stride[2], padding[2], dilation[2];
  int32_t input_offset, filter_offset, output_offset, min, max;
  int32_t numbers[16];  // of a shape; all that the kinds from `elementwise_minimum` on have
  std::vector<int8_t> x, w;
  std::vector<int32_t> bias, multipliers, shifts;
};

/// Scales under which a sum of `terms` products of int8 has the size of int8; sometimes any.
inline void add_scale(Stream& stream, int32_t terms, VectorCase* c) {
  static constexpr int32_t kBits[] = {0, 1, 1, 2, 2, 3, 3, 4};
  int32_t extra = 0;
  while ((terms >> extra) > 1) ++extra;
  c->multipliers.push_back(stream.in(1 << 30, INT32_MAX));
  c->shifts.push_back(-6 - extra / 2 - kBits[stream.in(0, 7)]);
  if (stream.in(0, 15) == 0) c->multipliers.back() = stream.in(-INT32_MAX, INT32_MAX);
  if (stream.in(0, 15) == 0) c->shifts.back() = stream.in(-31, 3);
}

inline int32_t positions(const VectorCase& c, int axis) {
  const int32_t size = axis == 0 ? c.height : c.width, span = c.dilation[axis] * (c.kernel[axis] - 1) + 1;
  const int32_t room = size + 2 * c.padding[axis] - span;
  return room < 0 ? 0 : room / c.stride[axis] + 1;
}

inline void pick_window(Stream& stream, Kind kind, VectorCase* c) {
  const bool pool = kind == Kind::average || kind == Kind::maximum;
  for (int axis = 0; axis < 2; ++axis) {
    c->kernel[axis] = stream.in(0, 3) == 0 ? 1 : stream.in(1, 5);
    c->stride[axis] = stream.in(1, 3);
    c->padding[axis] = stream.in(0, 1) ? 0 : stream.in(0, c->kernel[axis] - 1);
    c->dilation[axis] = pool || kind == Kind::transposed || stream.in(0, 3) ? 1 : stream.in(1, 2);
  }
  c->out_height = positions(*c, 0);
  c->out_width = positions(*c, 1);
  if (kind == Kind::transposed) {
    // CMSIS-NN writes behind its output where stride and padding together exceed the kernel.
    for (int axis = 0; axis < 2; ++axis) {
      c->stride[axis] = c->stride[axis] < c->kernel[axis] ? c->stride[axis] : c->kernel[axis];
      const int32_t room = c->kernel[axis] - c->stride[axis];
      c->padding[axis] = c->padding[axis] < room ? c->padding[axis] : room;
    }
    c->out_height = (c->height - 1) * c->stride[0] - 2 * c->padding[0] + c->kernel[0];
    c->out_width = (c->width - 1) * c->stride[1] - 2 * c->padding[1] + c->kernel[1];
  }
}

inline void pick_sizes(Stream& stream, Kind kind, VectorCase* c) {
  c->batch = stream.in(1, 2);
  c->height = stream.in(0, 5) == 0 ? 1 : stream.in(1, 10);
  c->width = stream.in(1, 10);
  c->groups = kind == Kind::convolution && stream.in(0, 3) == 0 ? stream.in(2, 3) : 1;
  c->channels = c->groups * stream.in(1, stream.in(0, 3) ? 9 : 24);
  c->outputs = c->groups * stream.in(1, 9);
  if (kind == Kind::depthwise) c->outputs = c->channels * (stream.in(0, 2) ? 1 : stream.in(1, 3));
  if (kind == Kind::average || kind == Kind::maximum) c->outputs = c->channels;
}

/// Offsets, scales and elements for the sizes and the window of a case.
inline void fill(Stream& stream, Kind kind, VectorCase* filled) {
  VectorCase& c = *filled;
  const int32_t taps = c.kernel[0] * c.kernel[1];
  c.input_offset = stream.in(-127, 128);
  c.filter_offset = stream.in(0, 2) == 0 ? stream.in(-127, 128) : 0;
  c.output_offset = stream.in(-128, 127);
  c.min = stream.in(0, 1) ? -128 : stream.in(-128, 0);
  c.max = stream.in(0, 1) ? 127 : stream.in(1, 127);
  int64_t weights = int64_t{c.outputs} * taps * (c.channels / c.groups),
          terms = int64_t{taps} * (c.channels / c.groups);
  if (kind == Kind::depthwise) weights = int64_t{c.outputs} * taps, terms = taps;
  if (kind == Kind::linear) weights = int64_t{c.outputs} * c.channels, terms = c.channels;
  if (kind == Kind::matmul) weights = int64_t{c.batch} * c.outputs * c.channels, terms = c.channels;
  if (kind == Kind::add || kind == Kind::mul) weights = int64_t{c.batch} * c.height * c.width * c.channels;
  const bool flat = kind == Kind::linear || kind == Kind::matmul;
  c.x = stream.bytes(int64_t{c.batch} * c.height * (flat ? 1 : c.width) * c.channels);
  c.w = stream.bytes(weights);
  for (int32_t o = 0; o < (c.outputs > 3 ? c.outputs : 3); ++o) {
    c.bias.push_back(stream.in(-20000, 20000));
    add_scale(stream, static_cast<int32_t>(terms), &c);
  }
  if (kind == Kind::add) {  // both inputs are scaled down by at most 16, and the sum by about 2^19
    for (int i = 0; i < 2; ++i) c.multipliers[i] = stream.in(1 << 30, INT32_MAX), c.shifts[i] = -stream.in(0, 4);
    c.shifts[2] = -stream.in(16, 21);
  }
  if (kind == Kind::softmax) c.multipliers[0] = stream.in(1 << 30, INT32_MAX), c.shifts[0] = stream.in(15, 26);
}

/// Weights of four bits, which have no zero point.
inline void narrow_weights(VectorCase* c) {
  for (int8_t& weight : c->w) weight = static_cast<int8_t>(weight >> 4);
  c->filter_offset = 0;
}

/// With weights of four bits CMSIS-NN has no groups, and its generic depthwise kernel is wrong for some odd channels.
inline bool has_form(Kind kind, const VectorCase& c) {
  return with_whole_weights(kind) == kind || (c.groups == 1 && (kind != Kind::depthwise_int4 || c.channels % 2 == 0));
}

inline VectorCase make_case(Kind kind, uint64_t seed) {
  Stream stream(seed * 16 + static_cast<uint64_t>(kind));
  VectorCase c{};
  const Kind whole = with_whole_weights(kind);
  do {
    pick_sizes(stream, whole, &c);
    pick_window(stream, whole, &c);
  } while (c.out_height <= 0 || c.out_width <= 0 || !has_form(kind, c));
  fill(stream, whole, &c);
  if (whole != kind) narrow_weights(&c);
  return c;
}

/// The shape of one of CMSIS-NN's own tests: the sizes of VectorCase (n, h, w, c, outputs, groups), then kernel,
/// stride, padding, dilation and output as height, width. Four sizes and, from the fifth number on, for
/// elementwise_minimum and elementwise_maximum the sizes of the second operand, for pad what is added before and after
/// each dimension, and the value, for transpose the permutation of the dimensions whose size is not 0.
struct Shape {
  template <typename... Sizes>
  constexpr explicit Shape(Sizes... all) : sizes{all...} {
    static_assert(sizeof...(all) == 16);
  }
  int32_t sizes[16];
};

/// Of four sizes, where 0 stands for a dimension that is not there.
inline int64_t count_elements(const int32_t* sizes) {
  int64_t count = 1;
  for (int d = 0; d < 4; ++d) count *= sizes[d] == 0 ? 1 : sizes[d];
  return count;
}

inline VectorCase make_case(Kind kind, const Shape& shape, uint64_t seed) {
  const int32_t* s = shape.sizes;
  VectorCase c{};
  for (int i = 0; i < 16; ++i) c.numbers[i] = s[i];
  if (kind >= Kind::elementwise_minimum && kind <= Kind::transpose) {
    Stream stream(seed);
    c.x = stream.bytes(count_elements(s));
    if (kind < Kind::pad) c.w = stream.bytes(count_elements(s + 4));
    return c;
  }
  c.batch = s[0], c.height = s[1], c.width = s[2], c.channels = s[3], c.outputs = s[4], c.groups = s[5];
  for (int axis = 0; axis < 2; ++axis) {
    c.kernel[axis] = s[6 + axis], c.stride[axis] = s[8 + axis];
    c.padding[axis] = s[10 + axis], c.dilation[axis] = s[12 + axis];
  }
  c.out_height = s[14], c.out_width = s[15];
  Stream stream(seed);
  fill(stream, with_whole_weights(kind), &c);
  if (with_whole_weights(kind) != kind) narrow_weights(&c);
  return c;
}

/// What lies behind the input for the last position of the window; the padding before it, if that is enough.
inline int32_t end_padding(const VectorCase& c, int axis) {
  const int32_t size = axis == 0 ? c.height : c.width, out = axis == 0 ? c.out_height : c.out_width;
  const int32_t last = (out - 1) * c.stride[axis] + c.dilation[axis] * (c.kernel[axis] - 1) + 1 - c.padding[axis];
  return positions(c, axis) == out ? c.padding[axis] : last - size > 0 ? last - size : 0;
}

/// Whether an axis of a transposed convolution has the size that kernel, stride and padding give, and CMSIS-NN writes
/// all of it without going beyond its output.
inline bool has_stated_size(const VectorCase& c, int axis) {
  const int32_t size = axis == 0 ? c.height : c.width, out = axis == 0 ? c.out_height : c.out_width;
  return c.stride[axis] + c.padding[axis] <= c.kernel[axis] &&
         out == (size - 1) * c.stride[axis] - 2 * c.padding[axis] + c.kernel[axis];
}

/// Of softmax: what stock computes from the shift.
inline int32_t diff_min(const VectorCase& c) { return -static_cast<int32_t>((int64_t{31} << 26) >> c.shifts[0]); }

/// 64-bit FNV-1a.
inline uint64_t hash(const std::vector<int8_t>& bytes) {
  uint64_t value = 0xcbf29ce484222325u;
  for (const int8_t byte : bytes) value = (value ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return value;
}

}  // namespace wick::vectors
