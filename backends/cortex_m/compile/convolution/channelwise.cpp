#include "backends/cortex_m/compile/convolution/channelwise.h"

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/convolution/convolution_calls.h"
#include "backends/cortex_m/compile/ops/int16/int16_convolution.h"
#include "backends/cortex_m/compile/requantization.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Sizes;
using compiler::Value;

namespace {

constexpr double kLargestWeight = 127, kLargestBias = 0x1p29;
constexpr double kFinestStep = 0x1p-10;  // scale of a sum, in steps of the result

// The scale of a channel's sum: its weight fits 7 bits, its bias 29, and it is not finer than the result needs.
double step_of_channel(const Channelwise& c, size_t channel) {
  const double of_factor = std::abs(c.factors[channel]) * c.input.scale / kLargestWeight;
  const double of_offset = c.offsets.empty() ? 0 : std::abs(c.offsets[channel]) / kLargestBias;
  return std::max({of_factor, of_offset, c.output.scale * kFinestStep * (c.wide ? kFinestStep : 1)});
}

int64_t weight_of(const Channelwise& c, size_t channel) {
  return static_cast<int64_t>(round_half_even(c.factors[channel] * c.input.scale / step_of_channel(c, channel)));
}

int64_t bias_of(const Channelwise& c, size_t channel) {
  return c.offsets.empty() ? 0
                           : static_cast<int64_t>(round_half_even(c.offsets[channel] / step_of_channel(c, channel)));
}

Sizes image_sizes(const Value& x) {
  int64_t pixels = 1;
  for (size_t d = 2; d < x.rank(); ++d) pixels *= x.sizes()[d].value();
  return {x.sizes()[0], x.sizes()[1], 1, pixels};
}

Convolution convolution_of(const Value& image, const Channelwise& c) {
  Convolution made;
  ConvolutionShape& s = made.shape;
  s.batch = batch_of(image);
  s.channels = s.outputs = made.groups = image.sizes()[1].value();
  for (size_t axis = 0; axis < 2; ++axis) {
    s.input[axis] = s.output[axis] = image.sizes()[2 + axis].value();
    s.kernel[axis] = s.stride[axis] = s.dilation[axis] = 1;
  }
  s.group_channels = 1;
  made.input = c.input;
  made.output = c.output;
  for (size_t channel = 0; channel < c.factors.size(); ++channel)
    made.filter.push_back(static_cast<int8_t>(weight_of(c, channel)));
  return made;
}

Requantization scale_of_channel(const Channelwise& c, size_t channel) {
  return requantization_of_sums(step_of_channel(c, channel) / c.output.scale).value_or(Requantization{});
}

}  // namespace

Refusal refuse_channelwise(const Value& x, const Channelwise& c) {
  if (x.rank() < 2) return {"wanted a batch and channels", "give it a dimension for the batch: x.unsqueeze(0)"};
  const int64_t reach = c.wide ? 32768 : 255;
  for (size_t channel = 0; channel < c.factors.size(); ++channel) {
    const bool finite = std::isfinite(c.factors[channel]) && (c.offsets.empty() || std::isfinite(c.offsets[channel]));
    const auto found = requantization_of_sums(finite ? step_of_channel(c, channel) / c.output.scale : 0);
    const bool fits = finite && found &&
                      keeps_32_bits(std::abs(weight_of(c, channel)) * reach + std::abs(bias_of(c, channel)), *found);
    if (!fits)
      return {"the scale of its result is too far from that of its input, times what its channels have", kNearerScale};
  }
  return {};
}

Value* channelwise(Builder& b, Value* x, const Channelwise& c, Isa isa) {
  const Sizes sizes = x->sizes();
  if (x->rank() != 4) x = b.reshape(x, image_sizes(*x));
  Convolution made = convolution_of(*x, c);
  Int16Sums sums;
  for (size_t channel = 0; channel < c.factors.size(); ++channel) {
    const Requantization scale = scale_of_channel(c, channel);
    sums.scales.push_back(scale);
    made.multipliers.push_back(scale.multiplier);
    made.shifts.push_back(scale.shift);
    if (c.offsets.empty()) continue;
    sums.bias.push_back(bias_of(c, channel));
    made.bias.push_back(static_cast<int32_t>(bias_of(c, channel)));
  }
  return b.reshape(c.wide ? int16_convolution(b, x, made, sums, isa) : convolution(b, x, made, isa), sizes);
}

}  // namespace wick::cortex_m
