#include "backends/cortex_m/compile/convolution/convolution_calls.h"

#include <algorithm>

#include "backends/cortex_m/compile/int4.h"
#include "backends/cortex_m/kernels/conv2d_int4/unpacked.h"
#include "backends/cortex_m/kernels/int4.h"

namespace wick::cortex_m {

using compiler::Args;
using compiler::Builder;
using compiler::Ints;
using compiler::Value;

namespace {

Ints pair(const int64_t values[2]) { return {values[0], values[1]}; }

// The constants for each output channel. The kernel reads a bias in any case if `groups` > 1.
struct Channels {
  Value *bias, *multipliers, *shifts;
};
Channels channels_of(Builder& b, const Convolution& c) {
  const int64_t count = c.shape.outputs;
  std::vector<int32_t> bias = c.bias;
  if (bias.empty() && c.groups > 1) bias.assign(static_cast<size_t>(count), 0);
  return {bias.empty() ? nullptr : constant(b, {count}, std::move(bias), "bias"),
          constant(b, {count}, c.multipliers, "multipliers"), constant(b, {count}, c.shifts, "shifts")};
}

void add_channels(Args& args, const Convolution& c, const Channels& channels, std::initializer_list<Value*> scratches) {
  args.push_back(int64_t{-c.input.zero});
  args.push_back(int64_t{c.output.zero});
  args.push_back(channels.multipliers);
  args.push_back(channels.shifts);
  args.push_back(int64_t{c.output.min});
  args.push_back(int64_t{c.output.max});
  for (Value* each : scratches) args.push_back(each);
}

Ints paddings(const Convolution& c) {
  Ints padding = pair(c.shape.padding);
  for (size_t axis = 0; axis < 2 && !c.pads_ends_alike(); ++axis)
    padding.push_back(c.end_padding[axis] < 0 ? c.shape.padding[axis] : c.end_padding[axis]);
  return padding;
}

compiler::Arg optional(Value* value) { return value ? compiler::Arg(value) : compiler::Arg(compiler::None()); }

Args start(Value* x, Value* filter, const Channels& channels, const Convolution& c) {
  return {x, filter, optional(channels.bias), pair(c.shape.stride), paddings(c)};
}

// The shape with the larger one of the two paddings of each axis at both ends.
ConvolutionShape widest(const Convolution& c) {
  ConvolutionShape shape = c.shape;
  for (size_t axis = 0; axis < 2; ++axis) shape.padding[axis] = std::max(shape.padding[axis], c.end_padding[axis]);
  return shape;
}

// The filter, with the weights of each tap in a row.
Value* depthwise_weights(Builder& b, const Convolution& c, bool packed) {
  const ConvolutionShape& s = c.shape;
  std::vector<int8_t> filter = depthwise_filter(c);
  if (!packed) return constant(b, {1, s.kernel[0], s.kernel[1], s.outputs}, std::move(filter), "filter");
  return constant(b, {1, s.kernel[0], s.kernel[1], int4_row_bytes(s.outputs)},
                  pack_int4(filter, static_cast<size_t>(s.outputs)), "filter");
}

int64_t bytes_for(const ScratchBytes& bytes, Isa isa) {
  return isa == Isa::mve ? bytes.mve : isa == Isa::dsp ? bytes.dsp : bytes.scalar;
}

Value* depthwise(Builder& b, Value* x, const Convolution& c, Isa isa, bool packed) {
  const ConvolutionShape& s = c.shape;
  Value* filter = depthwise_weights(b, c, packed);
  const Channels channels = channels_of(b, c);
  Args args = start(x, filter, channels, c);
  args.push_back(pair(s.dilation));
  args.push_back(s.outputs / s.channels);
  add_channels(args, c, channels, {scratch(b, depthwise_conv2d_scratch(widest(c)), isa)});
  const char* op = packed                ? "wick_cortex_m.depthwise_conv2d_int4"
                   : c.pads_ends_alike() ? "cortex_m.quantized_depthwise_conv2d"
                                         : "wick_cortex_m.depthwise_conv2d";
  return b.call(op, std::move(args));
}

}  // namespace

Value* convolution(Builder& b, Value* x, const Convolution& c, Isa isa) {
  if (c.is_depthwise()) return depthwise(b, x, c, isa, false);
  const ConvolutionShape& s = c.shape;
  Value* filter = constant(b, {s.outputs, s.kernel[0], s.kernel[1], s.group_channels}, c.filter, "filter");
  const Channels channels = channels_of(b, c);
  Args args = start(x, filter, channels, c);
  args.push_back(pair(s.dilation));
  add_channels(args, c, channels, {scratch(b, conv2d_scratch(widest(c)), isa)});
  return b.call(c.pads_ends_alike() ? "cortex_m.quantized_conv2d" : "wick_cortex_m.conv2d", std::move(args));
}

namespace {

size_t terms_of(const Convolution& c) { return c.taps() * static_cast<size_t>(c.shape.group_channels); }

// bias[o] + input_offset * sum of the weights of o, wrapped to 32 bits as in the kernel.
std::vector<int32_t> kernel_sums(const Convolution& c) {
  std::vector<int64_t> sums(c.bias.begin(), c.bias.end());
  sums.resize(static_cast<size_t>(c.shape.outputs), 0);
  for (size_t i = 0; i < c.filter.size(); ++i) sums[i / terms_of(c)] -= int64_t{c.input.zero} * c.filter[i];
  std::vector<int32_t> wrapped;
  wrapped.reserve(sums.size());
  for (const int64_t sum : sums) wrapped.push_back(static_cast<int32_t>(sum));
  return wrapped;
}

// How many channels' weights MVE unpacks at a time, in at most kMostBytes. 0: there are too few positions to make it
// profitable.
int64_t channels_to_unpack(const Convolution& c) {
  constexpr int64_t kMostBytes = 8192, kLeastPositions = 8;
  const ConvolutionShape& s = c.shape;
  if (s.batch * s.output[0] * s.output[1] < kLeastPositions) return 0;
  const auto terms = static_cast<int64_t>(terms_of(c));
  return unpacked_channels(kMostBytes + unpacked_window_bytes(terms, false), terms, s.outputs / c.groups, false);
}

// Scratch for MVE holds unpacked weights, or windows of three positions unless the kernel is 1x1.
ScratchBytes packed_scratch(const Convolution& c, int64_t unpacked) {
  ScratchBytes bytes = conv2d_scratch(widest(c));
  const auto terms = static_cast<int64_t>(terms_of(c));
  if (unpacked > 0)
    bytes.mve = unpacked_window_bytes(terms, bytes.mve == 0) + unpacked * terms;
  else if (bytes.mve > 0)
    bytes.mve = std::max(bytes.mve, 3 * terms);
  return bytes;
}

}  // namespace

int64_t packed_bytes(bool depthwise, int64_t outputs, int64_t terms) {
  return depthwise ? terms * int4_row_bytes(outputs) : outputs * int4_row_bytes(terms);
}

bool is_smaller_packed(const Convolution& c) {
  return packed_bytes(c.is_depthwise(), c.shape.outputs, static_cast<int64_t>(terms_of(c))) <
         static_cast<int64_t>(c.filter.size());
}

Value* packed_convolution(Builder& b, Value* x, const Convolution& c, const Configuration& configuration) {
  const Isa isa = configuration.isa;
  if (c.is_depthwise()) return depthwise(b, x, c, isa, true);
  const ConvolutionShape& s = c.shape;
  Value* filter = constant(b, {s.outputs, int4_row_bytes(static_cast<int64_t>(terms_of(c)))},
                           pack_int4(c.filter, terms_of(c)), "filter");
  const Channels channels = channels_of(b, c);
  const int64_t unpacked = configuration.tight ? 0 : channels_to_unpack(c);
  Value* sums = isa == Isa::mve && unpacked == 0 ? constant(b, {s.outputs}, kernel_sums(c), "kernel_sum") : nullptr;
  Args args = {x,
               filter,
               optional(sums ? nullptr : channels.bias),
               optional(sums),
               pair(s.kernel),
               c.groups,
               pair(s.stride),
               paddings(c),
               pair(s.dilation)};
  add_channels(args, c, channels, {scratch(b, packed_scratch(c, unpacked), isa)});
  return b.call("wick_cortex_m.conv2d_int4", std::move(args));
}

Value* transposed_convolution(Builder& b, Value* x, const Convolution& c, Isa isa) {
  const ConvolutionShape& s = c.shape;
  Value* filter = constant(b, {s.outputs, s.kernel[0], s.kernel[1], s.channels}, c.filter, "filter");
  const Channels channels = channels_of(b, c);
  const TransposedScratch bytes = transpose_conv2d_scratch(s);
  Args args = start(x, filter, channels, c);
  args.push_back(pair(c.output_padding));
  args.push_back(pair(s.dilation));
  add_channels(args, c, channels, {scratch(b, bytes.rows, isa), scratch(b, bytes.filter, isa)});
  return b.call("cortex_m.quantized_transpose_conv2d", std::move(args));
}

Value* scratch(Builder& b, const ScratchBytes& bytes, Isa isa) {
  return b.call("wick.scratch", {Ints{bytes_for(bytes, isa)}, DType::u8});
}

}  // namespace wick::cortex_m
