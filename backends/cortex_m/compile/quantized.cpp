#include "backends/cortex_m/compile/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/requantization.h"
#include "compiler/ir/literal.h"
#include "compiler/layout/constant_elements.h"
#include "compiler/ops/rules.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Quantization;
using compiler::Value;

namespace {

bool is_int8_zero(double zero) { return zero == std::floor(zero) && zero >= -128 && zero <= 127; }

template <typename T>
std::vector<double> widened(const Value& constant) {
  const std::vector<T> elements = compiler::layout::elements_of<T>(constant);
  return std::vector<double>(elements.begin(), elements.end());
}

std::vector<double> elements(const Value& constant) {
  switch (constant.dtype()) {
    case DType::i8: return widened<int8_t>(constant);
    case DType::u8:
    case DType::boolean: return widened<uint8_t>(constant);
    case DType::i16: return widened<int16_t>(constant);
    case DType::i32: return widened<int32_t>(constant);
    case DType::i64: return widened<int64_t>(constant);
    case DType::f32: return widened<float>(constant);
    case DType::f64: return widened<double>(constant);
    default: return {};
  }
}

Refusal refuse_dtype(const Value& value, std::string_view what, DType dtype) {
  if (!value.type.is_tensor()) return {fmt::format("{} is a number", what), "make the number a constant of the model"};
  const auto& q = value.tensor().quantization;
  if (!q) return {fmt::format("{} is not quantized: {}", what, to_text(value.type)), kQuantizeIt};
  const bool known = value.dtype() == dtype && q->real == DType::f32 && q->is_per_tensor() && !q->at_run_time;
  if (known) return {};
  return {fmt::format("{} is not {} with one scale known when the program is compiled: {}", what,
                      dtype == DType::i8 ? "int8" : "int16", to_text(value.type)),
          "quantize it per tensor, with a scale that is a constant"};
}

}  // namespace

bool has_known_scalars(const Node& node) {
  for (size_t i = 0; i < node.args().size(); ++i) {
    const compiler::Arg& arg = node.arg(i);
    const bool is_scalar = node.op->parsed->args[i].type == compiler::ArgType::scalar;
    if (is_scalar && !arg.is<compiler::None>() && !compiler::literal(arg)) return false;
  }
  return true;
}

bool is_known_but_batch(const Value& value) {
  if (!value.type.is_tensor()) return false;
  const compiler::Sizes& sizes = value.sizes();
  return sizes.empty() ||
         std::all_of(sizes.begin() + 1, sizes.end(), [](const compiler::Sym& size) { return size.is_const(); });
}

Refusal refuse_int8(const Value& value, std::string_view what) {
  Refusal reason = refuse_dtype(value, what, DType::i8);
  if (!reason.empty() || is_int8_zero(value.tensor().quantization->zero_points[0])) return reason;
  return {fmt::format("the zero point of {} is outside int8", what), "use a zero point within -128..127"};
}

Refusal refuse_int16(const Value& value, std::string_view what) {
  Refusal reason = refuse_dtype(value, what, DType::i16);
  if (!reason.empty() || value.tensor().quantization->zero_points[0] == 0) return reason;
  return {fmt::format("the zero point of {}, which is int16, is not 0", what),
          "quantize it symmetrically: int16 with zero point 0"};
}

Refusal refuse_elements(const Value& value, std::string_view what) {
  const bool wide = value.type.is_tensor() && value.is_quantized() && value.dtype() == DType::i16;
  return wide ? refuse_int16(value, what) : refuse_int8(value, what);
}

bool is_int8(const Value& value) { return refuse_int8(value, "").empty(); }
bool is_int16(const Value& value) { return refuse_int16(value, "").empty(); }
bool has_elements(const Value& value) { return refuse_elements(value, "").empty(); }

Refusal refuse_floats(const Node& node) {
  for (const Value* operand : node.operands()) {
    const bool is_float = operand->type.is_tensor() && !operand->is_quantized();
    if (is_float) return refuse_int8(*operand, "an operand");
  }
  return {};
}

Refusal refuse_int8(const Node& node) {
  Refusal floats = refuse_floats(node);
  if (!floats.empty()) return floats;
  for (const Value* operand : node.operands()) {
    Refusal reason = refuse_int8(*operand, "an operand");
    if (!reason.empty()) return reason;
  }
  for (const Value* result : node.results()) {
    Refusal reason = refuse_int8(*result, "the result");
    if (!reason.empty()) return reason;
  }
  return {};
}

compiler::Node* float_maker(const compiler::Arg& arg) {
  const Value* value = arg.is<Value*>() ? arg.as<Value*>() : nullptr;
  return value && !value->is_quantized() ? value->producer : nullptr;
}

compiler::Node* float_maker_before_expand(const compiler::Arg& arg) {
  compiler::Node* node = float_maker(arg);
  while (node && node->is("aten.expand.default")) node = float_maker(node->arg(size_t{0}));
  return node;
}

Affine affine(const Value& value) {
  const Quantization& q = *value.tensor().quantization;
  return {q.scales[0], static_cast<int32_t>(q.zero_points[0]), static_cast<int32_t>(q.quant_min),
          static_cast<int32_t>(q.quant_max)};
}

compiler::TensorType as_int16(compiler::TensorType type, double scale) {
  return as_int16(std::move(type), {scale, 0, INT16_MIN, INT16_MAX});
}

compiler::TensorType as_int16(compiler::TensorType type, const Affine& to) {
  auto q = std::make_shared<Quantization>();
  q->quant_min = to.min;
  q->quant_max = to.max;
  q->blocks.assign(type.rank(), 0);
  q->scales = compiler::NumberList::of(DType::f64, {to.scale});
  q->zero_points = compiler::NumberList::of(DType::i64, {0});
  type.dtype = DType::i16;
  type.quantization = std::move(q);
  return type;
}

Affine spread(const Affine& int8, int finer) {
  return {int8.scale / finer, 0, (int8.min - int8.zero) * finer, (int8.max - int8.zero) * finer};
}

bool same_numbers(const Affine& a, const Affine& b) { return a.scale == b.scale && a.zero == b.zero; }

int32_t quantize(double number, const Affine& q) {
  const float steps = static_cast<float>(number) * (1.0f / static_cast<float>(q.scale));
  if (std::isnan(steps)) return std::clamp(q.zero, q.min, q.max);
  const double bounded = std::clamp(static_cast<double>(steps), -0x1p30, 0x1p30);
  return static_cast<int32_t>(
      std::clamp(round_half_even(bounded) + q.zero, static_cast<double>(q.min), static_cast<double>(q.max)));
}

double scale_of(const Quantization& quantization, size_t c) {
  return quantization.scales[quantization.scales.size() == 1 ? 0 : c];
}
double zero_of(const Quantization& quantization, size_t c) {
  return quantization.zero_points[quantization.zero_points.size() == 1 ? 0 : c];
}

std::vector<double> numbers(const Value& constant) {
  std::vector<double> out = elements(constant);
  const auto& q = constant.tensor().quantization;
  if (!q) return out;
  const auto dim = q->channel_dim();
  size_t inner = 1, channels = 1;  // elements behind one of the channel dimension; number of channels
  if (dim && !q->is_per_tensor()) {
    channels = static_cast<size_t>(constant.sizes()[*dim].value());
    for (size_t d = *dim + 1; d < constant.rank(); ++d) inner *= static_cast<size_t>(constant.sizes()[d].value());
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t c = i / inner % channels;
    out[i] = (out[i] - zero_of(*q, c)) * scale_of(*q, c);
  }
  return out;
}

Value* constant(Builder& builder, compiler::Sizes sizes, std::vector<int8_t> elements, std::string_view name) {
  return builder.constant(compiler::TensorType{DType::i8, std::move(sizes), {}},
                          compiler::layout::own(std::move(elements)), name);
}

Value* constant(Builder& builder, compiler::Sizes sizes, std::vector<uint8_t> elements, std::string_view name) {
  return builder.constant(compiler::TensorType{DType::u8, std::move(sizes), {}},
                          compiler::layout::own(std::move(elements)), name);
}

Value* constant(Builder& builder, compiler::Sizes sizes, std::vector<int32_t> elements, std::string_view name) {
  return builder.constant(compiler::TensorType{DType::i32, std::move(sizes), {}},
                          compiler::layout::own(std::move(elements)), name);
}

Value* constant(Builder& builder, compiler::Sizes sizes, std::vector<int64_t> elements, std::string_view name) {
  return builder.constant(compiler::TensorType{DType::i64, std::move(sizes), {}},
                          compiler::layout::own(std::move(elements)), name);
}

}  // namespace wick::cortex_m
