#include "backends/cortex_m/compile/convolution/transposed_phases.h"

#include <algorithm>

#include "backends/cortex_m/compile/convolution/convolution_calls.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Ints;
using compiler::Value;

namespace {

// One axis. Output position t - padding, with t = q * stride + phase, is the sum over m of tap phase + m * stride of
// the dilated kernel times input pixel q - m.
struct Phases {
  int64_t stride, taps;        // taps of one phase
  int64_t before, after;       // padding of the input; negative: pixels are cut off
  int64_t positions, dropped;  // values of q; results before the first position
};

Phases phases_of(const Convolution& c, size_t axis) {
  const ConvolutionShape& s = c.shape;
  const int64_t stride = s.stride[axis], span = s.dilation[axis] * (s.kernel[axis] - 1) + 1;
  const int64_t taps = (span + stride - 1) / stride, first = s.padding[axis] / stride;
  const int64_t last = (s.padding[axis] + s.output[axis] - 1) / stride;
  return {
      stride, taps, taps - 1 - first, last - (s.input[axis] - 1), last - first + 1, s.padding[axis] - first * stride};
}

// The kernel's tap at position `at` of the filter of `phase`, which is reversed; -1: there is none.
int64_t tap_of(const Convolution& c, const Phases& phases, size_t axis, int64_t phase, int64_t at) {
  const int64_t t = phase + phases.stride * (phases.taps - 1 - at), dilation = c.shape.dilation[axis];
  return t % dilation == 0 && t / dilation < c.shape.kernel[axis] ? t / dilation : -1;
}

// The filter of all phases: [groups * phases * O / groups, taps, taps, I].
std::vector<int8_t> phase_filter(const Convolution& c, const Phases phases[2]) {
  const auto inputs = static_cast<size_t>(c.shape.group_channels);
  std::vector<int8_t> filter;
  const int64_t count = phases[0].stride * phases[1].stride, of_group = c.shape.outputs / c.groups;
  for (int64_t row = 0; row < count * c.shape.outputs; ++row) {
    const int64_t phase = row / of_group % count, o = row / of_group / count * of_group + row % of_group;
    for (int64_t at = 0; at < phases[0].taps * phases[1].taps; ++at) {
      const int64_t y = tap_of(c, phases[0], 0, phase / phases[1].stride, at / phases[1].taps);
      const int64_t x = tap_of(c, phases[1], 1, phase % phases[1].stride, at % phases[1].taps);
      const int64_t tap = (o * c.shape.kernel[0] + y) * c.shape.kernel[1] + x;
      for (size_t i = 0; i < inputs; ++i)
        filter.push_back(y < 0 || x < 0 ? int8_t{0} : c.filter[static_cast<size_t>(tap) * inputs + i]);
    }
  }
  return filter;
}

// The plain convolution that computes all phases.
Convolution phase_convolution(const Convolution& c, const Phases phases[2]) {
  Convolution plain = c;
  const int64_t count = phases[0].stride * phases[1].stride;
  plain.transposed = false;
  plain.filter = phase_filter(c, phases);
  plain.bias = repeated(c.bias, c.groups, count);
  plain.multipliers = repeated(c.multipliers, c.groups, count);
  plain.shifts = repeated(c.shifts, c.groups, count);
  ConvolutionShape& s = plain.shape;
  s.outputs *= count;
  for (size_t axis = 0; axis < 2; ++axis) {
    s.kernel[axis] = phases[axis].taps;
    s.stride[axis] = s.dilation[axis] = 1;
    s.padding[axis] = std::max<int64_t>(0, std::min(phases[axis].before, phases[axis].after));
    s.input[axis] += phases[axis].before + phases[axis].after - 2 * s.padding[axis];
    s.output[axis] = phases[axis].positions;
  }
  return plain;
}

// The input with the part of its padding that the convolution does not add by itself.
Value* padded(Builder& b, Value* x, const Phases phases[2], const Convolution& plain) {
  int64_t before[4] = {0, 0, 0, 0}, after[4] = {0, 0, 0, 0};  // N, H, W, C
  for (size_t axis = 0; axis < 2; ++axis) {
    before[1 + axis] = phases[axis].before - plain.shape.padding[axis];
    after[1 + axis] = phases[axis].after - plain.shape.padding[axis];
    const int64_t size = x->sizes()[2 + axis].value();
    const int64_t from = std::max<int64_t>(0, -before[1 + axis]), to = size - std::max<int64_t>(0, -after[1 + axis]);
    if (from != 0 || to != size) x = b.slice(x, static_cast<int64_t>(2 + axis), from, to);
  }
  const auto positive = [](const int64_t list[4]) {
    Ints out;
    for (size_t i = 0; i < 4; ++i) out.push_back(std::max<int64_t>(0, list[i]));
    return out;
  };
  const Ints pre = positive(before), post = positive(after), none = {0, 0, 0, 0};
  if (pre == none && post == none) return x;
  if (x->dtype() == DType::i16)
    return b.call("aten.constant_pad_nd", {x, Ints{pre[2], post[2], pre[1], post[1]}, int64_t{plain.input.zero}});
  return b.call("cortex_m.pad", {x, pre, post, int64_t{plain.input.zero}});
}

// [N, groups * sh * sw * O / groups, H, W] -> [N, O, H * sh, W * sw], without rows and columns beyond the result. In
// channels-last layout that is one permute; with one group it moves runs of sw * O elements.
Value* woven(Builder& b, Value* y, const Convolution& c, const Phases phases[2]) {
  const compiler::Sym batch = y->sizes()[0];
  const ConvolutionShape& s = c.shape;
  const int64_t sh = phases[0].stride, sw = phases[1].stride, h = phases[0].positions, w = phases[1].positions;
  if (sh * sw != 1) {
    const compiler::Sym lines = batch * h;
    const int64_t of_group = s.outputs / c.groups;
    y = b.permute(y, {0, 2, 3, 1});
    y = c.groups == 1 ? b.permute(b.reshape(y, {lines, w, sh, sw * of_group}), {0, 2, 1, 3})
                      : b.permute(b.reshape(y, {lines, w, c.groups, sh, sw, of_group}), {0, 3, 1, 4, 2, 5});
    y = b.permute(b.reshape(y, {batch, h * sh, w * sw, s.outputs}), {0, 3, 1, 2});
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t from = phases[axis].dropped, to = from + s.output[axis];
    if (from != 0 || to != phases[axis].positions * phases[axis].stride)
      y = b.slice(y, static_cast<int64_t>(2 + axis), from, to);
  }
  return y;
}

}  // namespace

bool are_phases_smaller_packed(const Convolution& c, bool has_whole_form) {
  const Phases phases[2] = {phases_of(c, 0), phases_of(c, 1)};
  const int64_t rows = c.shape.outputs * phases[0].stride * phases[1].stride;
  const int64_t terms = phases[0].taps * phases[1].taps * c.shape.group_channels;
  constexpr int64_t kBytesOfOutput = 3 * sizeof(int32_t);  // bias, multiplier, shift
  const int64_t packed = packed_bytes(c.is_depthwise(), rows, terms);
  if (!has_whole_form) return packed < rows * terms;
  return packed + rows * kBytesOfOutput < static_cast<int64_t>(c.filter.size()) + c.shape.outputs * kBytesOfOutput;
}

Value* by_phases(Builder& b, Value* x, const Convolution& c,
                 const std::function<Value*(Value* padded, const Convolution& plain)>& compute) {
  const Phases phases[2] = {phases_of(c, 0), phases_of(c, 1)};
  const Convolution all = phase_convolution(c, phases);
  return woven(b, compute(padded(b, x, phases, all), all), c, phases);
}

}  // namespace wick::cortex_m
