// Linear layers, matrix products and convolutions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/xnnpack/quantized.h"
#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

// --- linear ---

LayoutRule features_innermost(const Node& node) { return innermost(node.result()->rank() - 1); }

bool is_weight(const Value& value) {
  return value.is_constant() || (value.producer && quantized_constant(*value.producer));
}

Verdict constant_weights(const Node& node, const TargetOptions&) {
  if (node.operands()[0]->rank() < 1) return Verdict::no("an input without dimensions");
  if (!is_weight(*node.tensor("weight"))) return Verdict::no("a weight that is computed at run time");
  const Value* bias = node.optional_tensor("bias");
  if (bias && !bias->is_constant()) return Verdict::no("a bias that is computed at run time");
  return Verdict::yes();
}

uint32_t bias_of(Lowering& l, const Value* bias, DataType type) {
  if (!bias) return kNoValue;
  if (l.is_int8()) return l.int8_bias(bias);
  return l.weight(bias, l.is_dynamic() ? DataType::fp32 : type, dims_of(*bias));
}

void lower_linear(Lowering& l, const Node& node) {
  const Value* weight = node.tensor("weight");
  const uint32_t filter = l.operand(weight, plain_order(2));
  const uint32_t bias = bias_of(l, node.optional_tensor("bias"), l.type());
  l.set_result(node,
               l.fully_connected(l.rows_along(node, node.result()->rank() - 1), filter, bias, 0, l.range_of(node)));
}

LayoutRule matmul_layout(const Node& node) {
  LayoutRule rule;
  rule.kind = LayoutRule::Kind::matmul;
  return rule;
}

// [.., m, k] x [.., k, n], the second perhaps with its last two dimensions swapped in memory.
uint32_t product_of(Lowering& l, uint32_t a, uint32_t b, bool swapped) {
  PayloadNode node;
  node.type = NodeType::batch_matrix_multiply;
  node.inputs[0] = a;
  node.inputs[1] = b;
  node.flags = swapped ? uint32_t{kTransposeWeights} : 0;
  Dims dims = l.dims(a);
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    if (dims[i].is(1)) dims[i] = l.dims(b)[i];
  }
  dims.back() = l.dims(b)[dims.size() - (swapped ? 2 : 1)];
  return l.add(std::move(node), dims);
}

bool lies_swapped(const Lowering& l, const Value* value) {
  const Dims dims = dims_of(*value);
  if (value->is_constant()) return false;
  const Order& order = l.order_of(value);
  return !same_bytes(dims, order, plain_order(dims.size())) && same_bytes(dims, order, swapped_order(dims.size()));
}

// [.., m, k] x [.., k, n]
Verdict known_columns(const Node& node, const TargetOptions&) {
  const Dims left = dims_of(*node.operands()[0]), right = dims_of(*node.operands()[1]);
  bool agree = left.back() == right[right.size() - 2];
  for (size_t i = 0; i + 2 < left.size() && i + 2 < right.size(); ++i)
    agree = agree && (left[i] == right[i] || left[i].is(1) || right[i].is(1));
  return agree ? Verdict::yes() : Verdict::no("sizes that are only known to agree at run time");
}

Verdict same_rank_batches(const Node& node, const TargetOptions& options) {
  const size_t rank = node.operands()[0]->rank();
  if (rank < 3 || node.operands().size() != 2 || node.operands()[1]->rank() != rank)
    return Verdict::no("a matrix product of tensors of different ranks");
  return known_columns(node, options);
}

void lower_bmm(Lowering& l, const Node& node) {
  l.set_result(node, product_of(l, l.operand(node, 0), l.operand(node, 1), lies_swapped(l, node.operands()[1])));
}

void lower_mm(Lowering& l, const Node& node) {
  const Value* right = node.operands()[1];
  const uint32_t a = l.operand(node, 0), b = l.operand(node, 1);
  if (right->is_constant()) return l.set_result(node, l.fully_connected(a, b, kNoValue, kTransposeWeights));
  const auto batched = [&](uint32_t x) { return l.reshape(x, {1, l.dims(x)[0], l.dims(x)[1]}); };
  l.set_result(node, product_of(l, batched(a), batched(b), lies_swapped(l, right)));
}

Verdict plain_addmm(const Node& node, const TargetOptions&) {
  const auto beta = number(node, "beta"), alpha = number(node, "alpha");
  if (!beta || !alpha || *beta != 1 || *alpha != 1) return Verdict::no("alpha or beta other than 1");
  if (!node.tensor("mat2")->is_constant()) return Verdict::no("a second matrix that is computed at run time");
  return Verdict::yes();
}

void lower_addmm(Lowering& l, const Node& node) {
  const Value *bias = node.tensor("self"), *right = node.tensor("mat2");
  const uint32_t a = l.operand(node.tensor("mat1"), plain_order(2)), b = l.operand(right, plain_order(2));
  const Dims columns{result_dims(node)[1]};
  if (bias->is_constant() && dims_of(*bias) == columns)
    return l.set_result(node, l.fully_connected(a, b, bias_of(l, bias, l.type()), kTransposeWeights, l.range_of(node)));
  const uint32_t product = l.fully_connected(a, b, kNoValue, kTransposeWeights);
  l.set_result(node, l.binary(NodeType::add, product, l.operand(bias, plain_order(2)), l.range_of(node)));
}

// --- convolution ---

struct Convolution {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
  Dims input, weight;
};

Convolution convolution_of(const Node& node) {
  return {node.static_ints("stride"),         node.static_ints("padding"),    node.static_ints("dilation"),
          node.static_ints("output_padding"), node.boolean("transposed"),     node.static_integer("groups"),
          dims_of(*node.tensor("input")),     dims_of(*node.tensor("weight"))};
}

Verdict plain_convolution(const Node& node, const TargetOptions& options) {
  Verdict constant = constant_weights(node, options);
  if (!constant.taken) return constant;
  for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
    for (const compiler::Sym& amount : node.ints(name)) {
      if (!amount.is_const()) return Verdict::no("a window known only at run time");
      if (amount.value() < 0) return Verdict::no("negative padding");
    }
  }
  const size_t rank = node.result()->rank();
  if (rank != 3 && rank != 4)
    return Verdict::no(fmt::format("a convolution over {} dimensions; 1 and 2 are taken", rank - 2));
  const Convolution conv = convolution_of(node);
  if (!conv.input[1].is_const()) return Verdict::no("a number of channels known only at run time");
  if (rank == 3 && std::max(num_symbolic(conv.input), num_symbolic(result_dims(node))) > 1)
    return Verdict::no("a convolution over one dimension with more than one size known only at run time");
  for (size_t i = 0; conv.transposed && i < conv.output_padding.size(); ++i) {
    if (conv.output_padding[i] >= conv.stride[i]) return Verdict::no("output padding of a whole stride");
  }
  return Verdict::yes();
}

// Sizes of a window over one dimension, as those of a window over two whose height is 1.
std::vector<int64_t> two_dimensional(std::vector<int64_t> sizes, int64_t height) {
  if (sizes.size() == 1) sizes.insert(sizes.begin(), height);
  return sizes;
}

std::vector<int64_t> kernel_of(const Convolution& conv) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < conv.weight.size(); ++i) kernel.push_back(conv.weight[i].value());
  return two_dimensional(std::move(kernel), 1);
}

PayloadNode::Window window_of(const Convolution& conv) {
  PayloadNode::Window window;
  const auto padding = two_dimensional(conv.padding, 0), stride = two_dimensional(conv.stride, 1);
  const auto dilation = two_dimensional(conv.dilation, 1), adjustment = two_dimensional(conv.output_padding, 0);
  const auto kernel = kernel_of(conv);
  window.pad_top = window.pad_bottom = static_cast<uint32_t>(padding[0]);
  window.pad_left = window.pad_right = static_cast<uint32_t>(padding[1]);
  for (size_t i = 0; i < 2; ++i) {
    window.kernel[i] = static_cast<uint32_t>(kernel[i]);
    window.stride[i] = static_cast<uint32_t>(stride[i]);
    window.dilation[i] = static_cast<uint32_t>(dilation[i]);
    if (conv.transposed) window.adjustment[i] = static_cast<uint32_t>(adjustment[i]);
  }
  return window;
}

// Filters: [oc, ic / g, h, w] becomes [oc, h, w, ic / g], or [1, h, w, oc] for a depthwise one; the transposed
// convolution's [ic, oc / g, h, w] becomes [oc, h, w, ic / g].
uint32_t filter_of(Lowering& l, const Node& node, const Convolution& conv, bool depthwise) {
  const Value* weight = node.tensor("weight");
  const auto kernel = kernel_of(conv);
  const int64_t a = conv.weight[0].value(), b = conv.weight[1].value(), h = kernel[0], w = kernel[1], g = conv.groups;
  if (depthwise) return l.weight_permuted(weight, {a, h, w}, {1, 2, 0}, DataType::fp32, {1, h, w, a});
  if (!conv.transposed) return l.weight_permuted(weight, {a, b, h, w}, {0, 2, 3, 1}, DataType::fp32, {a, h, w, b});
  return l.weight_permuted(weight, {g, a / g, b, h, w}, {0, 2, 3, 4, 1}, DataType::fp32, {g * b, h, w, a / g});
}

// --- depthwise convolutions with large windows ---

// Of the library's depthwise kernels; it computes larger windows channel by channel as matrix products.
constexpr uint32_t kMaxTaps = 25;

using Pair = std::array<uint32_t, 2>;  // rows, columns

// Some taps of a window, at equal distances: a window of their own, over all of the input or most of it.
struct Taps {
  Pair first = {};  // tap of the whole window
  PayloadNode::Window window;
  std::vector<uint32_t> offsets = std::vector<uint32_t>(4);  // of what is read in the input [n, h, w, c]
  Dims sizes;
};

// Every step-th tap from `first` on: dilated by `step`, with the padding that is left. Nothing where none is left and
// the input, which is then cut instead, is empty or of a size known only at run time.
std::optional<Taps> every_tap(const PayloadNode::Window& whole, const Dims& input, Pair first, Pair step) {
  Taps out;
  out.first = first;
  out.window = whole;
  out.sizes = input;
  uint32_t* const before[] = {&out.window.pad_top, &out.window.pad_left};
  uint32_t* const after[] = {&out.window.pad_bottom, &out.window.pad_right};
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t further = whole.kernel[i] - 1 - first[i];  // taps behind the first
    const uint32_t less_before = first[i] * whole.dilation[i], less_after = further % step[i] * whole.dilation[i];
    const uint32_t padding_before = std::min(less_before, *before[i]), padding_after = std::min(less_after, *after[i]);
    *before[i] -= padding_before;
    *after[i] -= padding_after;
    out.window.kernel[i] = further / step[i] + 1;
    out.window.dilation[i] = whole.dilation[i] * step[i];
    const uint32_t cut = less_before - padding_before + less_after - padding_after;
    if (cut == 0) continue;
    compiler::Sym& size = out.sizes[i + 1];
    if (!size.is_const() || size.value() <= cut) return std::nullopt;
    size = size.value() - cut;
    out.offsets[i + 1] = less_before - padding_before;
  }
  return out;
}

uint32_t quotient_above(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }

// Into how many the rows and columns of a window must fall so that all parts are small; the fewest parts.
Pair fewest_parts(const uint32_t (&kernel)[2]) {
  Pair best{kernel[0], kernel[1]};
  for (uint32_t columns = 1; columns <= kernel[1]; ++columns) {
    const uint32_t height = kMaxTaps / quotient_above(kernel[1], columns);
    if (height == 0) continue;
    const uint32_t rows = quotient_above(kernel[0], height);
    if (uint64_t{rows} * columns < uint64_t{best[0]} * best[1]) best = {rows, columns};
  }
  return best;
}

// The windows whose results add up to that of `whole`; none if it should stay as it is. Taps far apart keep most of the
// padding, where rows of taps side by side would need cut or padded copies of the input.
std::vector<Taps> parts_of(const PayloadNode::Window& whole, const Dims& input) {
  if (uint64_t{whole.kernel[0]} * whole.kernel[1] <= kMaxTaps) return {};
  std::vector<Taps> parts;
  const Pair step = fewest_parts(whole.kernel);
  for (uint32_t row = 0; row < step[0]; ++row) {
    for (uint32_t column = 0; column < step[1]; ++column) {
      auto part = every_tap(whole, input, {row, column}, step);
      if (!part) return {};
      parts.push_back(std::move(*part));
    }
  }
  return parts;
}

// The filter [1, h, w, c] of one part, of weights [c, 1, whole h, whole w].
uint32_t filter_of_taps(Lowering& l, const std::vector<float>& weights, const PayloadNode::Window& whole,
                        const Taps& taps, int64_t channels) {
  const PayloadNode::Window& window = taps.window;
  std::vector<float> filter;
  filter.reserve(size_t{window.kernel[0]} * window.kernel[1] * static_cast<size_t>(channels));
  for (size_t row = 0; row < window.kernel[0]; ++row) {
    for (size_t column = 0; column < window.kernel[1]; ++column) {
      const size_t y = taps.first[0] + row * (window.dilation[0] / whole.dilation[0]);
      const size_t x = taps.first[1] + column * (window.dilation[1] / whole.dilation[1]);
      for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
        filter.push_back(weights[(c * whole.kernel[0] + y) * whole.kernel[1] + x]);
    }
  }
  return l.constant(filter, {1, window.kernel[0], window.kernel[1], channels}, true);
}

// The depthwise convolution `whole`, complete but for its filter, as a sum of its parts.
uint32_t sum_of_parts(Lowering& l, const Node& node, const PayloadNode& whole, const std::vector<Taps>& parts,
                      const Dims& result) {
  const std::vector<float> weights = l.read_floats(node.tensor("weight"));
  uint32_t sum = kNoValue;
  for (const Taps& taps : parts) {
    PayloadNode part = whole;
    part.window = taps.window;
    part.inputs[0] = l.slice(whole.inputs[0], taps.offsets, taps.sizes);
    part.inputs[1] = filter_of_taps(l, weights, whole.window, taps, result.back().value());
    part.output_min = Range().min;
    part.output_max = Range().max;
    if (sum != kNoValue) part.inputs[2] = kNoValue;
    const uint32_t value = l.add(std::move(part), result);
    const Range range = &taps == &parts.back() ? Range{whole.output_min, whole.output_max} : Range();
    sum = sum == kNoValue ? value : l.binary(NodeType::add, sum, value, range);
  }
  return sum;
}

void lower_convolution(Lowering& l, const Node& node) {
  const Convolution conv = convolution_of(node);
  const bool depthwise = !conv.transposed && conv.groups > 1 && conv.weight[1].is(1);
  PayloadNode out;
  out.type = conv.transposed ? NodeType::conv_transpose_2d
             : depthwise     ? NodeType::depthwise_conv_2d
                             : NodeType::conv_2d;
  uint32_t x = l.operand(node, 0);  // [n, w, c] or [n, h, w, c]
  Dims result = physical(result_dims(node), channels_last_order(node.result()->rank()));
  if (conv.input.size() == 3) {
    x = l.reshape(x, {l.dims(x)[0], 1, l.dims(x)[1], l.dims(x)[2]});
    result.insert(result.begin() + 1, 1);
  }
  out.inputs[0] = x;
  out.window = window_of(conv);
  out.groups = static_cast<uint32_t>(conv.groups);
  out.group_input_channels = static_cast<uint32_t>(conv.input[1].value() / conv.groups);
  out.group_output_channels = static_cast<uint32_t>(result.back().value() / conv.groups);
  const Range range = l.range_of(node);
  out.output_min = range.min;
  out.output_max = range.max;
  // The library's depthwise kernels know one output for each channel; filters that are no constants stay on int8.
  std::vector<Taps> parts;
  if (depthwise && out.group_output_channels == 1 && node.tensor("weight")->is_constant())
    parts = parts_of(out.window, l.dims(x));
  if (parts.empty()) out.inputs[1] = filter_of(l, node, conv, depthwise);
  out.inputs[2] = bias_of(l, node.optional_tensor("bias"), DataType::fp32);
  l.set_result(node, parts.empty() ? l.add(std::move(out), result) : sum_of_parts(l, node, out, parts, result));
}

constexpr OpRule kRows[] = {
    {"aten.addmm.default", plain_addmm, plain_layout, lower_addmm, Unknown::any, true},
    {"aten.bmm.default", known_columns, matmul_layout, lower_bmm, Unknown::any},
    {"aten.convolution.default", plain_convolution, channels_last, lower_convolution, Unknown::any, true},
    {"aten.linear.default", constant_weights, features_innermost, lower_linear, Unknown::any, true},
    {"aten.matmul.default", same_rank_batches, matmul_layout, lower_bmm, Unknown::any},
    {"aten.mm.default", known_columns, matmul_layout, lower_mm, Unknown::one},
};

}  // namespace

const RuleFamily kLinearRules = {kRows, std::size(kRows)};

}  // namespace wick::xnnpack
