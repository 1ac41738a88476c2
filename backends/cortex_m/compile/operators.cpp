#include "backends/cortex_m/compile/operators.h"

#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Ints;
using compiler::kElements;
using compiler::kMoves;
using compiler::kNoStock;
using compiler::kOverwrites;
using compiler::kPure;
using compiler::Node;
using compiler::OpDef;
using compiler::reject;
using compiler::require;
using compiler::require_equal;
using compiler::require_rank;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;

namespace {

void require_int8(const Value* x, const char* what) {
  if (x->dtype() != DType::i8) reject(fmt::format("{} is not int8", what));
}

// --- element-wise ---

void infer_quantize(Node& node) {
  const Value* x = node.tensor("input");
  const auto dtype = node.dtype("dtype");
  require(x->dtype() == DType::f32, "the input of quantize_per_tensor is not f32");
  require(dtype == DType::i8 || dtype == DType::i16, "quantize_per_tensor gives int8 or int16");
  compiler::set_result(node, *dtype, x->sizes());
}

void infer_dequantize(Node& node) {
  const Value* x = node.tensor("input");
  require(node.dtype("dtype") == x->dtype() && (x->dtype() == DType::i8 || x->dtype() == DType::i16),
          "dequantize_per_tensor takes int8 or int16, as its dtype says");
  compiler::set_result(node, DType::f32, x->sizes());
}

void infer_activation(Node& node) {
  const Value *x = node.tensor("input"), *lut = node.tensor("lut");
  require_int8(x, "the input");
  require_int8(lut, "the table");
  require_rank(lut, 1, "the table");
  require_equal(lut->sizes()[0], 256, "elements of the table");
  compiler::set_result(node, DType::i8, x->sizes());
}

void infer_two(Node& node) {
  const Value *a = node.tensor("self"), *b = node.tensor("other");
  require(a->dtype() == b->dtype(), "the operands differ in dtype");
  compiler::set_result(node, a->dtype(), compiler::broadcast(a->sizes(), b->sizes()));
}

void infer_log_softmax(Node& node) {
  const Value* x = node.tensor("input");
  require_int8(x, "the input");
  require(x->rank() > 0, "the input of log_softmax has no dimension");
  compiler::set_result(node, DType::i8, x->sizes());
}

void infer_softmax(Node& node) {
  const Value* x = node.tensor("input");
  require_int8(x, "the input");
  compiler::wrap_dim(node.static_integer("dim"), x->rank());
  compiler::set_result(node, DType::i8, x->sizes());
}

// --- matmuls ---

const Sym& last_size(const Value* x) {
  require(x->rank() > 0, "the input of a linear layer has no dimension");
  return x->sizes().back();
}

// x[.., K] times N rows of weights gives y[.., N] of x's dtype. `columns`: the size of a row.
void set_linear_result(Node& node, const Sym& columns, const char* what) {
  const Value *x = node.tensor("input"), *weights = node.tensor("weights");
  require_rank(weights, 2, "weights");
  require_equal(columns, weights->sizes()[1], what);
  Sizes sizes = x->sizes();
  sizes.back() = weights->sizes()[0];
  compiler::set_result(node, x->dtype(), std::move(sizes));
}

void infer_linear(Node& node) {
  require_int8(node.tensor("input"), "the input");
  require_int8(node.tensor("weights"), "the weights tensor");
  set_linear_result(node, last_size(node.tensor("input")), "inputs of quantized_linear");
}

// Weights of four bits are packed: kernels/int4.h.
void infer_linear_int4(Node& node) {
  require_int8(node.tensor("input"), "the input");
  require(node.tensor("weights")->dtype() == DType::u8, "the weights tensor is not uint8");
  set_linear_result(node, floor_div(last_size(node.tensor("input")) + 7, 8) * 4, "bytes of a row of weights");
}

// --- int16 ---

void require_int16(const Value* x, const char* what) {
  if (x->dtype() != DType::i16) reject(fmt::format("{} is not int16", what));
}

void infer_linear_int16(Node& node) {
  require_int16(node.tensor("input"), "the input");
  require_int8(node.tensor("weights"), "the weights tensor");
  set_linear_result(node, last_size(node.tensor("input")), "inputs of linear_int16");
}

void infer_lookup_int16(Node& node) {
  const Value *x = node.tensor("input"), *table = node.tensor("table");
  require_int16(x, "the input");
  require(table->dtype() == DType::i32, "the table is not int32");
  require_rank(table, 1, "the table");
  compiler::set_result(node, DType::i16, x->sizes());
}

void infer_requantize(Node& node) {
  const auto dtype = node.dtype("dtype");
  require(dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32, "requantize gives int8, int16 or int32");
  compiler::set_result(node, *dtype, node.tensor("input")->sizes());
}

void infer_kernel_sum(Node& node) {
  const Value* weights = node.tensor("weights");
  require_int8(weights, "the weights tensor");
  require_rank(weights, 2, "weights");
  compiler::set_result(node, DType::i32, {1, weights->sizes()[0]});
}

void infer_group_norm(Node& node) {
  const Value* x = node.tensor("input");
  require(x->dtype() == DType::i8 || x->dtype() == DType::i16, "the input of group_norm is not int8 or int16");
  require(x->rank() >= 2, "the input of group_norm has no channels");
  for (const char* name : {"scales", "offsets"}) {
    require_rank(node.tensor(name), 1, "a row of parameters");
    require_equal(node.tensor(name)->sizes()[0], x->sizes()[1], "channels of group_norm");
  }
  compiler::set_result(node, x->dtype(), x->sizes());
}

void infer_layer_norm(Node& node) {
  const Value *x = node.tensor("input"), *scales = node.tensor("scales"), *offsets = node.tensor("offsets");
  require(x->dtype() == DType::i8 || x->dtype() == DType::i16, "the input of layer_norm is not int8 or int16");
  require(x->rank() > 0, "the input of layer_norm has no dimension");
  for (const Value* row : {scales, offsets}) {
    require_rank(row, 1, "a row of parameters");
    require_equal(row->sizes()[0], x->sizes().back(), "columns of layer_norm");
  }
  compiler::set_result(node, x->dtype(), x->sizes());
}

void infer_batch_matmul(Node& node) {
  const Value *lhs = node.tensor("lhs"), *rhs = node.tensor("rhs_transposed");
  require_rank(lhs, 3, "lhs");
  require_rank(rhs, 3, "rhs_transposed");
  require_equal(lhs->sizes()[0], rhs->sizes()[0], "batches");
  require_equal(lhs->sizes()[2], rhs->sizes()[2], "inner sizes");
  compiler::set_result(node, DType::i8, {lhs->sizes()[0], lhs->sizes()[1], rhs->sizes()[1]});
}

void infer_batch_matmul_int16(Node& node) {
  infer_batch_matmul(node);
  require(node.tensor("lhs")->dtype() == DType::i16 && node.tensor("rhs_transposed")->dtype() == DType::i16,
          "an operand of batch_matmul_int16 is not int16");
  compiler::set_result(node, DType::i16, Sizes(node.result()->sizes()));
}

void infer_softmax_int16(Node& node) {
  const Value* x = node.tensor("input");
  require(x->dtype() == DType::i16 && x->rank() > 0, "the input of softmax_int16 is not int16, or a number");
  compiler::set_result(node, DType::i16, x->sizes());
}

template <DType dtype>
void infer_attention(Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  for (const Value* each : {q, k, v}) {
    require(each->dtype() == dtype, "an operand of attention has another dtype");
    require_rank(each, 3, "an operand of attention");
  }
  require_equal(v->sizes()[0], k->sizes()[0], "batches");
  require_equal(q->sizes()[2], k->sizes()[2], "features of query and key");
  require_equal(k->sizes()[1], v->sizes()[1], "keys and values");
  compiler::set_result(node, dtype, {q->sizes()[0], q->sizes()[1], v->sizes()[2]});
}

// The input is [steps, batch, features]; the weights have a row for each gate of each cell. Results: the last state (h,
// and c of lstm, or h with more bits) and the output.
void infer_recurrent(Node& node) {
  const Value *x = node.tensor("input"), *weights = node.tensor("state_weights");
  require(x->dtype() == DType::i8 || x->dtype() == DType::i16, "the input of a recurrent layer is not int8 or int16");
  require_rank(x, 3, "the input");
  require_rank(weights, 2, "the weights of the state");
  const auto dtype = node.dtype("dtype");
  require(dtype == DType::i8 || dtype == DType::i16, "a recurrent layer gives int8 or int16");
  const bool is_projected = node.op->parsed->find("projection") >= 0;
  const Value* cells = is_projected ? node.tensor("projection") : weights;
  require_rank(cells, 2, "the weights of the projection");
  const Sizes state = {x->sizes()[1], weights->sizes()[1]};
  compiler::set_result(node, 0, DType::i16, state);
  compiler::set_result(node, 1, DType::i32, {state[0], cells->sizes()[1]});
  compiler::set_result(node, 2, *dtype, {x->sizes()[0], state[0], state[1]});
}

// --- windows: images are [N, C, H, W], filters [O, kH, kW, I] ---

// The entry for an axis of a list of one or two numbers.
Sym entry_along(const Node& node, const char* name, size_t axis) {
  const Ints list = node.ints(name);
  if (list.empty() || list.size() > 2) reject(fmt::format("{} does not have one or two numbers", name));
  return list[list.size() == 1 ? 0 : axis];
}

Sym positions(const Node& node, const Sym& in, const Sym& kernel, const Sym& dilation, bool ceil, size_t axis) {
  return compiler::window_size(in, entry_along(node, "padding", axis), kernel, entry_along(node, "stride", axis),
                               dilation, ceil);
}

// A padding has two numbers, or four: {top, left, bottom, right}.
Sym padded_size(const Node& node, const Sym& in, size_t axis) {
  const Ints padding = node.ints("padding");
  if (padding.size() != 2 && padding.size() != 4) reject("padding does not have two or four numbers");
  return in + padding[axis] + padding[padding.size() - 2 + axis];
}

void infer_convolution(Node& node, const Sym& channels, DType dtype = DType::i8) {
  const Value *x = node.tensor("input"), *filter = node.tensor("weight");
  require_rank(x, 4, "the input");
  require_rank(filter, 4, "the weight tensor");
  Sizes sizes = {x->sizes()[0], channels, 0, 0};
  for (size_t axis = 0; axis < 2; ++axis)
    sizes[2 + axis] =
        compiler::window_size(padded_size(node, x->sizes()[2 + axis], axis), 0, filter->sizes()[1 + axis],
                              entry_along(node, "stride", axis), entry_along(node, "dilation", axis), false);
  compiler::set_result(node, dtype, std::move(sizes));
}

void infer_conv2d_int16(Node& node) {
  require_int16(node.tensor("input"), "the input");
  require_rank(node.tensor("weight"), 4, "the weight tensor");
  infer_convolution(node, node.tensor("weight")->sizes()[0], DType::i16);
}
void infer_depthwise_int16(Node& node) {
  require_int16(node.tensor("input"), "the input");
  require_rank(node.tensor("weight"), 4, "the weight tensor");
  infer_convolution(node, node.tensor("weight")->sizes()[3], DType::i16);
}

// Weights of four bits are packed: kernels/int4.h.
void infer_conv2d_int4(Node& node) {
  const Value *x = node.tensor("input"), *weights = node.tensor("weight");
  require_int8(x, "the input");
  require_rank(x, 4, "the input");
  require_rank(weights, 2, "the packed weights");
  require(weights->dtype() == DType::u8, "the packed weights are not uint8");
  Sizes sizes = {x->sizes()[0], weights->sizes()[0], 0, 0};
  for (size_t axis = 0; axis < 2; ++axis)
    sizes[2 + axis] =
        compiler::window_size(padded_size(node, x->sizes()[2 + axis], axis), 0, entry_along(node, "kernel_size", axis),
                              entry_along(node, "stride", axis), entry_along(node, "dilation", axis), false);
  compiler::set_result(node, DType::i8, std::move(sizes));
}

void infer_depthwise_int4(Node& node) {
  const Value *x = node.tensor("input"), *weights = node.tensor("weight");
  require_int8(x, "the input");
  require_rank(x, 4, "the input");
  require(weights->dtype() == DType::u8, "the packed weights are not uint8");
  infer_convolution(node, x->sizes()[1] * node.static_integer("depth_multiplier"));
}

void infer_conv2d(Node& node) { infer_convolution(node, node.tensor("weight")->sizes()[0]); }
void infer_depthwise(Node& node) {
  require_rank(node.tensor("weight"), 4, "the weight tensor");
  infer_convolution(node, node.tensor("weight")->sizes()[3]);
}

void infer_transposed(Node& node) {
  const Value *x = node.tensor("input"), *filter = node.tensor("weight");
  require_rank(x, 4, "the input");
  require_rank(filter, 4, "the weight tensor");
  Sizes sizes = {x->sizes()[0], filter->sizes()[0], 0, 0};
  for (size_t axis = 0; axis < 2; ++axis) {
    const Sym span = entry_along(node, "dilation", axis) * (filter->sizes()[1 + axis] - 1) + 1;
    sizes[2 + axis] = (x->sizes()[2 + axis] - 1) * entry_along(node, "stride", axis) -
                      2 * entry_along(node, "padding", axis) + span + entry_along(node, "output_padding", axis);
  }
  compiler::set_result(node, DType::i8, std::move(sizes));
}

void infer_pool(Node& node, bool dilated, bool ceil_mode) {
  const Value* x = node.tensor("input");
  require_rank(x, 4, "the input");
  Sizes sizes = x->sizes();
  for (size_t axis = 0; axis < 2; ++axis)
    sizes[2 + axis] = positions(node, x->sizes()[2 + axis], entry_along(node, "kernel_size", axis),
                                dilated ? entry_along(node, "dilation", axis) : Sym(1), ceil_mode, axis);
  compiler::set_result(node, DType::i8, std::move(sizes));
}
void infer_avg_pool(Node& node) { infer_pool(node, false, node.boolean("ceil_mode")); }
void infer_max_pool(Node& node) { infer_pool(node, true, node.boolean("ceil_mode")); }
void infer_sum_pool(Node& node) { infer_pool(node, false, false); }

void set_resized(Node& node) {
  const Value *x = node.tensor("input"), *rows = node.tensor("rows"), *columns = node.tensor("columns");
  require_rank(x, 4, "the input");
  Sizes sizes = {x->sizes()[0], x->sizes()[1]};
  for (const Value* taps : {rows, columns}) {
    require_rank(taps, 1, "a list of taps");
    require(taps->sizes()[0].is_const() && taps->sizes()[0].value() % 2 == 0, "taps are not pairs");
    sizes.push_back(taps->sizes()[0].value() / 2);
  }
  compiler::set_result(node, x->dtype(), std::move(sizes));
}

void infer_resize(Node& node) {
  require_int8(node.tensor("input"), "the input");
  set_resized(node);
}

void infer_resize_int16(Node& node) {
  require_int16(node.tensor("input"), "the input");
  set_resized(node);
}

// --- data movement ---

void infer_transpose(Node& node) {
  const Value* x = node.tensor("input");
  const std::vector<int64_t> perm = node.static_ints("perm");
  require(perm.size() == x->rank() && x->rank() <= 4, "transpose takes rank 4 at most, and perm one number for each");
  Sizes sizes;
  std::vector<bool> seen(perm.size());
  for (const int64_t dim : perm) {
    require(dim >= 0 && static_cast<size_t>(dim) < perm.size() && !seen[static_cast<size_t>(dim)],
            "perm is no permutation of the dimensions");
    seen[static_cast<size_t>(dim)] = true;
    sizes.push_back(x->sizes()[static_cast<size_t>(dim)]);
  }
  compiler::set_result(node, DType::i8, std::move(sizes));
}

// Pads of the last dimensions. For rank 4 they are in the order N, H, W, C, the memory order of the layout rule.
void infer_pad(Node& node) {
  const Value* x = node.tensor("input");
  const Ints before = node.ints("pre_pad"), after = node.ints("post_pad");
  require(before.size() == 4 && after.size() == 4, "pre_pad and post_pad do not have 4 numbers each");
  require(x->rank() > 0 && x->rank() <= 4, "pad takes rank 1 to 4");
  static constexpr size_t kLast[] = {0, 1, 2, 3}, kImage[] = {0, 3, 1, 2};
  Sizes sizes = x->sizes();
  for (size_t d = 0; d < sizes.size(); ++d) {
    const size_t at = x->rank() == 4 ? kImage[d] : kLast[4 - x->rank() + d];
    sizes[d] = sizes[d] + before[at] + after[at];
  }
  compiler::set_result(node, DType::i8, std::move(sizes));
}

// Stock's operators. The arguments are in stock's order, which is that of the kernels.
#define STOCK(name, arguments, infer, flags) \
  OpDef { "cortex_m::" name "(" arguments ") -> Tensor", infer, nullptr, "cortex_m::" name ".out", kElements | (flags) }
#define CONVERSION "Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype"
#define OUTPUT "int output_zero_point, int output_multiplier, int output_shift"
#define CHANNELS                                                                                   \
  "int input_offset, int output_offset, Tensor requantize_multipliers, Tensor requantize_shifts, " \
  "int activation_min, int activation_max, Tensor scratch"
#define FILTER "Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "

constexpr OpDef kRows[] = {
    STOCK("quantize_per_tensor", CONVERSION, infer_quantize, kPure),
    STOCK("dequantize_per_tensor", CONVERSION, infer_dequantize, kPure),
    STOCK("quantized_add",
          "Tensor self, int self_zero_point, int self_multiplier, int self_shift, Tensor other, "
          "int other_zero_point, int other_multiplier, int other_shift, " OUTPUT
          ", int activation_min, int activation_max",
          infer_two, kOverwrites),
    STOCK("quantized_mul", "Tensor self, int self_zero_point, Tensor other, int other_zero_point, " OUTPUT, infer_two,
          kOverwrites),
    STOCK("quantized_div",
          "Tensor self, int self_zero_point, Tensor other, int other_zero_point, int output_zero_point, "
          "float output_scale",
          infer_two, kOverwrites),
    STOCK("quantized_activation", "Tensor input, Tensor lut", infer_activation, kOverwrites),
    STOCK("minimum", "Tensor self, Tensor other", infer_two, kOverwrites),
    STOCK("maximum", "Tensor self, Tensor other", infer_two, kOverwrites),
    // activation_max comes before activation_min here.
    STOCK("quantized_linear",
          "Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, int input_offset, int filter_offset, "
          "int output_offset, int[] requantize_multipliers, int[] requantize_shifts, int activation_max, "
          "int activation_min",
          infer_linear, kPure),
    STOCK("softmax",
          "Tensor input, int dim, int input_zero_point, int output_zero_point, int input_multiplier, "
          "int input_shift, int diff_min",
          infer_softmax, kPure),
    STOCK("transpose", "Tensor input, int[] perm", infer_transpose, kMoves),
    STOCK("pad", "Tensor input, int[] pre_pad, int[] post_pad, int pad_value", infer_pad, kMoves),
    STOCK("quantized_conv2d", FILTER "int[] dilation, " CHANNELS, infer_conv2d, kPure),
    STOCK("quantized_depthwise_conv2d", FILTER "int[] dilation, int depth_multiplier, " CHANNELS, infer_depthwise,
          kPure),
    STOCK("quantized_transpose_conv2d",
          FILTER "int[] output_padding, int[] dilation, " CHANNELS ", Tensor output_scratch", infer_transposed, kPure),
    STOCK("quantized_avg_pool2d",
          "Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, int zero_point, "
          "int multiplier, int shift, Tensor scratch",
          infer_avg_pool, kPure),
    STOCK("quantized_max_pool2d",
          "Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode, "
          "int input_zero_point, int output_zero_point, int activation_min, int activation_max",
          infer_max_pool, kPure),
    // Stock calls offsets zero points here: these are the negated zero points of the operands.
    STOCK("quantized_batch_matmul",
          "Tensor lhs, int lhs_zero_point, Tensor rhs_transposed, int rhs_zero_point, " OUTPUT ", Tensor scratch",
          infer_batch_matmul, kPure),
#undef STOCK
    // Wick's own operators.
    {"wick_cortex_m::conv2d(" FILTER "int[] dilation, " CHANNELS ") -> Tensor", infer_conv2d, nullptr,
     "wick_cortex_m::conv2d.out", kElements | kNoStock},
    {"wick_cortex_m::depthwise_conv2d(" FILTER "int[] dilation, int depth_multiplier, " CHANNELS ") -> Tensor",
     infer_depthwise, nullptr, "wick_cortex_m::depthwise_conv2d.out", kElements | kNoStock},
    {"wick_cortex_m::linear_per_channel(Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, "
     "int input_offset, int filter_offset, int output_offset, Tensor requantize_multipliers, "
     "Tensor requantize_shifts, int activation_min, int activation_max) -> Tensor",
     infer_linear, nullptr, "wick_cortex_m::linear_per_channel.out", kElements | kNoStock},
    {"wick_cortex_m::linear_int4(Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, "
     "int input_offset, int filter_offset, int output_offset, Tensor requantize_multipliers, "
     "Tensor requantize_shifts, int activation_min, int activation_max) -> Tensor",
     infer_linear_int4, nullptr, "wick_cortex_m::linear_int4.out", kElements | kNoStock},
    {"wick_cortex_m::conv2d_int4(Tensor input, Tensor weight, Tensor? bias, Tensor? kernel_sum, int[] kernel_size, "
     "int groups, int[] stride, int[] padding, int[] dilation, int input_offset, int output_offset, "
     "Tensor requantize_multipliers, Tensor requantize_shifts, int activation_min, int activation_max, "
     "Tensor scratch) -> Tensor",
     infer_conv2d_int4, nullptr, "wick_cortex_m::conv2d_int4.out", kElements | kNoStock},
    {"wick_cortex_m::depthwise_conv2d_int4(" FILTER "int[] dilation, int depth_multiplier, " CHANNELS ") -> Tensor",
     infer_depthwise_int4, nullptr, "wick_cortex_m::depthwise_conv2d_int4.out", kElements | kNoStock},
    {"wick_cortex_m::sum_pool2d(Tensor input, int[] kernel_size, int[] stride, int[] padding, int input_offset, "
     "int output_offset, int multiplier, int shift, int activation_min, int activation_max) -> Tensor",
     infer_sum_pool, nullptr, "wick_cortex_m::sum_pool2d.out", kElements | kNoStock},
    {"wick_cortex_m::add(Tensor self, int self_zero_point, int self_multiplier, int self_shift, Tensor other, "
     "int other_zero_point, int other_multiplier, int other_shift, int output_zero_point, int output_multiplier, "
     "int output_shift, int activation_min, int activation_max) -> Tensor",
     infer_two, nullptr, "wick_cortex_m::add.out", kElements | kNoStock},
    {"wick_cortex_m::mul(Tensor self, int self_zero_point, Tensor other, int other_zero_point, "
     "int output_zero_point, int output_multiplier, int output_shift) -> Tensor",
     infer_two, nullptr, "wick_cortex_m::mul.out", kElements | kNoStock},
    {"wick_cortex_m::layer_norm(Tensor input, Tensor scales, Tensor offsets, bool centered, int input_zero_point, "
     "int epsilon, int shift, int output_zero_point, int activation_min, int activation_max, int epsilon_bits) -> "
     "Tensor",
     infer_layer_norm, nullptr, "wick_cortex_m::layer_norm.out", kElements | kNoStock},
    {"wick_cortex_m::group_norm(Tensor input, Tensor scales, Tensor offsets, int groups, int input_zero_point, "
     "int epsilon, int shift, int output_zero_point, int activation_min, int activation_max, int epsilon_bits) -> "
     "Tensor",
     infer_group_norm, nullptr, "wick_cortex_m::group_norm.out", kElements | kNoStock},
    {"wick_cortex_m::log_softmax(Tensor input, int multiplier, int shift, int output_zero_point, "
     "int output_multiplier, int output_shift, int activation_min, int activation_max) -> Tensor",
     infer_log_softmax, nullptr, "wick_cortex_m::log_softmax.out", kElements | kNoStock},
    {"wick_cortex_m::resize2d(Tensor input, Tensor rows, Tensor columns, int input_zero_point, int multiplier, "
     "int shift, int output_zero_point, int activation_min, int activation_max) -> Tensor",
     infer_resize, nullptr, "wick_cortex_m::resize2d.out", kElements | kNoStock},
#define RECURRENT(weights, factors)                                                                    \
  "(Tensor input, Tensor input_weights, Tensor state_weights, " weights                                \
  "Tensor input_factors, Tensor state_factors, " factors                                               \
  "Tensor bias, Tensor? h, Tensor? c, int input_zero_point, bool is_reversed, int state_bits, "        \
  "int output_zero_point, int output_multiplier, int output_shift, Tensor scratch, ScalarType dtype) " \
  "-> (Tensor, Tensor, Tensor)"
    {"wick_cortex_m::lstm" RECURRENT("", ""), infer_recurrent, nullptr, "wick_cortex_m::lstm.out",
     kElements | kNoStock},
    {"wick_cortex_m::lstm_projected" RECURRENT("Tensor projection, ", "Tensor projection_factors, "), infer_recurrent,
     nullptr, "wick_cortex_m::lstm_projected.out", kElements | kNoStock},
    {"wick_cortex_m::gru" RECURRENT("", ""), infer_recurrent, nullptr, "wick_cortex_m::gru.out", kElements | kNoStock},
    {"wick_cortex_m::rnn_tanh" RECURRENT("", ""), infer_recurrent, nullptr, "wick_cortex_m::rnn_tanh.out",
     kElements | kNoStock},
    {"wick_cortex_m::rnn_relu" RECURRENT("", ""), infer_recurrent, nullptr, "wick_cortex_m::rnn_relu.out",
     kElements | kNoStock},
#undef RECURRENT
    {"wick_cortex_m::attention(Tensor query, Tensor key, Tensor value, Tensor? mask, int mask_bits, int "
     "query_zero_point, "
     "int value_zero_point, int score_multiplier, int score_shift, bool is_causal, int output_zero_point, "
     "int output_multiplier, int output_shift, Tensor scratch) -> Tensor",
     infer_attention<DType::i8>, nullptr, "wick_cortex_m::attention.out", kElements | kNoStock},
    {"wick_cortex_m::attention_int16(Tensor query, Tensor key, Tensor value, Tensor? mask, int score_multiplier, "
     "int score_shift, bool is_causal, int output_multiplier, int output_shift, int activation_min, "
     "int activation_max, Tensor scratch) -> Tensor",
     infer_attention<DType::i16>, nullptr, "wick_cortex_m::attention_int16.out", kElements | kNoStock},
    {"wick_cortex_m::requantize(Tensor input, int input_zero_point, int output_zero_point, int multiplier, int shift, "
     "int quant_min, int quant_max, ScalarType dtype) -> Tensor",
     infer_requantize, nullptr, "wick_cortex_m::requantize.out", kElements | kNoStock},
    {"wick_cortex_m::linear_int16(Tensor input, Tensor weights, Tensor? bias, Tensor requantize_multipliers, "
     "Tensor requantize_shifts, int activation_min, int activation_max) -> Tensor",
     infer_linear_int16, nullptr, "wick_cortex_m::linear_int16.out", kElements | kNoStock},
    {"wick_cortex_m::lookup_int16(Tensor input, Tensor table, int activation_min, int activation_max) -> Tensor",
     infer_lookup_int16, nullptr, "wick_cortex_m::lookup_int16.out", kElements | kNoStock},
    {"wick_cortex_m::graded_lookup_int16(Tensor input, Tensor table, int activation_min, int activation_max) -> Tensor",
     infer_lookup_int16, nullptr, "wick_cortex_m::graded_lookup_int16.out", kElements | kNoStock},
    {"wick_cortex_m::add_int16(Tensor self, int self_multiplier, int self_shift, Tensor other, int other_multiplier, "
     "int other_shift, int output_multiplier, int output_shift, int activation_min, int activation_max) -> Tensor",
     infer_two, nullptr, "wick_cortex_m::add_int16.out", kElements | kNoStock},
    {"wick_cortex_m::mul_int16(Tensor self, Tensor other, int output_multiplier, int output_shift, "
     "int activation_min, int activation_max) -> Tensor",
     infer_two, nullptr, "wick_cortex_m::mul_int16.out", kElements | kNoStock},
    {"wick_cortex_m::conv2d_int16(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
     "int[] dilation, Tensor requantize_multipliers, Tensor requantize_shifts, int activation_min, "
     "int activation_max, Tensor scratch) -> Tensor",
     infer_conv2d_int16, nullptr, "wick_cortex_m::conv2d_int16.out", kElements | kNoStock},
    {"wick_cortex_m::depthwise_conv2d_int16(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
     "int[] dilation, int depth_multiplier, Tensor requantize_multipliers, Tensor requantize_shifts, "
     "int activation_min, int activation_max) -> Tensor",
     infer_depthwise_int16, nullptr, "wick_cortex_m::depthwise_conv2d_int16.out", kElements | kNoStock},
    {"wick_cortex_m::softmax_int16(Tensor input, int multiplier, int shift, int output_multiplier, int output_shift, "
     "int activation_min, int activation_max) -> Tensor",
     infer_softmax_int16, nullptr, "wick_cortex_m::softmax_int16.out", kElements | kNoStock},
    {"wick_cortex_m::log_softmax_int16(Tensor input, int multiplier, int shift, int output_multiplier, "
     "int output_shift, int activation_min, int activation_max) -> Tensor",
     infer_softmax_int16, nullptr, "wick_cortex_m::log_softmax_int16.out", kElements | kNoStock},
    {"wick_cortex_m::resize2d_int16(Tensor input, Tensor rows, Tensor columns, int multiplier, int shift, "
     "int activation_min, int activation_max) -> Tensor",
     infer_resize_int16, nullptr, "wick_cortex_m::resize2d_int16.out", kElements | kNoStock},
    {"wick_cortex_m::batch_matmul_int16(Tensor lhs, Tensor rhs_transposed, int multiplier, int shift, "
     "int activation_min, int activation_max) -> Tensor",
     infer_batch_matmul_int16, nullptr, "wick_cortex_m::batch_matmul_int16.out", kElements | kNoStock},
    {"wick_cortex_m::kernel_sum(Tensor weights, Tensor? bias, int input_offset, int filter_offset) -> Tensor",
     infer_kernel_sum, nullptr, "wick_cortex_m::kernel_sum.out", kElements | kNoStock},
};
#undef STOCK
#undef CONVERSION
#undef OUTPUT
#undef CHANNELS
#undef FILTER

}  // namespace

Span<const OpDef> operators() { return kRows; }

}  // namespace wick::cortex_m
