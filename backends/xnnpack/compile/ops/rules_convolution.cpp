// Convolutions over one, two and three dimensions: channels innermost.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

struct Convolution {
  std::vector<int64_t> stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
  Sizes input, weight;
};

Convolution convolution_of(const Node& node) {
  return {node.static_ints("stride"),         node.static_ints("padding"),    node.static_ints("dilation"),
          node.static_ints("output_padding"), node.boolean("transposed"),     node.static_integer("groups"),
          dims_of(*node.tensor("input")),     dims_of(*node.tensor("weight"))};
}

using Pair = std::array<uint32_t, 2>;  // rows, columns

// Each slice of a window over three dimensions becomes a convolution, whose results are added.
constexpr int64_t kMaxSlices = 16;

Verdict plain_volume(const Node& node, const Convolution& conv) {
  const Sizes result = result_dims(node);
  if (std::max(num_symbolic(conv.input), num_symbolic(result)) > 1 || !conv.input[2].is_const())
    return Verdict::no("a three-dimensional convolution whose depth, or more than one size, is known only at run time");
  const int64_t slices = conv.weight[2].value();
  if (slices > kMaxSlices) return Verdict::no(fmt::format("a window {} deep; at most {}", slices, kMaxSlices));
  const bool apart = conv.stride[0] == slices && conv.padding[0] == 0 && conv.output_padding[0] == 0 &&
                     (conv.dilation[0] == 1 || slices == 1);
  if (conv.transposed && !apart) return Verdict::no("a transposed convolution whose windows overlap in depth");
  return Verdict::yes();
}

// The sizes of a window over one dimension as those of a window over two, whose height is `height`; of a window over
// three dimensions, the last two.
std::vector<int64_t> two_dimensional(std::vector<int64_t> sizes, int64_t height) {
  if (sizes.size() == 1) sizes.insert(sizes.begin(), height);
  if (sizes.size() == 3) sizes.erase(sizes.begin());
  return sizes;
}

std::vector<int64_t> kernel_of(const Convolution& conv) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < conv.weight.size(); ++i) kernel.push_back(conv.weight[i].value());
  return two_dimensional(std::move(kernel), 1);
}

// If the strides are not larger than the window, the library computes every stride-th element of a transposed
// convolution's result in one pass. Its count underflows if the result has fewer rows than the stride.
// Returns the number of rows and columns by which the smallest result falls short.
Pair missing_rows(const Convolution& conv, const PayloadNode::Window& window) {
  Pair missing{};
  if (!conv.transposed || window.dilation[0] > 1 || window.dilation[1] > 1) return missing;
  if (window.stride[0] > window.kernel[0] || window.stride[1] > window.kernel[1]) return missing;
  for (size_t i = conv.input.size() == 3 ? 1 : 0; i < 2; ++i) {
    const int64_t stride = window.stride[i];
    const int64_t cut = i == 0 ? window.pad_top + window.pad_bottom : window.pad_left + window.pad_right;
    const int64_t least = std::max<int64_t>(compiler::SymScope::range(conv.input[conv.input.size() - 2 + i]).min, 1);
    int64_t rows = (least - 1) * stride + window.adjustment[i] + window.kernel[i] - cut;
    if (rows < 1) rows = ((rows - 1) % stride + stride) % stride + 1;  // for the smallest input that gives a result
    missing[i] = static_cast<uint32_t>(std::max<int64_t>(stride - rows, 0));
  }
  return missing;
}

bool may_be_shorter_than_stride(const Convolution& conv, const PayloadNode::Window& window) {
  return missing_rows(conv, window) != Pair{};
}

// If the window has a single row or column, a dilation along it changes nothing, but makes the library compute element
// by element.
bool has_single_row(const PayloadNode::Window& window) { return window.kernel[0] == 1 || window.kernel[1] == 1; }

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
  if (has_single_row(window) && may_be_shorter_than_stride(conv, window))
    window.dilation[window.kernel[0] == 1 ? 0 : 1] = 2;
  return window;
}

Verdict plain_convolution(const Node& node, const TargetContext& context) {
  Verdict constant = constant_weights(node, context);
  if (!constant.taken) return constant;
  for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
    for (const compiler::Sym& amount : node.ints(name)) {
      if (!amount.is_const()) return Verdict::no("a window known only at run time");
      if (amount.value() < 0) return Verdict::no("negative padding");
    }
  }
  const size_t rank = node.result()->rank();
  const Convolution conv = convolution_of(node);
  if (!conv.input[1].is_const()) return Verdict::no("a number of channels known only at run time");
  for (size_t i = 0; conv.transposed && i < conv.output_padding.size(); ++i) {
    if (conv.output_padding[i] >= conv.stride[i]) return Verdict::no("output padding of a whole stride");
  }
  const Pair missing = missing_rows(conv, window_of(conv));
  const bool is_known = num_symbolic({conv.input.end() - 2, conv.input.end()}) == 0;
  if (missing != Pair{} && !is_known && (node.result()->is_quantized() || node.operands()[0]->is_quantized()))
    return Verdict::no(
        "a transposed convolution on integers whose result may have fewer rows or columns than its stride");
  return rank == 5 ? plain_volume(node, conv) : Verdict::yes();
}

// Filters: [oc, ic / g, h, w] becomes [oc, h, w, ic / g], or [1, h, w, oc] for a depthwise one; the transposed
// convolution's [ic, oc / g, h, w] becomes [oc, h, w, ic / g]. With columns as channels the first is [oc, h, 1, w *
// ic].
uint32_t filter_of(Lowering& l, const Node& node, const Convolution& conv, bool depthwise, bool columns_as_channels) {
  const Value* weight = node.tensor("weight");
  const auto kernel = kernel_of(conv);
  const int64_t a = conv.weight[0].value(), b = conv.weight[1].value(), h = kernel[0], w = kernel[1], g = conv.groups;
  if (depthwise) return l.weight_permuted(weight, {a, h, w}, {1, 2, 0}, DataType::fp32, {1, h, w, a});
  const Sizes dims = columns_as_channels ? Sizes{a, h, 1, w * b} : Sizes{a, h, w, b};
  if (!conv.transposed) return l.weight_permuted(weight, {a, b, h, w}, {0, 2, 3, 1}, DataType::fp32, dims);
  return l.weight_permuted(weight, {g, a / g, b, h, w}, {0, 2, 3, 4, 1}, DataType::fp32, {g * b, h, w, a / g});
}

bool is_depthwise(const Convolution& conv) { return !conv.transposed && conv.groups > 1 && conv.weight[1].is(1); }

// The convolution without its filter. x [n, h, w, c]; result [n, h, w, c]
PayloadNode without_filter(const Convolution& conv, uint32_t x, uint32_t bias, const Sizes& result, OutputRange range) {
  PayloadNode out;
  out.type = conv.transposed      ? NodeType::conv_transpose_2d
             : is_depthwise(conv) ? NodeType::depthwise_conv_2d
                                  : NodeType::conv_2d;
  out.inputs[0] = x;
  out.inputs[2] = bias;
  out.window = window_of(conv);
  out.groups = static_cast<uint32_t>(conv.groups);
  out.group_input_channels = static_cast<uint32_t>(conv.input[1].value() / conv.groups);
  out.group_output_channels = static_cast<uint32_t>(result.back().value() / conv.groups);
  out.output_min = range.min;
  out.output_max = range.max;
  return out;
}

// x [n, h, w, c] without its last rows and columns. A slice has a known size, so a depthwise convolution takes the
// first element of each window instead.
uint32_t without_last(Lowering& l, uint32_t x, const Pair& count, const Sizes& result) {
  const int64_t rows = count[0] + 1, columns = count[1] + 1, channels = result[3].value();
  PayloadNode out;
  out.type = NodeType::depthwise_conv_2d;
  out.inputs[0] = x;
  std::vector<float> first(static_cast<size_t>(rows * columns * channels), 0.0f);
  std::fill(first.begin(), first.begin() + channels, 1.0f);
  out.inputs[1] = l.constant(first, {1, rows, columns, channels}, true);
  out.window.kernel[0] = static_cast<uint32_t>(rows);
  out.window.kernel[1] = static_cast<uint32_t>(columns);
  out.groups = static_cast<uint32_t>(channels);
  out.group_input_channels = out.group_output_channels = 1;
  return l.add(std::move(out), result);
}

uint32_t convolved(Lowering& l, const Convolution& conv, uint32_t x, uint32_t filter, uint32_t bias,
                   const Sizes& result, OutputRange range) {
  PayloadNode out = without_filter(conv, x, bias, result, range);
  out.inputs[1] = filter;
  const Pair missing = missing_rows(conv, out.window);
  if (missing == Pair{}) return l.add(std::move(out), result);
  // Computes the missing rows and columns, too, by a larger adjustment (below the stride) and less padding at the end,
  // and cuts them off.
  Sizes all = result;
  uint32_t* const after[] = {&out.window.pad_bottom, &out.window.pad_right};
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t added = std::min(missing[i], out.window.stride[i] - 1 - out.window.adjustment[i]);
    out.window.adjustment[i] += added;
    *after[i] -= missing[i] - added;
    all[i + 1] = all[i + 1] + missing[i];
  }
  const uint32_t whole = l.add(std::move(out), all);
  const bool known = result[1].is_const() && result[2].is_const();
  return known ? l.slice(whole, std::vector<uint32_t>(4, 0), result) : without_last(l, whole, missing, result);
}

// --- depthwise convolutions with large windows ---

// The limit of the library's depthwise kernels. It computes larger windows channel by channel as matmuls.
constexpr uint32_t kMaxTaps = 25;

// Taps of a window at equal distances, as a window of their own over all of the input or most of it.
struct Taps {
  Pair first = {};  // tap of the whole window
  PayloadNode::Window window;
  std::vector<uint32_t> offsets = std::vector<uint32_t>(4);  // of the part of the input [n, h, w, c] that is read
  Sizes sizes;
};

// Every step-th tap from `first` on, as a window dilated by `step`, with the padding that remains. If the padding does
// not suffice, the input is cut instead: nothing if that leaves no input, or the size is known only at run time.
std::optional<Taps> every_tap(const PayloadNode::Window& whole, const Sizes& input, Pair first, Pair step) {
  Taps out;
  out.first = first;
  out.window = whole;
  out.sizes = input;
  uint32_t* const before[] = {&out.window.pad_top, &out.window.pad_left};
  uint32_t* const after[] = {&out.window.pad_bottom, &out.window.pad_right};
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t further = whole.kernel[i] - 1 - first[i];  // taps after the first
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

// Into how many parts the rows and columns of a window are divided, so that each part is small enough and there are as
// few as possible.
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
// padding. Adjacent taps would need cut or padded copies of the input.
std::vector<Taps> parts_of_window(const PayloadNode::Window& whole, const Sizes& input) {
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

// The depthwise convolution `whole`, which has no filter yet, as a sum of its parts.
uint32_t sum_of_parts(Lowering& l, const Node& node, const PayloadNode& whole, const std::vector<Taps>& parts,
                      const Sizes& result) {
  const std::vector<float> weights = l.read_floats(node.tensor("weight"));
  uint32_t sum = kNoValue;
  for (const Taps& taps : parts) {
    PayloadNode part = whole;
    part.window = taps.window;
    part.inputs[0] = l.slice(whole.inputs[0], taps.offsets, taps.sizes);
    part.inputs[1] = filter_of_taps(l, weights, whole.window, taps, result.back().value());
    part.output_min = OutputRange().min;
    part.output_max = OutputRange().max;
    if (sum != kNoValue) part.inputs[2] = kNoValue;
    const uint32_t value = l.add(std::move(part), result);
    const OutputRange range = &taps == &parts.back() ? OutputRange{whole.output_min, whole.output_max} : OutputRange();
    sum = sum == kNoValue ? value : l.binary(NodeType::add, sum, value, range);
  }
  return sum;
}

// --- windows over three dimensions ---

// Filters as filter_of has them, one for each slice of the window.
std::vector<uint32_t> filters_of_slices(Lowering& l, const Node& node, const Convolution& conv) {
  const std::vector<float> elements = l.read_floats(node.tensor("weight"));
  const auto kernel = kernel_of(conv);
  const int64_t a = conv.weight[0].value(), b = conv.weight[1].value(), d = conv.weight[2].value(), h = kernel[0],
                w = kernel[1], g = conv.groups;
  const bool depthwise = is_depthwise(conv);
  const auto from = conv.transposed ? permute_elements(elements.data(), {g, a / g, b, d, h, w}, {3, 0, 2, 4, 5, 1})
                    : depthwise     ? permute_elements(elements.data(), {a, d, h, w}, {1, 2, 3, 0})
                                    : permute_elements(elements.data(), {a, b, d, h, w}, {2, 0, 3, 4, 1});
  const Sizes dims = conv.transposed ? Sizes{g * b, h, w, a / g} : depthwise ? Sizes{1, h, w, a} : Sizes{a, h, w, b};
  std::vector<uint32_t> filters;
  const auto size = static_cast<ptrdiff_t>(from.size()) / d;
  for (auto begin = from.begin(); begin != from.end(); begin += size)
    filters.push_back(l.constant({begin, begin + size}, dims, true));
  return filters;
}

// Convolves, as images, the slices of the input that each slice of the window reads, and adds the results.
uint32_t sum_of_slices(Lowering& l, const Convolution& conv, uint32_t x, const std::vector<uint32_t>& filters,
                       uint32_t bias, const Sizes& result, OutputRange range) {
  if (conv.padding[0] > 0) {
    const std::vector<uint32_t> amount{0, static_cast<uint32_t>(conv.padding[0]), 0, 0, 0};
    x = l.pad(x, amount, amount, 0);
  }
  const Sizes dims = l.dims(x), images{result[0] * result[1], result[2], result[3], result[4]};
  uint32_t sum = kNoValue;
  for (size_t i = 0; i < filters.size(); ++i) {
    const int64_t start = static_cast<int64_t>(i) * conv.dilation[0];
    uint32_t seen = every_step(l, x, 1, start, conv.stride[0], result[1].value());
    seen = l.reshape(seen, {dims[0] * result[1], dims[2], dims[3], dims[4]});
    const bool last = i + 1 == filters.size();
    const OutputRange here = last ? range : OutputRange();
    const uint32_t part =
        convolved(l, conv, seen, filters[i], i == 0 ? bias : kNoValue, images, i == 0 ? here : OutputRange());
    sum = i == 0 ? part : l.binary(NodeType::add, sum, part, here);
  }
  return l.reshape(sum, result);
}

// Transposed, with windows that do not overlap in depth: each slice of the window makes every kernel-depth-th slice of
// the result.
uint32_t slices_side_by_side(Lowering& l, const Convolution& conv, uint32_t x, const std::vector<uint32_t>& filters,
                             uint32_t bias, const Sizes& result, OutputRange range) {
  const Sizes dims = l.dims(x);
  const compiler::Sym images = dims[0] * dims[1];
  x = l.reshape(x, {images, dims[2], dims[3], dims[4]});
  std::vector<uint32_t> parts;
  for (const uint32_t filter : filters) {
    const uint32_t part = convolved(l, conv, x, filter, bias, {images, result[2], result[3], result[4]}, range);
    parts.push_back(l.reshape(part, {images, 1, result[2] * result[3] * result[4]}));
  }
  return l.reshape(l.concatenate(std::move(parts), 1), result);
}

void lower_volume(Lowering& l, const Node& node, const Convolution& conv) {
  const Sizes result = physical(result_dims(node), channels_last_order(5));
  const std::vector<uint32_t> filters = filters_of_slices(l, node, conv);
  const uint32_t bias = bias_of(l, node.optional_tensor("bias"), DataType::fp32);
  lower_in_fp32(l, node, l.operand(node, 0), [&](uint32_t x) {
    const auto lower = conv.transposed ? slices_side_by_side : sum_of_slices;
    return lower(l, conv, x, filters, bias, result, l.range_of(node));
  });
}

// --- windows side by side in their rows, as of patches ---

// In this case the columns of a window lie in memory like additional channels of one column. The library rounds the
// number of channels up for each tap, so few taps of many channels cost less than many taps of few channels.
bool has_windows_side_by_side(const Convolution& conv, const Sizes& x) {
  const int64_t columns = kernel_of(conv)[1];
  return !conv.transposed && conv.groups == 1 && columns > 1 && conv.stride.back() == columns &&
         conv.padding.back() == 0 && conv.dilation.back() == 1 && x[2].is_const() && x[2].value() % columns == 0 &&
         num_symbolic(x) <= 1;
}

// The same convolution over x [n, h, w / columns, columns * c].
Convolution with_columns_as_channels(Convolution conv) {
  const int64_t columns = conv.weight.back().value();
  conv.stride.back() = 1;
  conv.weight.back() = 1;
  conv.input[1] = conv.input[1].value() * columns;
  return conv;
}

void lower_convolution(Lowering& l, const Node& node) {
  Convolution conv = convolution_of(node);
  if (conv.input.size() == 5) return lower_volume(l, node, conv);
  uint32_t x = l.operand(node, 0);  // [n, w, c] or [n, h, w, c]
  Sizes result = physical(result_dims(node), channels_last_order(node.result()->rank()));
  if (conv.input.size() == 3) {
    x = l.reshape(x, {l.dims(x)[0], 1, l.dims(x)[1], l.dims(x)[2]});
    result.insert(result.begin() + 1, 1);
  }
  // Only depthwise filters with one output per channel have the limit on taps. Quantized filters stay on int8.
  std::vector<Taps> parts;
  if (is_depthwise(conv) && conv.weight[0].is(conv.groups) && is_plain_constant(*node.tensor("weight")))
    parts = parts_of_window(window_of(conv), l.dims(x));
  // Filters come before biases in the payload.
  const bool merge = has_windows_side_by_side(conv, l.dims(x));
  const uint32_t filter = parts.empty() ? filter_of(l, node, conv, is_depthwise(conv), merge) : kNoValue;
  if (merge) {
    conv = with_columns_as_channels(conv);
    const Sizes dims = l.dims(x);
    x = l.reshape(x, {dims[0], dims[1], result[2], conv.input[1]});
  }
  const uint32_t bias = bias_of(l, node.optional_tensor("bias"), DataType::fp32);
  const OutputRange range = l.range_of(node);
  l.set_result(node, parts.empty()
                         ? convolved(l, conv, x, filter, bias, result, range)
                         : sum_of_parts(l, node, without_filter(conv, x, bias, result, range), parts, result));
}

// Only the depthwise kernels read beside a window, with weight zero: if it has fewer taps than the kernel.
const Deviation* deviation_of_convolution(const Node& node) {
  constexpr int64_t kTapsOfKernels[] = {3, 4, 9, 25};
  const Convolution conv = convolution_of(node);
  const auto kernel = kernel_of(conv);
  const bool whole = std::find(std::begin(kTapsOfKernels), std::end(kTapsOfKernels), kernel[0] * kernel[1]) !=
                     std::end(kTapsOfKernels);
  return is_depthwise(conv) && conv.weight[0].is(conv.groups) && !whole ? &kWindow : &kProduct;
}

// The library has no kernel for a transposed convolution of few channels a group: each group is a matmul of its own.
bool has_small_transposed_groups(const Node& node) {
  constexpr int64_t kFewChannels = 4;
  const Convolution conv = convolution_of(node);
  const auto is_small = [](const compiler::Sym& channels, int64_t groups) {
    return channels.is_const() && channels.value() < kFewChannels * groups;
  };
  return conv.transposed && conv.groups > 1 && is_small(conv.weight[0], conv.groups) && is_small(conv.weight[1], 1);
}

constexpr OpRule kConvolutionRows[] = {
    costs_more(deviates(deviation_of_convolution,
                        on_int8(fits_weights, {"aten.convolution.default", plain_convolution, channels_last,
                                               lower_convolution, Unknown::any, true})),
               has_small_transposed_groups),
};

}  // namespace

const RuleFamily kConvolutionRules = {kConvolutionRows, std::size(kConvolutionRows)};

}  // namespace wick::xnnpack
