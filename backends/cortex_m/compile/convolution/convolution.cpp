#include "backends/cortex_m/compile/convolution/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/centered_weights.h"
#include "backends/cortex_m/compile/requantization.h"
#include "compiler/layout/constant_elements.h"

namespace wick::cortex_m {

using compiler::Node;
using compiler::Quantization;
using compiler::Value;

namespace {

// A relative tolerance: a product of two scales that is stored as f32 has a smaller error.
constexpr double kSameStep = 1e-6;

// The entry for an axis (height, width) of a list of one or two numbers. Rows have no height: `none` stands for it.
int64_t along_axis(const std::vector<int64_t>& list, size_t axis, bool rows, int64_t none) {
  if (rows && axis == 0) return none;
  return list.size() == 1 ? list[0] : list[rows ? axis - 1 : axis];
}

Refusal read_shape(const Node& node, Convolution* c) {
  const Value *x = node.tensor("input"), *weight = node.tensor("weight"), *y = node.result();
  if (x->rank() != 3 && x->rank() != 4)
    return {fmt::format("its input has rank {}; kernels take images and rows", x->rank()),
            "give it a batch, and compute other dimensions as several convolutions of images whose sum is the result"};
  c->rows = x->rank() == 3;
  c->transposed = node.boolean("transposed");
  c->groups = node.static_integer("groups");
  ConvolutionShape& s = c->shape;
  const auto size = [](const Value* value, size_t dim) { return value->sizes()[dim].value(); };
  s.batch = batch_of(*x);
  s.channels = size(x, 1);
  s.outputs = size(y, 1);
  s.group_channels = s.channels / c->groups;
  for (size_t axis = 0; axis < 2; ++axis) {
    const bool flat = c->rows && axis == 0;
    const size_t dim = 2 + axis - (c->rows ? 1 : 0);
    s.input[axis] = flat ? 1 : size(x, dim);
    s.output[axis] = flat ? 1 : size(y, dim);
    s.kernel[axis] = flat ? 1 : size(weight, dim);
    s.stride[axis] = along_axis(node.static_ints("stride"), axis, c->rows, 1);
    s.padding[axis] = along_axis(node.static_ints("padding"), axis, c->rows, 0);
    s.dilation[axis] = along_axis(node.static_ints("dilation"), axis, c->rows, 1);
    c->output_padding[axis] = along_axis(node.static_ints("output_padding"), axis, c->rows, 0);
  }
  return {};
}

Refusal refuse_filter(const Value& weight, bool transposed) {
  const auto& q = weight.tensor().quantization;
  if (!weight.is_constant()) return {"its weights are computed", kConstantWeights};
  if (!q || weight.dtype() != DType::i8 || q->at_run_time || q->real != DType::f32)
    return {fmt::format("its weights are not quantized to int8: {}", to_text(weight.type)),
            "annotate the weights in the quantizer: int8, per tensor or per channel along their outputs"};
  if (!q->is_per_tensor() && q->channel_dim() != size_t{transposed ? 1u : 0u})
    return {fmt::format("its weights do not have one scale, or one for each output: {}", to_text(weight.type)),
            kScalesOfOutputs};
  return refuse_zero_points(*q);
}

// The filter as [outputs, taps, group_channels], from [outputs, group_channels, taps], or if it is transposed from
// [channels, outputs / groups, taps].
std::vector<int8_t> filter_of(const Value& weight, const Convolution& c) {
  const std::vector<int8_t> from = compiler::layout::elements_of<int8_t>(weight);
  const auto inputs = static_cast<size_t>(c.shape.group_channels), outputs = static_cast<size_t>(c.shape.outputs);
  const size_t taps = c.taps(), group_outputs = outputs / static_cast<size_t>(c.groups);
  std::vector<int8_t> to(from.size());
  for (size_t o = 0; o < outputs; ++o) {
    const size_t first = o / group_outputs * inputs;  // first channel of the group
    for (size_t i = 0; i < inputs; ++i) {
      const size_t row = c.transposed ? (first + i) * group_outputs + o % group_outputs : o * inputs + i;
      for (size_t tap = 0; tap < taps; ++tap) to[(o * taps + tap) * inputs + i] = from[row * taps + tap];
    }
  }
  return to;
}

// The channel of the weights' quantization that belongs to an output.
size_t channel_of(const Convolution& c, size_t output) {
  return c.transposed ? output % static_cast<size_t>(c.shape.outputs / c.groups) : output;
}

void center_filter(const Quantization& q, Convolution* c) {
  std::vector<double> zeros;
  for (size_t o = 0; o < static_cast<size_t>(c->shape.outputs); ++o) zeros.push_back(zero_of(q, channel_of(*c, o)));
  if (std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; })) return;
  CenteredWeights centered = centered_weights(c->filter, static_cast<size_t>(c->shape.group_channels), zeros);
  c->filter = std::move(centered.elements);
  c->copies = centered.copies;
  c->shape.channels *= centered.copies;
  c->shape.group_channels *= centered.copies;
}

// An upper bound of the sum of `output`, for input elements in their range.
int64_t largest_convolution_sum(const Convolution& c, size_t output) {
  const int64_t reach = std::max(std::abs(c.input.min - c.input.zero), std::abs(c.input.max - c.input.zero));
  const size_t count = c.filter.size() / static_cast<size_t>(c.shape.outputs);
  int64_t total = 0;
  for (size_t k = 0; k < count; ++k) total += std::abs(int64_t{c.filter[output * count + k]});
  return total * reach + (c.bias.empty() ? 0 : std::abs(int64_t{c.bias[output]}));
}

Refusal read_sums(const Node& node, Convolution* c) {
  const Value* bias = node.optional_tensor("bias");
  const auto outputs = static_cast<size_t>(c->shape.outputs);
  const std::vector<double> steps = accumulator_steps(node, *c);
  Refusal reason = bias ? quantize_bias(*bias, outputs, steps, &c->bias) : Refusal{};
  if (!reason.empty()) return reason;
  for (size_t o = 0; o < outputs; ++o) {
    const auto found = requantization_of_sums(steps[o] / c->output.scale);
    if (!found) return {"the scale of its result is too far from those of input and weights", kNearerScale};
    if (!keeps_32_bits(largest_convolution_sum(*c, o), *found)) return {"its sums could exceed 32 bits", kSmallerSums};
    c->multipliers.push_back(found->multiplier);
    c->shifts.push_back(found->shift);
  }
  return {};
}

double step_of_output(const std::vector<double>& steps, size_t output) { return steps[steps.size() == 1 ? 0 : output]; }

// Whether the scale of a bias is that of the accumulator.
bool has_steps(const Value& bias, const std::vector<double>& steps) {
  const auto& q = bias.tensor().quantization;
  if (!q || bias.dtype() != DType::i32) return false;
  for (size_t o = 0; o < static_cast<size_t>(bias.sizes()[0].value()); ++o) {
    if (zero_of(*q, o) != 0 || !(std::abs(scale_of(*q, o) / step_of_output(steps, o) - 1) <= kSameStep)) return false;
  }
  return true;
}

}  // namespace

Refusal quantize_bias(const Value& bias, size_t outputs, const std::vector<double>& steps, int bits,
                      std::vector<int64_t>* out) {
  if (!bias.is_constant())
    return {"its bias is computed", "store the bias as a parameter, or add it behind the layer, quantized"};
  if (bias.rank() != 1 || !bias.sizes()[0].is(static_cast<int64_t>(outputs)))
    return {fmt::format("its bias is not one number for each output: {}", to_text(bias.type)),
            "add it behind the layer, quantized"};
  if (has_steps(bias, steps)) {
    const auto elements = compiler::layout::elements_of<int32_t>(bias);
    out->assign(elements.begin(), elements.end());
    return {};
  }
  const std::vector<double> real = numbers(bias);
  if (real.size() != outputs)
    return {fmt::format("its bias is {}", to_text(bias.type)), "give it one number for each output, in f32 or int32"};
  for (size_t o = 0; o < outputs; ++o) {
    const double scaled = real[o] / step_of_output(steps, o);
    if (!(std::abs(scaled) < std::ldexp(1, bits) - 1))
      return {fmt::format("its bias does not fit {} bits in steps of input times weights", bits + 1),
              "use larger scales of input or weights, or add the bias behind the layer, quantized"};
    out->push_back(static_cast<int64_t>(round_half_even(scaled)));
  }
  return {};
}

Refusal quantize_bias(const Value& bias, size_t outputs, const std::vector<double>& steps, std::vector<int32_t>* out) {
  std::vector<int64_t> elements;
  Refusal reason = quantize_bias(bias, outputs, steps, 31, &elements);
  for (const int64_t element : elements) out->push_back(static_cast<int32_t>(element));
  return reason;
}

int64_t batch_of(const Value& image) { return image.sizes()[0].is_const() ? image.sizes()[0].value() : 1; }

Refusal read_convolution(const Node& node, Convolution* c) {
  const Value* x = node.tensor("input");
  for (const Refusal& reason : {refuse_int8(*x, "its input"), refuse_int8(*node.result(), "its result")}) {
    if (!reason.empty()) return reason;
  }
  Refusal reason = read_filter(node, c);
  return reason.empty() ? read_sums(node, c) : reason;
}

Refusal read_filter(const Node& node, Convolution* c) {
  const Value *x = node.tensor("input"), *weight = node.tensor("weight");
  for (const Refusal& reason : {refuse_filter(*weight, node.boolean("transposed")), read_shape(node, c)}) {
    if (!reason.empty()) return reason;
  }
  c->input = affine(*x);
  c->output = affine(*node.result());
  c->filter = filter_of(*weight, *c);
  center_filter(*weight->tensor().quantization, c);
  return {};
}

std::vector<double> accumulator_steps(const Node& node, const Convolution& c) {
  const Quantization& q = *node.tensor("weight")->tensor().quantization;
  const auto outputs = static_cast<size_t>(c.shape.outputs);
  std::vector<double> steps;
  for (size_t o = 0; o < outputs; ++o) steps.push_back(c.input.scale * scale_of(q, channel_of(c, o)));
  return steps;
}

std::vector<int8_t> depthwise_filter(const Convolution& c) {
  const size_t taps = c.taps(), outputs = static_cast<size_t>(c.shape.outputs);
  std::vector<int8_t> filter(c.filter.size());
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t tap = 0; tap < taps; ++tap) filter[tap * outputs + o] = c.filter[o * taps + tap];
  }
  return filter;
}

}  // namespace wick::cortex_m
