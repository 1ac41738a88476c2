#include "backends/xnnpack/compile/quantized.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/target.h"
#include "backends/xnnpack/payload/bf16_elements.h"
#include "common/float16.h"

namespace wick::xnnpack {

using compiler::Conversion;
using compiler::converts;
using compiler::Node;
using compiler::stated_quantization;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

bool is_scale(double scale) {
  const auto narrow = static_cast<float>(scale);
  return narrow > 0 && std::isnormal(narrow);
}

// What the library can compute on.
std::optional<Affine> affine_of(const compiler::Quantization* stated) {
  if (!stated || !stated->is_per_tensor()) return {};
  const double scale = stated->scales[0], zero = stated->zero_points[0];
  if (!is_scale(scale) || !(zero >= -128 && zero <= 127) || zero != std::floor(zero)) return {};
  return Affine{scale, static_cast<int32_t>(zero)};
}

}  // namespace

std::optional<Affine> static_quantize(const Node& node) {
  if (!converts(node, Conversion::quantize) || node.result()->dtype() != DType::i8) return {};
  const auto stated = stated_quantization(node);
  return stated && stated->quant_min == -128 && stated->quant_max == 127 ? affine_of(stated.get()) : std::nullopt;
}

std::optional<Affine> static_dequantize(const Node& node) {
  if (!converts(node, Conversion::dequantize) || node.tensor("input")->dtype() != DType::i8) return {};
  return affine_of(stated_quantization(node).get());
}

// --- constants ---

bool QuantizedConstant::is_symmetric() const {
  return std::all_of(zero_points.begin(), zero_points.end(), [](double zero) { return zero == 0; });
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
  scales.resize(channels, scales[0]);
  zero_points.resize(channels, zero_points[0]);
}

bool QuantizedConstant::has_scale_by_row() const {
  if (sizes.size() != 2 || blocks[0] != 1) return false;
  const auto groups = static_cast<size_t>(sizes[1] / blocks[1]);
  for (size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] != scales[i - i % groups]) return false;
  }
  return true;
}

std::vector<double> QuantizedConstant::row_scales() const {
  const auto groups = static_cast<size_t>(sizes[1] / blocks[1]);
  std::vector<double> out;
  for (size_t i = 0; i < scales.size(); i += groups) out.push_back(scales[i]);
  return out;
}

namespace {

// Below it, what bf16 leaves of a scale may not be a normal number.
constexpr double kLeastGroupScale = 0x1p-100;
constexpr int kBf16Digits = 8, kF32Digits = 24;

uint16_t bf16_toward_zero(float value) { return static_cast<uint16_t>(bits_from_float(value) >> 16); }
float from_bf16(uint16_t bits) { return float_from_bits(uint32_t{bits} << 16); }

// How many bf16 numbers add up to a normal one.
int parts_of(float scale) {
  uint32_t digits = (bits_from_float(scale) & 0x7fffffu) | 0x800000u;
  int count = kF32Digits;
  for (; (digits & 1) == 0; digits >>= 1) --count;
  return (count + kBf16Digits - 1) / kBf16Digits;
}

}  // namespace

std::vector<std::vector<uint16_t>> group_scales(const std::vector<double>& scales) {
  int count = 1;
  for (const double scale : scales) count = std::max(count, parts_of(static_cast<float>(scale)));
  std::vector<std::vector<uint16_t>> parts(static_cast<size_t>(count));
  for (const double wide : scales) {
    auto rest = static_cast<float>(wide);
    for (size_t i = 0; i < parts.size(); ++i) {
      uint16_t part = bf16_toward_zero(rest);
      // The library takes no zeros: what is exact too early is halved.
      if (i + 1 < parts.size() && from_bf16(part) == rest) part = bf16_toward_zero(rest / 2);
      parts[i].push_back(part);
      rest -= from_bf16(part);
    }
  }
  return parts;
}

std::vector<std::vector<uint16_t>> rounded_group_scales(const std::vector<double>& scales) {
  const std::vector<float> wide(scales.begin(), scales.end());
  std::vector<uint16_t> narrow(wide.size());
  narrow_to_bf16(wide.data(), narrow.data(), wide.size());
  return {narrow};
}

std::string rounding_of_scales(const Node& node, const TargetOptions& options) {
  if (options.setting(kGroupScales) == "exact" || !is_dynamic_product(node)) return "";
  const auto weight = quantized_constant(*node.tensor("weight")->producer);
  const bool rounds =
      weight && weight->is_4_bit() && !weight->has_scale_by_row() && group_scales(weight->scales).size() > 1;
  return rounds ? "the scales of its weight's groups are rounded to bf16" : "";
}

bool dequantizes_constant(const Node& node) {
  return converts(node, Conversion::dequantize) && node.tensor("input")->is_constant();
}

std::optional<QuantizedConstant> quantized_constant(const Node& node) {
  if (!dequantizes_constant(node)) return {};
  QuantizedConstant out;
  out.elements = node.tensor("input");
  const DType dtype = node.result()->dtype();
  if (out.elements->dtype() != DType::i8 || (dtype != DType::f32 && dtype != DType::f16)) return {};
  const auto sizes = compiler::static_sizes(out.elements->sizes());
  const auto stated = stated_quantization(node);
  if (!sizes || !stated || std::count(sizes->begin(), sizes->end(), 0) > 0) return {};
  out.sizes = *sizes;
  out.quant_min = stated->quant_min;
  out.quant_max = stated->quant_max;
  out.blocks = stated->block_sizes(out.sizes);
  out.scales = stated->scales.all();
  out.zero_points = stated->zero_points.all();
  if (!std::all_of(out.scales.begin(), out.scales.end(), is_scale)) return {};
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
    element = static_cast<float>(stored - constant.zero_points[block]) * static_cast<float>(constant.scales[block]);
    for (size_t i = rank; i > 0; --i) {
      if (++at[i - 1] < constant.sizes[i - 1]) break;
      at[i - 1] = 0;
    }
  }
  return out;
}

// --- quantization at run time ---

namespace {

// The range that the library quantizes to; of nodes that state one.
bool covers_int8(const Node& node) {
  if (node.op->parsed->find("quant_min") < 0) return true;
  const auto low = number(node, "quant_min"), high = number(node, "quant_max");
  return low && high && *low == -128 && *high == 127;
}

}  // namespace

std::optional<DynamicChain> dynamic_chain(const Node& node) {
  const auto chain = compiler::quantization_chain(node);
  if (!chain || (chain->x->dtype() != DType::f32 && chain->x->dtype() != DType::f16)) return {};
  for (const Node* part : {chain->choose, chain->quantize, chain->dequantize}) {
    if (!covers_int8(*part)) return {};
  }
  return chain;
}

namespace {

bool read_inside_only(const Value* value) { return value->num_uses() == value->users().size(); }

bool in_range(const QuantizedConstant& constant) {
  const auto bytes = constant.elements->data.bytes();
  return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) {
    const auto element = static_cast<int8_t>(byte);
    return element >= constant.quant_min && element <= constant.quant_max;
  });
}

std::string refuse_groups(const QuantizedConstant& weight) {
  if (weight.blocks[0] != 1 || weight.blocks[1] % 32 != 0) return "a weight whose groups are not multiples of 32";
  const bool tiny =
      std::any_of(weight.scales.begin(), weight.scales.end(), [](double scale) { return scale < kLeastGroupScale; });
  return tiny ? "a weight with groups whose scale is below 2^-100" : "";
}

// Weights of a product whose input is quantized at run time.
std::string refuse_dynamic_weights(const Node& node) {
  const Node* source = node.tensor("weight")->producer;
  auto weight = source ? quantized_constant(*source) : std::nullopt;
  if (!weight) return "a weight that is not quantized";
  weight->repeat_by_channel();
  if (!weight->is_symmetric()) return "a weight with zero points";
  const Value* bias = node.optional_tensor("bias");
  if (bias && (!bias->is_constant() || (bias->dtype() != DType::f32 && bias->dtype() != DType::f16)))
    return "a bias that is not a constant";
  if (weight->is_4_bit() && !in_range(*weight)) return "a weight with elements outside its range";
  if (node.is("aten.linear.default")) {
    if (weight->is_per_channel(0) || (weight->is_4_bit() && weight->has_scale_by_row())) return "";
    if (weight->is_4_bit()) return refuse_groups(*weight);
    return "a weight without a scale for each of its rows";
  }
  if (node.boolean("transposed"))
    return "a transposed convolution, for which the library of 2024-11 allocates too little";
  if (weight->is_4_bit()) return "a filter of 4-bit elements";
  if (node.result()->rank() != 4) return "a convolution that is not two-dimensional";
  if (!weight->is_per_channel(0)) return "a filter without a scale for each of its channels";
  if (node.static_integer("groups") > 1 && weight->sizes[1] == 1) return "a depthwise convolution";
  return "";
}

std::string refuse_dynamic_product(const Node& node, const TargetOptions& options) {
  if (!node.is("aten.linear.default") && !node.is("aten.convolution.default"))
    return "an operator that does not compute on int8 reads it";
  const Verdict verdict = supports(node, options);
  return verdict.taken ? refuse_dynamic_weights(node) : verdict.reason;
}

}  // namespace

Verdict whole_chain(const DynamicChain& chain, const TargetOptions& options) {
  for (const Value* parameter : chain.choose->results()) {
    if (!read_inside_only(parameter)) return Verdict::no("its parameters leave the program");
    for (const Node* user : parameter->users()) {
      const auto other = dynamic_chain(*user);
      if (!other || other->choose != chain.choose || other->quantize != chain.quantize)
        return Verdict::no("its parameters are read elsewhere too");
    }
  }
  const Value* elements = chain.quantize->result();
  if (!read_inside_only(elements)) return Verdict::no("its elements leave the program");
  const Node *conv = nullptr, *linear = nullptr;
  for (const Node* dequantize : elements->users()) {
    const auto other = dynamic_chain(*dequantize);
    if (!other || other->dequantize != dequantize) return Verdict::no("its elements are read elsewhere too");
    const Value* result = dequantize->result();
    if (!read_inside_only(result)) return Verdict::no("what it dequantizes leaves the program");
    for (const Node* product : result->users()) {
      const auto operands = product->operands();
      if (std::count(operands.begin(), operands.end(), result) != 1 || operands[0] != result)
        return Verdict::no("an operator that does not compute on int8 reads it");
      const std::string reason = refuse_dynamic_product(*product, options);
      if (!reason.empty())
        return Verdict::no("it is for a matmul or convolution that is not taken on int8:  " + reason);
      (product->is("aten.linear.default") ? linear : conv) = product;
    }
  }
  if (conv && chain.by_rows) return Verdict::no("a convolution with parameters for each row");
  return conv && linear ? Verdict::no("both a convolution and a linear layer read it") : Verdict::yes();
}

bool is_dynamic_product(const Node& node) {
  if (!node.is("aten.linear.default") && !node.is("aten.convolution.default")) return false;
  const Node* source = node.operands()[0]->producer;
  const auto chain = source ? dynamic_chain(*source) : std::nullopt;
  return chain && chain->dequantize == source && refuse_dynamic_weights(node).empty();
}

bool keeps_integer_weights(const Node& node) {
  if (!node.is("aten.linear.default") || node.result()->dtype() != DType::f32 || is_dynamic_product(node)) return false;
  const Node* source = node.tensor("weight")->producer;
  auto weight = source ? quantized_constant(*source) : std::nullopt;
  if (!weight || node.tensor("weight")->rank() != 2) return false;
  weight->repeat_by_channel();
  const Value* bias = node.optional_tensor("bias");
  return weight->is_symmetric() && weight->is_per_channel(0) &&
         (!bias || (bias->is_constant() && bias->dtype() == DType::f32));
}

// --- static int8 ---

namespace {

struct Scales {
  std::vector<Affine> operands;
  Affine result;
};

bool within(double ratio, int low, int high) {
  return std::fabs(ratio) >= std::ldexp(1.0, low) && std::fabs(ratio) < std::ldexp(1.0, high);
}
double ratio(const Affine& from, const Affine& to) { return from.scale / to.scale; }

bool same_scales(const Node&, const Scales& scales) {
  return std::all_of(scales.operands.begin(), scales.operands.end(),
                     [&](const Affine& operand) { return operand == scales.result; });
}
bool fits_sum(const Node& node, const Scales& scales) {
  const auto alpha = number(node, "alpha");
  return alpha && *alpha == 1 && scales.operands.size() == 2 &&
         within(ratio(scales.operands[0], scales.result), -10, 8) &&
         within(ratio(scales.operands[1], scales.result), -10, 8);
}
bool fits_product(const Node&, const Scales& scales) {
  return scales.operands.size() == 2 &&
         within(scales.operands[0].scale * scales.operands[1].scale / scales.result.scale, -16, 8);
}
bool fits_mean(const Node& node, const Scales& scales) {
  const bool one = !node.is("aten.mean.dim") && !(node.result()->sizes()[2].is(1) && node.result()->sizes()[3].is(1));
  return !one && !is_matrix_mean(node) && within(ratio(scales.operands[0], scales.result), -8, 8);
}
bool fits_slice(const Node& node, const Scales& scales) {
  return node.integer("step").is(1) && same_scales(node, scales);
}

// Weights of 8 bits, symmetric, with one scale or one for each output channel.
bool fits_weights(const Node& node, const Scales& scales) {
  const Node* source = node.tensor("weight")->producer;
  const auto weight = source ? quantized_constant(*source) : std::nullopt;
  if (!weight || weight->is_4_bit() || !weight->is_symmetric()) return false;
  const Value* bias = node.optional_tensor("bias");
  if (bias && (!bias->is_constant() || bias->dtype() != DType::f32)) return false;
  const bool convolves = node.is("aten.convolution.default");
  if (convolves && node.result()->rank() > 4) return false;  // a sum of several products
  const bool transposed = convolves && node.boolean("transposed");
  if (!weight->is_per_tensor()) {
    if (!weight->is_per_channel(transposed ? 1 : 0)) return false;
    if (transposed && node.static_integer("groups") > 1) return false;
  }
  return std::all_of(weight->scales.begin(), weight->scales.end(), [&](double scale) {
    return is_scale(scales.operands[0].scale * scale) &&
           within(scales.operands[0].scale * scale / scales.result.scale, -32, 8);
  });
}

struct StaticRow {
  std::string_view op;
  bool (*fits)(const Node& node, const Scales& scales);
};
constexpr StaticRow kStaticRows[] = {
    {"aten._adaptive_avg_pool2d.default", fits_mean},
    {"aten.adaptive_avg_pool2d.default", fits_mean},
    {"aten.add.Tensor", fits_sum},
    {"aten.cat.default", same_scales},
    {"aten.clamp.default", same_scales},
    {"aten.constant_pad_nd.default", same_scales},
    {"aten.convolution.default", fits_weights},
    {"aten.hardtanh.default", same_scales},
    {"aten.linear.default", fits_weights},
    {"aten.max_pool2d_with_indices.default", same_scales},
    {"aten.mean.dim", fits_mean},
    {"aten.mul.Tensor", fits_product},
    {"aten.permute.default", same_scales},
    {"aten.relu.default", same_scales},
    {"aten.relu6.default", same_scales},
    {"aten.select.int", same_scales},
    {"aten.slice.Tensor", fits_slice},
    {"aten.sub.Tensor", fits_sum},
    {"aten.view.default", same_scales},
};

const Node* only_reader(const Node& node) {
  const Value* result = node.result();
  return result->num_uses() == 1 && result->users().size() == 1 ? result->users()[0] : nullptr;
}

}  // namespace

std::optional<Affine> static_int8(const Node& node) {
  const auto row = std::find_if(std::begin(kStaticRows), std::end(kStaticRows),
                                [&](const StaticRow& r) { return r.op == node.op->name(); });
  if (row == std::end(kStaticRows)) return {};
  const Node* reader = only_reader(node);
  Range range;
  if (reader && find_rule(node)->takes_range && clamp_range(*reader, &range)) reader = only_reader(*reader);
  const auto result = reader ? static_quantize(*reader) : std::nullopt;
  if (!result) return {};
  Scales scales{{}, *result};
  for (const Value* operand : node.operands()) {
    if (row->fits == fits_weights && operand != node.operands()[0]) continue;
    const auto affine = operand->producer ? static_dequantize(*operand->producer) : std::nullopt;
    if (!affine || operand->dtype() != DType::f32) return {};
    scales.operands.push_back(*affine);
  }
  return !scales.operands.empty() && row->fits(node, scales) ? result : std::nullopt;
}

}  // namespace wick::xnnpack
