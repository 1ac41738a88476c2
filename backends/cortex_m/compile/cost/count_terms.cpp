// All counts are in floating point: sizes come from a file, and their products may be anything.
#include "backends/cortex_m/compile/cost/count_terms.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cortex_m/compile/cost/convolution_forms.h"
#include "backends/cortex_m/compile/cost/count_movement.h"
#include "backends/cortex_m/compile/cost/terms.h"
#include "compiler/ir/op_def.h"

namespace wick::cortex_m {

using compiler::CallArgument;
using compiler::CallCost;
using compiler::OperatorCall;

namespace {

// --- elements ---

// Elements of the result that are neighbours in memory, and for which each operand has as many neighbours or only one.
double run_of(const OperatorCall& call) {
  const CallArgument& result = call.arguments.back();
  const size_t rank = result.sizes.size();
  const auto from_end = [](const CallArgument& tensor, size_t back) {
    return back < tensor.sizes.size() ? tensor.sizes[tensor.sizes.size() - 1 - back] : 1;
  };
  // Which operands are spread at a dimension, as bits.
  const auto spread = [&](size_t back) {
    uint64_t bits = 0;
    for (size_t i = 0; i + 1 < call.arguments.size() && i < 64; ++i) {
      if (call.arguments[i].is_tensor && from_end(call.arguments[i], back) == 1) bits |= uint64_t{1} << i;
    }
    return bits;
  };
  double run = 1;
  bool first = true;
  uint64_t pattern = 0;
  for (size_t i = rank; i-- > 0;) {
    const size_t dim = i < result.dim_order.size() ? result.dim_order[i] : i, back = rank - 1 - dim;
    if (from_end(result, back) == 1) continue;
    if (first) pattern = spread(back);
    if (spread(back) != pattern) break;
    first = false;
    run *= size(result, dim);
  }
  return run;
}

// Whether an operand has fewer elements than the result.
bool broadcasts(const OperatorCall& call) {
  const auto smaller = [&](const CallArgument& operand) {
    return operand.is_tensor && operand.numel() < call.arguments.back().numel();
  };
  return std::any_of(call.arguments.begin(), call.arguments.end() - 1, smaller);
}

void count_elements(const OperatorCall& call, Terms& terms) {
  const double elements = numel(call.arguments.back());
  terms.add("elements", elements);
  terms.add("runs", elements / at_least_one(run_of(call)));
  terms.add("broadcast", broadcasts(call) ? elements : 0);
}

// Rows along the innermost dimension in memory.
void count_rows(const OperatorCall& call, Terms& terms) {
  const CallArgument& result = call.arguments.back();
  const size_t last = result.dim_order.empty() ? 0 : result.dim_order.back();
  const double inner = at_least_one(size(result, last)), rows = numel(result) / inner;
  terms.add("rows", rows);
  terms.add("elements", numel(result));
  terms.add("vectors", rows * vectors(inner));
}

// Images: what all channels of a pixel share is found once. Kernels for vectors take four channels at a time, if there
// are as many.
void count_pixels(const OperatorCall& call, Terms& terms) {
  const CallArgument& result = call.arguments.back();
  const double channels = at_least_one(size(result, 1)), elements = numel(result), positions = elements / channels;
  const bool by_four = channels >= 4;
  terms.add("positions", positions);
  terms.add("elements", elements);
  terms.add("few", by_four ? 0 : elements);
  terms.add("many positions", by_four ? positions : 0);
  terms.add("fours", by_four ? positions * std::ceil(channels / 4) : 0);
}

// --- products ---

// Kernels for vectors take three channels at a time.
double triples(double channels) { return std::ceil(channels / 3); }

// rows [M, K] times columns [N, K].
void count_products(double batch, double rows, double columns, double inner, Terms& terms) {
  const double steps = batch * rows * columns * vectors(inner);
  terms.add("rows", batch * rows);
  terms.add("columns", batch * columns);
  terms.add("outputs", batch * rows * columns);
  terms.add("vectors", steps);
  terms.add("lone vectors", rows == 1 ? steps : 0);
  terms.add("triples", rows == 1 ? 0 : batch * triples(columns));
  terms.add("inputs", batch * rows * inner);
  terms.add("weights", batch * columns * inner);
  terms.add_macs(batch * rows * columns * inner);
}

// Outputs of a call that shifts sums to the left, which kernels for vectors do one by one.
double left_shifted(const CallArgument& shifts, double outputs) {
  const auto left = [](int64_t shift) { return shift >= 0; };
  return std::any_of(shifts.numbers.begin(), shifts.numbers.end(), left) ? outputs : 0;
}

void count_linear(const OperatorCall& call, Terms& terms) {
  const CallArgument& x = call.arguments[0];
  constexpr size_t kShifts = 8;
  if (call.arguments.size() > kShifts)
    terms.add("left shifts", left_shifted(call.arguments[kShifts], numel(call.arguments.back())));
  const double inner = at_least_one(last_size(x));
  count_products(1, numel(x) / inner, size(call.arguments[1], 0), inner, terms);
}

template <size_t kRight>
void count_matmul(const OperatorCall& call, Terms& terms) {
  const CallArgument &left = call.arguments[0], &right = call.arguments[kRight];
  count_products(size(left, 0), size(left, 1), size(right, 1), size(left, 2), terms);
}

// query [.., L, E], key and value [.., S, E].
void count_attention(const OperatorCall& call, Terms& terms) {
  const CallArgument &query = call.arguments[0], &key = call.arguments[1];
  const double inner = at_least_one(last_size(query)), rows = numel(query) / inner;
  const double columns = key.sizes.size() < 2 ? 1 : size(key, key.sizes.size() - 2);
  terms.add("rows", rows);
  terms.add("outputs", numel(query));
  terms.add("scores", rows * columns);
  terms.add("vectors", rows * columns * vectors(inner));
  terms.add_macs(2 * rows * columns * inner);
}

// input [T, B, K], input_weights [gates * H, K], state_weights [gates * H, H]: T steps of both products for each
// sequence. Of lstm_projected, state_weights are [gates * H, P], followed by the projection [P, H].
void count_recurrent(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &input = call.arguments[1], &state = call.arguments[2];
  const bool is_projected = call.name == "wick_cortex_m::lstm_projected.out";
  const double steps = size(x, 0) * size(x, 1), rows = size(state, 0);
  terms.add("steps", steps);
  terms.add("cells", steps * size(is_projected ? call.arguments[3] : state, 1));
  terms.add_macs(steps * (rows * (size(input, 1) + size(state, 1)) + (is_projected ? numel(call.arguments[3]) : 0)));
}

void count_sums(const OperatorCall& call, Terms& terms) {
  terms.add("outputs", numel(call.arguments.back()));
  terms.add("values", numel(call.arguments[0]));
}

// --- windows ---

// One dimension of a window: how many outputs have a window that reaches into the padding.
double outputs_at_borders(double from, double to, double kernel, double stride, double padding, double dilation) {
  if (stride <= 0) return 0;
  const double reach = (kernel - 1) * dilation;
  const double before = std::clamp(std::ceil(padding / stride), 0.0, to);
  const double last_inside = std::floor((from - 1 - reach + padding) / stride);
  const double after = std::clamp(to - 1 - last_inside, 0.0, to);
  return std::min(before + after, to);
}

struct WindowCounts {
  double positions, taps, lines, border_lines;  // lines: rows of windows
  double border_share;                          // of positions whose window reaches into the padding

  WindowCounts(const CallArgument& x, const CallArgument& result, double height, double width,
               const CallArgument& stride, const CallArgument& padding, const CallArgument& dilation) {
    const double to[] = {size(result, 2), size(result, 3)};
    positions = size(result, 0) * to[0] * to[1];
    taps = height * width;
    const double of[] = {height, width};
    double at_border[2];
    for (size_t d = 0; d < 2; ++d) {
      const double dilated = dilation.numbers.empty() ? 1 : number(dilation, d);
      at_border[d] = outputs_at_borders(size(x, 2 + d), to[d], of[d], number(stride, d), number(padding, d), dilated);
    }
    lines = positions * height;
    border_lines = to[1] == 0 ? 0 : lines * at_border[1] / to[1];
    border_share = to[0] * to[1] == 0 ? 0 : 1 - (1 - at_border[0] / to[0]) * (1 - at_border[1] / to[1]);
  }
};

template <typename Condition>
bool all_of_numbers(const CallArgument& list, const Condition& condition) {
  return std::all_of(list.numbers.begin(), list.numbers.end(), condition);
}
bool all_are(const CallArgument& list, int64_t wanted) {
  return all_of_numbers(list, [&](int64_t each) { return each == wanted; });
}

// quantized_conv2d(x, weights [O, kH, kW, I], bias, stride, padding, dilation, ..).
void count_convolution(const OperatorCall& call, Terms& terms) {
  constexpr double kChannelsOfPass = 32;  // of kernels for vectors
  const CallArgument &x = call.arguments[0], &weights = call.arguments[1], &result = call.arguments.back();
  const double height = size(weights, 1), width = size(weights, 2), inputs = at_least_one(size(weights, 3));
  const WindowCounts window(x, result, height, width, call.arguments[3], call.arguments[4], call.arguments[5]);
  const double inner = window.taps * inputs, groups = at_least_one(size(x, 1) / inputs);
  const double outputs = size(result, 1), passes = groups * std::ceil(outputs / groups / kChannelsOfPass);
  const bool in_place = window.taps == 1 && all_are(call.arguments[4], 0);
  const bool adjacent = groups == 1 && number(call.arguments[5], 1) == 1;
  const double split = adjacent ? window.border_lines : window.lines;  // whose taps are copied one by one
  terms.add("rows", window.positions * passes);
  terms.add("outputs", window.positions * outputs);
  terms.add("vectors", window.positions * outputs * vectors(inner));
  terms.add("row triples", window.positions * groups * triples(outputs / groups));
  terms.add("on vectors", convolution_on_vectors(call));
  constexpr size_t kShifts = 9;
  if (call.arguments.size() > kShifts)
    terms.add("left shifts", left_shifted(call.arguments[kShifts], window.positions * outputs));
  terms.add("lines", in_place ? 0 : window.lines * passes);
  terms.add("split lines", in_place ? 0 : split * passes);
  terms.add("split taps", in_place ? 0 : split * width * passes);
  terms.add("gathered", in_place ? 0 : window.positions * passes * inner);
  terms.add("inputs", window.positions * groups * inner);
  terms.add("channels", outputs);
  terms.add("weights", outputs * inner);
  terms.add_macs(window.positions * outputs * inner);
}

void count_windows(const WindowCounts& window, const CallArgument& result, Terms& terms) {
  const double channels = size(result, 1);
  terms.add("positions", window.positions);
  terms.add("border positions", window.positions * window.border_share);
  terms.add("outputs", numel(result));
  terms.add("border outputs", numel(result) * window.border_share);
  terms.add("taps", window.positions * window.taps);
  terms.add("vectors", window.positions * window.taps * vectors(channels));
}

// One input channel: kernels for vectors treat it as a convolution.
void count_one_channel(const OperatorCall& call, const WindowCounts& window, Terms& terms) {
  const CallArgument& weights = call.arguments[1];
  const double outputs = numel(call.arguments.back());
  terms.add("on vectors", convolution_on_vectors(call));
  terms.add("gathered of one", window.positions * window.taps);
  terms.add("outputs of one", outputs);
  terms.add("border outputs of one", outputs * window.border_share);
  terms.add("vectors of one", outputs * vectors(window.taps));
  terms.add("weights of one", numel(weights));
  terms.add_macs(outputs * window.taps);
}

// quantized_depthwise_conv2d(x, weights [1, kH, kW, O], bias, stride, padding, dilation, ..), or the same with packed
// weights, whose last size is another.
void count_depthwise(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &weights = call.arguments[1], &result = call.arguments.back();
  const double height = size(weights, 1), width = size(weights, 2), channels = size(result, 1);
  const WindowCounts window(x, result, height, width, call.arguments[3], call.arguments[4], call.arguments[5]);
  const bool packed = weights.dtype == DType::u8;
  if (size(x, 1) == 1 && channels > 1 && !packed) return count_one_channel(call, window, terms);
  count_windows(window, result, terms);
  const double outputs = numel(result), multiplier = std::floor(channels / at_least_one(size(x, 1)));
  const bool simple = all_are(call.arguments[5], 1);
  // Windows of which kernels for vectors compute four at a time, and others by 4 x 4 taps.
  const bool small = simple && height <= 3 && width <= 3 && all_are(call.arguments[3], 1);
  const double quads = std::ceil(height / 4) * std::ceil(width / 4);
  // Kernels without vectors take four channels at a time.
  const bool by_four = multiplier > 1 ? std::fmod(multiplier, 4) == 0 : channels >= 4;
  terms.add("patches", small ? outputs : 0);
  terms.add("quads", simple && !small ? outputs * quads : 0);
  terms.add("dilated macs", simple ? 0 : outputs * window.taps);
  terms.add("points", window.taps == 1 ? outputs : 0);
  terms.add("phase outputs", multiplier > 1 ? outputs : 0);
  terms.add("single macs", by_four ? 0 : outputs * window.taps);
  terms.add("groups", window.positions * vectors(channels));
  terms.add("inputs", vectors(size(x, 1)) * numel(x) / at_least_one(size(x, 1)));
  terms.add("channels", channels);
  terms.add("weights", channels * window.taps);
  terms.add_macs(numel(result) * window.taps);
}

// (x, kernel_size, stride, padding, ..)
void count_pool(const OperatorCall& call, Terms& terms) {
  const CallArgument& kernel = call.arguments[1];
  const WindowCounts window(call.arguments[0], call.arguments.back(), number(kernel, 0), number(kernel, 1),
                            call.arguments[2], call.arguments[3], {});
  count_windows(window, call.arguments.back(), terms);
  terms.add("values", numel(call.arguments.back()) * window.taps);
}

// quantized_transpose_conv2d(x, weights [O, kH, kW, I], bias, stride, padding, ..).
void count_transposed(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &weights = call.arguments[1], &result = call.arguments.back();
  const double positions = numel(x) / at_least_one(size(x, 1)), taps = size(weights, 1) * size(weights, 2);
  const double outputs = numel(result), result_positions = outputs / at_least_one(size(result, 1));
  const double products = positions * numel(weights), inputs = size(weights, 3);
  terms.add("outputs", outputs);
  terms.add("taps", positions * taps);
  terms.add("output taps", positions * taps * size(weights, 0));
  // Kernels that gather what arrives at an output multiply zeros where nothing does, unless each output meets one tap.
  const CallArgument& stride = call.arguments[3];
  const bool one_tap = number(stride, 0) == size(weights, 1) && number(stride, 1) == size(weights, 2);
  const double of_output = one_tap ? 1 : taps;
  terms.add("gathered taps", one_tap ? 0 : result_positions * taps);
  terms.add("gathered", result_positions * of_output * inputs);
  terms.add("gathered macs", result_positions * of_output * size(weights, 0) * inputs);
  // Kernels for vectors take three positions and two channels at a time; of one tap those of a line.
  const double lines = one_tap ? result_positions / at_least_one(size(x, 3)) : 1;
  const double threes = lines * std::ceil(result_positions / lines / 3);
  const double pairs = threes * std::ceil(size(weights, 0) / 2), row_vectors = vectors(of_output * inputs);
  terms.add("pairs", pairs);
  terms.add("pair vectors", pairs * row_vectors);
  terms.add("row vectors", result_positions * row_vectors);
  terms.add("channels", size(weights, 0) * (one_tap ? taps : 1));
  terms.add("channel vectors", size(weights, 0) * (one_tap ? taps : 1) * row_vectors);
  terms.add("weights", numel(weights));
  terms.add_macs(products);
}

// --- portable kernels ---

// What they write and read.
void count_portable(const OperatorCall& call, Terms& terms) {
  double read = 0;
  for (size_t i = 0; i + 1 < call.arguments.size(); ++i)
    read += call.arguments[i].is_tensor ? numel(call.arguments[i]) : 0;
  const double elements = numel(call.arguments.back());
  terms.add("elements", elements);
  terms.add("values", read);
  terms.add("runs", elements / at_least_one(run_of(call)));
  terms.add("broadcast", broadcasts(call) ? elements : 0);
  bool same_layout = true;
  for (const CallArgument& operand : call.arguments)
    same_layout = same_layout && (operand.dim_order.size() != call.arguments.back().dim_order.size() ||
                                  operand.dim_order == call.arguments.back().dim_order);
  terms.add("other layout", same_layout ? 0 : elements);
}

void count_portable_convolution(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &weights = call.arguments[1], &result = call.arguments.back();
  const bool transposed = number(call.arguments[6], 0) != 0, depthwise = size(weights, 1) == 1;
  const double each = numel(weights) / at_least_one(size(weights, 0));
  const double macs = (transposed ? numel(x) : numel(result)) * each;
  terms.add("elements", numel(result));
  terms.add("inputs", numel(result) / at_least_one(size(result, 1)) * each);
  terms.add("transposed macs", transposed ? macs : 0);
  terms.add("depthwise macs", depthwise && !transposed ? macs : 0);
  terms.add("weights", numel(weights));
  terms.add_macs(macs);
}

void count_portable_products(const CallArgument& left, const OperatorCall& call, Terms& terms) {
  const double inner = last_size(left);
  terms.add("elements", numel(call.arguments.back()));
  terms.add("inputs", numel(left));
  terms.add_macs(numel(call.arguments.back()) * inner);
}
// With sums (MVE) windows are copied for each pass over 32 channels, unless they are pixels. Without them MVE unpacks
// the weights of some channels at a time.
void count_packed_convolution(const OperatorCall& call, Terms& terms) {
  constexpr double kPass = 32;
  const CallArgument &x = call.arguments[0], &weights = call.arguments[1], &y = call.arguments.back();
  const double outputs = at_least_one(size(weights, 0)), groups = at_least_one(number(call.arguments[5], 0));
  const double taps = number(call.arguments[4], 0) * number(call.arguments[4], 1);
  const double depth = taps * size(x, 1) / groups, passes = groups * std::ceil(outputs / groups / kPass);
  const std::vector<int64_t>& padding = call.arguments[7].numbers;
  const bool pads = std::any_of(padding.begin(), padding.end(), [](int64_t each) { return each != 0; });
  const double copies = taps > 1 || pads ? numel(y) / outputs * passes * taps : 0;
  const double inputs = numel(y) / outputs * passes * depth, macs = numel(y) * depth;
  const bool is_summed = call.arguments[3].is_tensor;
  terms.add(is_summed ? "outputs, summed" : "outputs", numel(y));
  terms.add(is_summed ? "copies, summed" : "copies", copies);
  terms.add(is_summed ? "inputs, summed" : "inputs", inputs);
  terms.add_macs(macs, is_summed ? "macs, summed" : "macs");
  if (is_summed) return;
  terms.add("on vectors", packed_convolution_on_vectors(call));
  terms.add("weights", outputs * depth);
}

// What operators whose rows say enough do; false for others.
bool count_by_facts(const OperatorCall& call, Terms& terms) {
  using compiler::Movement;
  const std::vector<const compiler::OpDef*>& ops = compiler::all_ops();
  const auto found = std::find_if(ops.begin(), ops.end(),
                                  [&](const compiler::OpDef* op) { return op->kernel && call.name == op->kernel; });
  if (found == ops.end() || call.arguments.size() < 3) return false;
  const compiler::OpFacts& facts = (*found)->facts;
  if (facts.gemm) {
    count_portable_products(call.arguments[facts.gemm.left], call, terms);
  } else if (facts.movement == Movement::permute) {
    count_permuted(call, terms);
  } else if (facts.movement == Movement::slice || facts.movement == Movement::view) {
    count_copied(call, terms);
  } else {
    return false;
  }
  return true;
}

// Whether it puts tensors of a list one behind another.
bool is_concatenation(const OperatorCall& call) {
  const std::vector<CallArgument>& items = call.arguments[0].items;
  return call.arguments.size() == 3 && !items.empty() && items[0].sizes.size() == call.arguments.back().sizes.size();
}

// A whole execution: {instructions of the program, their arguments}.
void count_executor(const OperatorCall& call, Terms& terms) {
  terms.add("instructions", number(call.arguments[0], 0));
  terms.add("arguments", number(call.arguments[0], 1));
}

struct Counter {
  std::string_view kernel;
  size_t least_arguments;  // what `count` reads, and the result
  void (*count)(const OperatorCall& call, Terms& terms);
};
constexpr Counter kCounters[] = {
    {"wick_cortex_m::conv2d_int4.out", 7, count_packed_convolution},
    {compiler::kExecutorCall, 1, count_executor},
    {"cortex_m::quantized_linear.out", 3, count_linear},
    {"wick_cortex_m::linear_per_channel.out", 3, count_linear},
    {"wick_cortex_m::linear_int4.out", 3, count_linear},
    {"wick_cortex_m::kernel_sum.out", 2, count_sums},
    {"wick_cortex_m::attention.out", 3, count_attention},
    {"wick_cortex_m::attention_int16.out", 3, count_attention},
    {"wick_cortex_m::lstm.out", 4, count_recurrent},
    {"wick_cortex_m::lstm_projected.out", 5, count_recurrent},
    {"wick_cortex_m::gru.out", 4, count_recurrent},
    {"wick_cortex_m::rnn_tanh.out", 4, count_recurrent},
    {"wick_cortex_m::rnn_relu.out", 4, count_recurrent},
    {"cortex_m::quantized_batch_matmul.out", 4, count_matmul<2>},
    {"wick_cortex_m::batch_matmul_int16.out", 3, count_matmul<1>},
    {"cortex_m::quantized_conv2d.out", 7, count_convolution},
    {"wick_cortex_m::conv2d.out", 7, count_convolution},
    {"cortex_m::quantized_depthwise_conv2d.out", 7, count_depthwise},
    {"wick_cortex_m::depthwise_conv2d.out", 7, count_depthwise},
    {"wick_cortex_m::depthwise_conv2d_int4.out", 7, count_depthwise},
    {"cortex_m::quantized_transpose_conv2d.out", 5, count_transposed},
    {"cortex_m::quantized_avg_pool2d.out", 5, count_pool},
    {"cortex_m::quantized_max_pool2d.out", 5, count_pool},
    {"wick_cortex_m::sum_pool2d.out", 5, count_pool},
    {"cortex_m::softmax.out", 2, count_rows},
    {"cortex_m::transpose.out", 3, count_turned},
    {"cortex_m::pad.out", 2, count_pad},
    {"cortex_m::pad_contiguous.out", 2, count_pad},
    {"wick_cortex_m::layer_norm.out", 2, count_rows},
    {"wick_cortex_m::softmax_int16.out", 2, count_rows},
    {"wick_cortex_m::log_softmax.out", 2, count_rows},
    {"wick_cortex_m::log_softmax_int16.out", 2, count_rows},
    {"wick_cortex_m::resize2d_int16.out", 2, count_pixels},
    {"aten::clone.out", 2, count_copied},
    {"dim_order_ops::_to_dim_order_copy.out", 2, count_copied},
    {"dim_order_ops::_clone_dim_order.out", 2, count_copied},
    {"aten::convolution.out", 8, count_portable_convolution},
};

}  // namespace

void count_terms(const OperatorCall& call, bool is_own, CallCost& cost) {
  Terms terms(cost);
  for (const Counter& row : kCounters) {
    if (row.kernel == call.name && call.arguments.size() >= row.least_arguments) return row.count(call, terms);
  }
  if (is_own) return count_elements(call, terms);
  if (is_concatenation(call)) return count_joined(call, terms);
  if (!count_by_facts(call, terms)) count_portable(call, terms);
}

}  // namespace wick::cortex_m
