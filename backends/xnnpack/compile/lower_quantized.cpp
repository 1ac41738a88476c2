// The part of Lowering that writes int8 values, weights and biases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/xnnpack/compile/group_weights.h"
#include "backends/xnnpack/compile/lower.h"
#include "backends/xnnpack/compile/quantized.h"
#include "backends/xnnpack/compile/target.h"
#include "common/float16.h"
#include "compiler/support/failure.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::Value;

namespace {

// Nodes whose result holds elements of their first operand, or bounds on the same scale.
bool keeps_quantization(NodeType type) {
  switch (type) {
    case NodeType::static_transpose:
    case NodeType::static_reshape:
    case NodeType::static_slice:
    case NodeType::static_constant_pad:
    case NodeType::copy:
    case NodeType::clamp:
    case NodeType::max_pooling_2d:
    case NodeType::concatenate_2:
    case NodeType::concatenate_3:
    case NodeType::concatenate_4:
    case NodeType::concatenate_5: return true;
    default: return false;
  }
}

// The scales as f32.
compiler::ConstantData narrowed(const compiler::NumberList& scales) {
  if (scales.dtype == DType::f32) return scales.data;
  const std::vector<double> all = scales.all();
  return own(std::vector<float>(all.begin(), all.end()));
}

// Eager's quantize in float: round(x * (1 / scale)), to even.
int32_t quantized_bias_element(float element, float inverse_scale) {
  const float rounded = std::nearbyintf(element * inverse_scale);
  return static_cast<int32_t>(std::clamp(rounded, -2147483648.0f, 2147483520.0f));
}

}  // namespace

Quantization quantization_of(const Affine& affine) {
  Quantization out;
  out.kind = Quantization::Kind::per_tensor;
  out.scale = static_cast<float>(affine.scale);
  out.zero_point = affine.zero_point;
  return out;
}

void Lowering::choose_precision(const Node& node) {
  int8_result_ = static_int8(node);
  dynamic_product_ = is_dynamic_product(node);
  integer_weights_ = !int8_result_ && keeps_integer_weights(node);
}

// The quantization of the value that a fresh node writes.
void Lowering::settle_quantization(const PayloadNode& node) {
  const PayloadValue& in = payload_.values[node.inputs[0]];
  if (in.type != DataType::qint8 || node.type == NodeType::convert) return;
  PayloadValue& out = payload_.values[node.output];
  out.type = DataType::qint8;
  if (keeps_quantization(node.type)) {
    out.quantization = in.quantization;
  } else if (int8_result_) {
    out.quantization = quantization_of(*int8_result_);
  } else {
    compiler::fail(compiler::Code::internal, fmt::format("xnnpack: {} reads int8", name_of(node.type)));
  }
}

uint32_t Lowering::convert(uint32_t x, DataType type, const Quantization& quantization) {
  PayloadNode node;
  node.type = NodeType::convert;
  node.inputs[0] = x;
  const uint32_t id = add(std::move(node), Sizes(dims(x)));
  payload_.values[id].type = type;
  payload_.values[id].quantization = quantization;
  return id;
}

uint32_t Lowering::on_scale_of(const Value& result, uint32_t x) {
  const auto affine = affine_of(result);
  if (!affine) return x;
  const Quantization wanted = quantization_of(*affine);
  if (is_int8(x) && quantization(x).scale == wanted.scale && quantization(x).zero_point == wanted.zero_point) return x;
  if (is_int8(x)) x = convert(x, DataType::fp32, {});
  return convert(x, DataType::qint8, wanted);
}

// Type and quantization of an input of the partition.
void Lowering::declare_input(PayloadValue& placed, const Value* value) {
  if (!value->is_quantized()) return;
  const auto affine = affine_of(*value);
  if (!affine) compiler::fail(compiler::Code::internal, "xnnpack: int8 elements of unknown scale");
  placed.type = DataType::qint8;
  placed.quantization = quantization_of(*affine);
}

// --- operands ---

bool Lowering::stays_integers(const Value* value) const {
  if (integer_weights_ && value == current_->tensor("weight")) return true;
  return (int8_result_ || dynamic_product_) && quantized_constant(*value);
}

uint32_t Lowering::converted_rows(uint32_t x, const Quantization& rows, uint32_t flags) {
  auto [known, fresh] = dynamic_.try_emplace({x, rows.num_nonbatch_dims, flags}, 0);
  if (!fresh) return known->second;
  known->second = convert(x, DataType::qdint8, rows);
  payload_.nodes.back().flags = flags;
  return known->second;
}

uint32_t Lowering::reshape_rows(uint32_t x, const Sizes& to) {
  const auto writes_x = [&](const PayloadNode& node) { return node.output == x; };
  const auto conversion = std::find_if(payload_.nodes.rbegin(), payload_.nodes.rend(), writes_x);
  const uint32_t source = conversion->inputs[0], flags = conversion->flags;
  return converted_rows(reshape(source, to), Quantization(quantization(x)), flags);
}

// The operand of a matmul or convolution that is quantized at run time.
uint32_t Lowering::chosen_operand(const Value& elements, const Order& order) {
  Quantization rows;
  rows.kind = Quantization::Kind::per_token;
  rows.num_nonbatch_dims = current_->is("aten.convolution.default") ? 3 : 1;
  // If the least and the largest element of a row are opposite numbers, the two families choose different zero points.
  const bool of_least = elements.tensor().quantization->family == compiler::Quantization::Family::affine;
  return converted_rows(operand(elements.producer->operands()[0], order), rows, of_least ? kZeroPointOfLeast : 0u);
}

const Value* Lowering::as_constant(const Value* value) {
  if (is_plain_constant(*value)) return value;
  const auto constant = quantized_constant(*value);
  if (!constant) return nullptr;
  std::unique_ptr<Value>& twin = float_twins_[value];
  if (!twin) {
    const DType dtype = value->tensor().real_dtype();
    twin = std::make_unique<Value>();
    twin->type = compiler::Type::of(dtype, value->sizes());
    twin->kind = compiler::ValueKind::constant;
    const std::vector<float> elements = dequantized(*constant);
    if (dtype == DType::f16) {
      std::vector<uint16_t> halves;
      for (const float element : elements) halves.push_back(Half(element).bits);
      twin->data = own(std::move(halves));
    } else {
      twin->data = own(elements);
    }
  }
  return twin.get();
}

// --- constants ---

uint32_t Lowering::add_quantized(compiler::ConstantData data, DataType type, const Sizes& dims,
                                 const Quantization& quantization) {
  const uint32_t constant = constant_index(std::move(data));
  std::vector<int64_t> sizes;
  for (const compiler::Sym& size : dims) sizes.push_back(size.value());
  const std::string key =
      fmt::format("{}:{}:{}:{}:{}:{}:{}", constant, static_cast<int>(type), fmt::join(sizes, ","), quantization.scale,
                  quantization.zero_point, quantization.scale_constant, quantization.channel_dim);
  auto [known, fresh] = constant_values_.try_emplace(key, 0);
  if (fresh) {
    known->second = value(dims, type);
    payload_.values[known->second].constant = constant;
    payload_.values[known->second].quantization = quantization;
  }
  return known->second;
}

uint32_t Lowering::int4_rows(const QuantizedConstant& constant, const compiler::ConstantData& elements,
                             const Sizes& result_dims) {
  Quantization quantization;
  quantization.kind = Quantization::Kind::per_channel;
  quantization.scale_constant = constant_index(narrowed(constant.row_scales()));
  return add_quantized(packed_4_bits(elements, static_cast<size_t>(constant.sizes[0])), DataType::qcint4, result_dims,
                       quantization);
}

// Groups of the library have 4-bit elements and bf16 scales.
uint32_t Lowering::group_constant(const QuantizedConstant& constant, const compiler::ConstantData& elements,
                                  const Sizes& result_dims) {
  const bool rounded = context_.options.setting(kGroupScales) == "bf16";
  Quantization quantization;
  quantization.kind = Quantization::Kind::per_group;
  quantization.group_size = static_cast<uint32_t>(constant.blocks[1]);
  FilterParts parts;
  for (const DigitPlane& plane :
       constant.is_4_bit() ? std::vector<DigitPlane>{{1, elements}} : digit_planes(elements)) {
    const compiler::ConstantData packed = packed_4_bits(plane.digits, static_cast<size_t>(constant.sizes[0]));
    std::vector<uint32_t>& same_digits = parts.emplace_back();
    for (const compiler::ConstantData& scales :
         rounded ? rounded_group_scales(constant.scales, plane.factor) : group_scales(constant.scales, plane.factor)) {
      quantization.scale_constant = constant_index(scales);
      same_digits.push_back(add_quantized(packed, DataType::qbint4, result_dims, quantization));
    }
  }
  const uint32_t first = parts[0][0];
  filter_parts_.try_emplace(first, std::move(parts));
  return first;
}

FilterParts Lowering::parts_of(uint32_t filter) const {
  const auto found = filter_parts_.find(filter);
  return found == filter_parts_.end() ? FilterParts{{filter}} : found->second;
}

namespace {

// Subtracts the zero points, which are i8, from the elements of a matrix. The differences need not fit 4 bits.
compiler::ConstantData subtract_zero_points(QuantizedConstant& constant, const compiler::ConstantData& elements) {
  const auto columns = static_cast<size_t>(constant.sizes[1]);
  const auto rows_of_block = static_cast<size_t>(constant.blocks[0]), group = static_cast<size_t>(constant.blocks[1]);
  const std::vector<double> all = constant.zero_points.all();
  const std::vector<int8_t> zeros(all.begin(), all.end());
  const auto subtract = [=](const uint8_t* from, size_t first, size_t count, uint8_t* to) {
    for (size_t row = first; row < first + count; ++row, from += columns, to += columns) {
      const int8_t* of_row = &zeros[row / rows_of_block * (columns / group)];
      for (size_t i = 0; i < columns; ++i) to[i] = static_cast<uint8_t>(from[i] - of_row[i / group]);
    }
  };
  constant.zero_points = compiler::NumberList::repeat(DType::i8, 0, zeros.size());
  constant.quant_min = -128;
  constant.quant_max = 127;
  return compiler::layout::rows_from(elements, static_cast<size_t>(constant.sizes[0]), columns, subtract);
}

compiler::ConstantData permuted(const compiler::ConstantData& elements, const Sizes& dims,
                                const std::vector<int64_t>& perm) {
  const bool moves = !std::is_sorted(perm.begin(), perm.end());
  return moves ? permuted_elements(elements, sizeof(int8_t), dims, perm) : elements;
}

}  // namespace

uint32_t Lowering::int8_constant(const Value& value, const Sizes& dims, const std::vector<int64_t>& perm,
                                 const Sizes& result_dims) {
  auto constant = quantized_constant(value);
  const bool is_linear = current_->is("aten.linear.default");
  if (!constant) compiler::fail(compiler::Code::internal, "xnnpack: a quantized constant with unknown parameters");
  // Float linears, and layers whose input is quantized at run time, take one scale per channel.
  if (dynamic_product_ || integer_weights_) constant->repeat_by_channel();
  compiler::ConstantData elements = constant->elements->data;
  const Order stored = stored_order(*constant->elements);
  if (stored != plain_order(stored.size())) {
    const std::vector<uint32_t> to_plain = positions(stored, plain_order(stored.size()));
    elements = permuted(elements, physical(dims_of(*constant->elements), stored), {to_plain.begin(), to_plain.end()});
  }
  if (dynamic_product_ && !constant->is_symmetric()) elements = subtract_zero_points(*constant, elements);
  elements = permuted(elements, dims, perm);
  const bool by_row = constant->has_scale_by_row();
  if (dynamic_product_ && is_linear && !by_row) return group_constant(*constant, elements, result_dims);
  if (dynamic_product_ && is_linear && constant->is_4_bit()) return int4_rows(*constant, elements, result_dims);
  Quantization quantization;
  if (constant->is_per_tensor() && !dynamic_product_ && !integer_weights_) {
    quantization = quantization_of(Affine{constant->scales[0], static_cast<int32_t>(constant->zero_points[0])});
    return add_quantized(std::move(elements), DataType::qint8, result_dims, quantization);
  }
  quantization.kind = Quantization::Kind::per_channel;
  // Output channels are the first dimension, in filters of depthwise convolutions the last one.
  const compiler::NumberList scales = by_row ? constant->row_scales() : constant->scales;
  const auto channels = static_cast<int64_t>(scales.size());
  quantization.channel_dim = result_dims[0].is(channels) ? 0 : static_cast<int32_t>(result_dims.size()) - 1;
  quantization.scale_constant = constant_index(narrowed(scales));
  return add_quantized(std::move(elements), DataType::qcint8, result_dims, quantization);
}

uint32_t Lowering::int8_bias(const Value* bias) {
  const auto weight = quantized_constant(*current_->tensor("weight"));
  const double input_scale = affine_of(*current_->operands()[0])->scale;
  const std::vector<float> elements = read_floats(bias);
  std::vector<int32_t> out;
  Quantization quantization;
  if (weight->is_per_tensor()) {
    const double scale = weight->scales[0] * input_scale;
    quantization = quantization_of(Affine{scale, 0});
    for (const float element : elements) out.push_back(quantized_bias_element(element, static_cast<float>(1 / scale)));
    return add_quantized(own(std::move(out)), DataType::qint32, dims_of(*bias), quantization);
  }
  std::vector<float> scales;
  for (const double scale : weight->scales.all())
    scales.push_back(static_cast<float>(scale) * static_cast<float>(input_scale));
  for (size_t i = 0; i < elements.size(); ++i) out.push_back(quantized_bias_element(elements[i], 1.0f / scales[i]));
  quantization.kind = Quantization::Kind::per_channel;
  quantization.scale_constant = constant_index(own(std::move(scales)));
  return add_quantized(own(std::move(out)), DataType::qcint32, dims_of(*bias), quantization);
}

}  // namespace wick::xnnpack
