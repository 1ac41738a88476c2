#include "backends/xnnpack/compile/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "backends/xnnpack/compile/group_weights.h"
#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/target.h"
#include "compiler/ir/text/text.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

bool is_scale(double scale) {
  const auto narrow = static_cast<float>(scale);
  return narrow > 0 && std::isnormal(narrow);
}

constexpr char kNotByRows[] =
    "its readers do not take quantization chosen at run time, or it is not by rows in -128 .. 127";

bool has_whole_range(const compiler::Quantization& q) { return q.quant_min == -128 && q.quant_max == 127; }

bool is_convolution(const Node& node) { return node.is("aten.convolution.default"); }
bool is_linear(const Node& node) { return node.is("aten.linear.default"); }

}  // namespace

std::optional<Affine> affine_of(const Value& value) {
  const auto& q = value.tensor().quantization;
  if (!q || value.dtype() != DType::i8 || q->at_run_time || !q->is_per_tensor()) return {};
  const double scale = q->scales[0], zero = q->zero_points[0];
  if (!is_scale(scale) || !(zero >= -128 && zero <= 127) || zero != std::floor(zero)) return {};
  return Affine{scale, static_cast<int32_t>(zero)};
}

bool is_chosen_at_run_time(const Value& value) {
  return value.is_quantized() && value.tensor().quantization->at_run_time;
}

// --- constants ---

bool QuantizedConstant::is_symmetric() const { return zero_points.are_all(0); }

bool QuantizedConstant::has_small_differences() const {
  const compiler::NumberFacts& zeros = zero_points.range();
  return quant_max - quant_min <= 127 && zeros.finite && zeros.whole && zeros.least >= static_cast<double>(quant_min) &&
         zeros.largest <= static_cast<double>(quant_max);
}

bool QuantizedConstant::is_per_channel(size_t dim) const {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (blocks[i] != (i == dim ? 1 : sizes[i])) return false;
  }
  return dim < sizes.size();
}

void QuantizedConstant::repeat_by_channel() {
  if (!is_per_tensor() || sizes.empty()) return;
  const auto channels = static_cast<size_t>(sizes[0]);
  blocks[0] = 1;
  scales = compiler::NumberList::repeat(scales.dtype, scales[0], channels);
  zero_points = compiler::NumberList::repeat(zero_points.dtype, zero_points[0], channels);
}

bool QuantizedConstant::has_scale_by_row() const {
  if (sizes.size() != 2 || blocks[0] != 1) return false;
  const auto groups = static_cast<size_t>(sizes[1] / blocks[1]);
  if (groups == 1) return true;
  size_t at = 0;  // in the row
  double first = 0;
  bool alike = true;
  scales.for_each_part([&](Span<const double> part) {
    for (const double scale : part) {
      if (at == 0) first = scale;
      alike = alike && scale == first;
      at = at + 1 == groups ? 0 : at + 1;
    }
    return alike;
  });
  return alike;
}

compiler::NumberList QuantizedConstant::row_scales() const {
  const auto groups = static_cast<size_t>(sizes[1] / blocks[1]);
  if (groups == 1) return scales;
  std::vector<double> out;
  const std::vector<double> all = scales.all();
  for (size_t i = 0; i < all.size(); i += groups) out.push_back(all[i]);
  return compiler::NumberList::of(scales.dtype, out);
}

std::string rounding_of_scales(const Node& node, const TargetContext& context) {
  if (context.options.setting(kGroupScales) == "exact" || !is_dynamic_product(node)) return "";
  const auto weight = quantized_constant(*node.tensor("weight"));
  const bool rounds = weight && !weight->is_per_tensor() && !weight->has_scale_by_row() && weight->sizes.size() == 2 &&
                      has_several_parts(weight->scales);
  return rounds ? "the scales of its weight's groups are rounded to bf16" : "";
}

std::optional<QuantizedConstant> quantized_constant(const Value& value) {
  const auto stored = compiler::stored_constant(value);
  if (!stored || stored->elements->dtype() != DType::i8) return {};
  const compiler::Quantization& q = *stored->quantization;
  const auto sizes = compiler::static_sizes(stored->elements->sizes());
  if ((q.real != DType::f32 && q.real != DType::f16) || !sizes || std::count(sizes->begin(), sizes->end(), 0) > 0)
    return {};
  QuantizedConstant out;
  out.elements = stored->elements;
  out.sizes = *sizes;
  out.quant_min = q.quant_min;
  out.quant_max = q.quant_max;
  out.blocks = q.block_sizes(out.sizes);
  out.scales = q.scales;
  out.zero_points = q.zero_points;
  const compiler::NumberFacts& scales = out.scales.range();
  if (!scales.finite || !is_scale(scales.least) || !is_scale(scales.largest)) return {};
  return out;
}

std::vector<float> dequantized(const QuantizedConstant& constant) {
  const Value& value = *constant.elements;
  const size_t rank = constant.sizes.size();
  const Order order = stored_order(value);
  std::vector<size_t> strides(rank, 1);  // of the stored bytes
  for (size_t i = rank, stride = 1; i-- > 0;) {
    strides[order[i]] = stride;
    stride *= static_cast<size_t>(constant.sizes[order[i]]);
  }
  const std::vector<double> scales = constant.scales.all(), zero_points = constant.zero_points.all();
  std::vector<float> out(value.data.size_bytes());
  std::vector<int64_t> at(rank, 0);
  for (float& element : out) {
    size_t from = 0, block = 0;
    for (size_t i = 0; i < rank; ++i) {
      from += static_cast<size_t>(at[i]) * strides[i];
      block = block * static_cast<size_t>(constant.sizes[i] / constant.blocks[i]) +
              static_cast<size_t>(at[i] / constant.blocks[i]);
    }
    const auto stored = static_cast<double>(static_cast<int8_t>(value.data.bytes()[from]));
    element = static_cast<float>(stored - zero_points[block]) * static_cast<float>(scales[block]);
    for (size_t i = rank; i > 0; --i) {
      if (++at[i - 1] < constant.sizes[i - 1]) break;
      at[i - 1] = 0;
    }
  }
  return out;
}

// --- quantization at run time ---

namespace {

bool in_range(const QuantizedConstant& constant) {
  const compiler::NumberFacts& elements = constant.elements->data.number_facts(DType::i8);
  return elements.least >= static_cast<double>(constant.quant_min) &&
         elements.largest <= static_cast<double>(constant.quant_max);
}

std::string refuse_groups(const QuantizedConstant& weight) {
  if (weight.blocks[0] != 1) return "a weight without a scale for each of its rows";
  if (weight.blocks[1] % 32 != 0) return "a weight whose groups are not multiples of 32";
  return weight.scales.range().least < kLeastGroupScale ? "a weight with groups whose scale is below 2^-100" : "";
}

// Why the weights of a matmul or convolution whose input is quantized at run time are refused, or "".
std::string refuse_dynamic_weights(const Node& node) {
  auto weight = quantized_constant(*node.tensor("weight"));
  if (!weight) return "a weight that is not quantized";
  weight->repeat_by_channel();
  const bool shifts = !weight->is_symmetric();
  if (shifts && (!is_linear(node) || !weight->has_small_differences())) return "a weight with zero points";
  const Value* bias = node.optional_tensor("bias");
  if (bias && (!is_plain_constant(*bias) || (bias->dtype() != DType::f32 && bias->dtype() != DType::f16)))
    return "a bias that is not a constant";
  if ((weight->is_4_bit() || shifts) && !in_range(*weight)) return "a weight with elements outside its range";
  if (node.is("aten.linear.default")) {
    return weight->is_per_channel(0) || weight->has_scale_by_row() ? "" : refuse_groups(*weight);
  }
  if (node.boolean("transposed"))
    return "a transposed convolution, for which the library of 2024-11 allocates too little";
  if (weight->is_4_bit()) return "a filter of 4-bit elements";
  if (node.result()->rank() != 4) return "a convolution that is not two-dimensional";
  if (!weight->is_per_channel(0)) return "a filter without a scale for each of its channels";
  if (node.static_integer("groups") > 1 && weight->sizes[1] == 1) return "a depthwise convolution";
  return "";
}

std::string refuse_dynamic_product(const Node& node, const Value& x, const TargetContext& context) {
  const auto operands = node.operands();
  if ((!is_linear(node) && !is_convolution(node)) || operands[0] != &x ||
      std::count(operands.begin(), operands.end(), &x) != 1)
    return "an operator that does not compute on int8 reads it";
  const Verdict verdict = supports_numbers(node, context);
  return verdict.taken ? refuse_dynamic_weights(node) : verdict.reason;
}

// Whether all that reads `x`, with parameters for each row or for the tensor, computes on int8.
Verdict readers_on_int8(const Value& x, bool by_rows, const TargetContext& context) {
  const Node *conv = nullptr, *linear = nullptr;
  for (const Node* reader : x.users()) {
    const std::string reason = refuse_dynamic_product(*reader, x, context);
    if (!reason.empty()) return Verdict::no("it is for a matmul or convolution that is not taken on int8:  " + reason);
    (is_linear(*reader) ? linear : conv) = reader;
  }
  if (conv && by_rows) return Verdict::no("a convolution with parameters for each row");
  return conv && linear ? Verdict::no("both a convolution and a linear layer read it") : Verdict::yes();
}

// One pair of parameters for each row along the last dimension.
bool has_row_blocks(const compiler::Quantization& q) {
  return !q.blocks.empty() && q.blocks.back() == 0 &&
         std::all_of(q.blocks.begin(), q.blocks.end() - 1, [](int64_t block) { return block == 1; });
}

// The quantized side of a conversion: the result of a quantize, the input of a dequantize.
const Value& elements_of(const Node& node, const compiler::ConversionForm& form) {
  return form.conversion == compiler::Conversion::quantize ? *node.result() : *node.tensor("input");
}

}  // namespace

Verdict read_on_int8(const Value& elements, const TargetContext& context) {
  const compiler::Quantization& q = *elements.tensor().quantization;
  const bool fits = elements.dtype() == DType::i8 && has_whole_range(q) && (q.is_per_tensor() || has_row_blocks(q));
  if (!fits || (q.real != DType::f32 && q.real != DType::f16)) return Verdict::no(kNotByRows);
  const std::string shape = refuse_shape(elements, Unknown::one);
  if (!shape.empty()) return Verdict::no(shape);
  if (elements.num_uses() != elements.users().size()) return Verdict::no("its elements leave the program");
  return readers_on_int8(elements, !q.is_per_tensor(), context);
}

bool may_fold(const Node& node, const TargetContext& context) {
  if (!node.op->has(compiler::kElements)) return false;
  if (const auto chain = compiler::quantization_chain(node))
    return readers_on_int8(*chain->dequantize->result(), chain->by_rows, context).taken;
  const compiler::ConversionForm* form = compiler::conversion_of(node);
  return form && form->conversion != compiler::Conversion::choose && elements_of(node, *form).dtype() == DType::i8 &&
         compiler::stated_quantization(node);
}

std::string why_not_folded(const Node& node, const TargetContext& context) {
  const compiler::ConversionForm* form = compiler::conversion_of(node);
  if (!form) return "";
  if (const auto chain = compiler::quantization_chain(node)) {
    const Verdict verdict = readers_on_int8(*chain->dequantize->result(), chain->by_rows, context);
    return verdict.taken ? kNotByRows : verdict.reason;
  }
  if (form->conversion == compiler::Conversion::choose) return kNotByRows;
  const Value& elements = elements_of(node, *form);
  if (elements.dtype() != DType::i8) return refuse_elements(elements);
  if (elements.is_quantized()) return "its elements are read with a different scale too";
  return compiler::stated_quantization(node) ? "something else computes with its elements" : kParameters;
}

std::string refuse_elements(const Value& value) {
  if (value.dtype() == DType::u8) return "uint8 elements; only int8 is taken";
  return fmt::format("elements {}; only int8 is taken",
                     compiler::to_text(compiler::Type::of(value.dtype(), value.sizes())));
}

bool is_dynamic_product(const Node& node) {
  return (is_linear(node) || is_convolution(node)) && is_chosen_at_run_time(*node.operands()[0]) &&
         refuse_dynamic_weights(node).empty();
}

bool keeps_integer_weights(const Node& node) {
  if (!is_linear(node) || node.result()->dtype() != DType::f32 || is_dynamic_product(node)) return false;
  auto weight = quantized_constant(*node.tensor("weight"));
  if (!weight || node.tensor("weight")->rank() != 2) return false;
  weight->repeat_by_channel();
  const Value* bias = node.optional_tensor("bias");
  return weight->is_symmetric() && weight->is_per_channel(0) &&
         (!bias || (is_plain_constant(*bias) && bias->dtype() == DType::f32));
}

std::string widening_of_weight(const Node& node) {
  if (!is_linear(node) && !is_convolution(node)) return "";
  if (!quantized_constant(*node.tensor("weight"))) return "";
  if (is_dynamic_product(node) || keeps_integer_weights(node) || static_int8(node)) return "";
  return "its weight is stored as floats: the library does not multiply these integers";
}

// --- static int8 ---

namespace {

bool within(double ratio, int low, int high) {
  return std::fabs(ratio) >= std::ldexp(1.0, low) && std::fabs(ratio) < std::ldexp(1.0, high);
}
double ratio(const Affine& from, const Affine& to) { return from.scale / to.scale; }

}  // namespace

bool same_scales(const Node&, const Int8Scales& scales) {
  return std::all_of(scales.operands.begin(), scales.operands.end(),
                     [&](const Affine& operand) { return operand == scales.result; });
}
bool fits_sum(const Node& node, const Int8Scales& scales) {
  const auto alpha = number(node, "alpha");
  return alpha && *alpha == 1 && scales.operands.size() == 2 &&
         within(ratio(scales.operands[0], scales.result), -10, 8) &&
         within(ratio(scales.operands[1], scales.result), -10, 8);
}
bool fits_product(const Node&, const Int8Scales& scales) {
  return scales.operands.size() == 2 &&
         within(scales.operands[0].scale * scales.operands[1].scale / scales.result.scale, -16, 8);
}
bool fits_mean(const Node& node, const Int8Scales& scales) {
  const bool one = !node.is("aten.mean.dim") && !(node.result()->sizes()[2].is(1) && node.result()->sizes()[3].is(1));
  return !one && !is_matrix_mean(node) && within(ratio(scales.operands[0], scales.result), -8, 8);
}
bool fits_slice(const Node& node, const Int8Scales& scales) {
  return node.integer("step").is(1) && same_scales(node, scales);
}

bool fits_weights(const Node& node, const Int8Scales& scales) {
  const auto weight = quantized_constant(*node.tensor("weight"));
  if (!weight || weight->is_4_bit() || !weight->is_symmetric()) return false;
  const Value* bias = node.optional_tensor("bias");
  if (bias && (!is_plain_constant(*bias) || bias->dtype() != DType::f32)) return false;
  const bool convolves = is_convolution(node);
  if (convolves && node.result()->rank() > 4) return false;  // a sum of several products
  const bool transposed = convolves && node.boolean("transposed");
  if (!weight->is_per_tensor()) {
    if (!weight->is_per_channel(transposed ? 1 : 0)) return false;
    if (transposed && node.static_integer("groups") > 1) return false;
  }
  const compiler::NumberFacts& of_weight = weight->scales.range();
  const double least_and_largest[] = {of_weight.least, of_weight.largest};
  return std::all_of(std::begin(least_and_largest), std::end(least_and_largest), [&](double scale) {
    return is_scale(scales.operands[0].scale * scale) &&
           within(scales.operands[0].scale * scale / scales.result.scale, -32, 8);
  });
}

std::optional<Affine> static_int8(const Node& node) {
  const OpRule* rule = find_rule(node);
  const auto result = rule && rule->on_int8 ? affine_of(*node.result()) : std::nullopt;
  const auto& q = node.result()->tensor().quantization;
  if (!result || !has_whole_range(*q) || q->real != DType::f32) return {};
  Int8Scales scales{{}, *result};
  for (const Value* operand : node.operands()) {
    if (node.op->has(compiler::kWeightedSum) && operand != node.operands()[0]) continue;
    const auto affine = affine_of(*operand);
    if (!affine || operand->tensor().quantization->real != DType::f32) return {};
    scales.operands.push_back(*affine);
  }
  return !scales.operands.empty() && rule->on_int8(node, scales) ? result : std::nullopt;
}

std::string refuse_quantized(const Node& node, const TargetContext& context) {
  bool computes = node.result()->is_quantized(), chosen = false;
  for (const Value* operand : node.operands()) {
    if (!operand->is_quantized()) continue;
    if (operand->is_constant() && !quantized_constant(*operand))
      return "a constant quantized in another way than to int8";
    computes |= !operand->is_constant();
    chosen |= is_chosen_at_run_time(*operand);
  }
  if (!computes || static_int8(node)) return "";
  if (!chosen || node.result()->is_quantized()) return "quantized operands and results that it does not compute on";
  return read_on_int8(*node.operands()[0], context).reason;
}

}  // namespace wick::xnnpack
