// Quantization, dequantization, and conversion of elements between scales.
#include <fmt/format.h>

#include "backends/cortex_m/compile/ops/op_rule.h"
#include "backends/cortex_m/compile/ops/tables.h"
#include "backends/cortex_m/compile/quantized.h"

namespace wick::cortex_m {

using compiler::Builder;
using compiler::Node;
using compiler::Quantization;
using compiler::Value;
using compiler::Verdict;

namespace rules_conversion {
namespace {

// Requires int8 or int16 elements, one scale that is a positive normal f32, and a zero point within the dtype.
Refusal refuse_parameters(const Value& value) {
  const Quantization& q = *value.tensor().quantization;
  const bool narrow = value.dtype() == DType::i8;
  if (!narrow && value.dtype() != DType::i16)
    return {fmt::format("elements other than int8 and int16: {}", to_text(value.type)), "quantize to int8 or int16"};
  if (!q.is_per_tensor() || q.at_run_time || q.real != DType::f32)
    return {fmt::format("more than one scale, or one known only at run time: {}", to_text(value.type)),
            "quantize per tensor, with a scale that is a constant"};
  const double zero = q.zero_points[0], low = narrow ? -128 : -32768, high = narrow ? 127 : 32767;
  if (zero != static_cast<double>(static_cast<int64_t>(zero)) || zero < low || zero > high)
    return {"a zero point outside the dtype", "use a zero point within the range of the elements"};
  const auto scale = static_cast<float>(q.scales[0]);
  if (!(scale > 0 && 1 / scale > 0 && scale < 3e38f))
    return {"a scale that f32 does not hold", "use a scale that f32 holds"};
  return {};
}

// Whether this converts uint8 to int8 or back, with zero points 128 apart: only the highest bit of elements changes.
bool flips_highest_bit(const Value& x, const Value& y) {
  const bool other_sign =
      (x.dtype() == DType::u8 && y.dtype() == DType::i8) || (x.dtype() == DType::i8 && y.dtype() == DType::u8);
  if (!other_sign) return false;
  const Quantization &a = *x.tensor().quantization, &b = *y.tensor().quantization;
  const double offset = x.dtype() == DType::u8 ? 128 : -128;
  return a.is_per_tensor() && b.is_per_tensor() && !a.at_run_time && !b.at_run_time && a.real == DType::f32 &&
         b.real == DType::f32 && a.scales[0] == b.scales[0] && a.zero_points[0] == b.zero_points[0] + offset;
}

Verdict supports_convert(const Node& node, const Configuration& configuration) {
  const Value *x = node.operands()[0], *y = node.result();
  if (x->is_constant())
    return refused({"it converts a constant", "store the constant as it is read: quantized, or in floats"});
  if (x->is_quantized() && y->is_quantized()) {
    if (!is_known_but_batch(*x))
      return refused(
          {"sizes known only at run time, between two scales", "give both one scale, or export with fixed sizes"});
    if (flips_highest_bit(*x, *y)) return Verdict::yes();
    for (const Value* each : {x, y}) {
      const Refusal reason = refuse_parameters(*each);
      if (!reason.empty()) return refused(reason);
    }
    return verdict_of(refuse_conversion(*x, *y, configuration));
  }
  const Value& elements = x->is_quantized() ? *x : *y;
  const Value& real = x->is_quantized() ? *y : *x;
  if (real.dtype() != DType::f32)
    return refused(
        {"numbers other than f32", "convert to f32 in front of the quantize node, or behind the dequantize node"});
  return verdict_of(refuse_parameters(elements));
}

compiler::Args conversion_args(Value* x, const Value& elements) {
  const Quantization& q = *elements.tensor().quantization;
  return {x, q.scales[0], static_cast<int64_t>(q.zero_points[0]), q.quant_min, q.quant_max, elements.dtype()};
}

Value* flipped(Builder& b, Value* x, const Value& y) {
  const Affine to = affine(y);
  if (x->dtype() == DType::i8) {
    const Affine within = {to.scale, to.zero - 128, to.min - 128, to.max - 128};
    x = b.call("aten.view.dtype", {clamped(b, x, affine(*x), within), DType::u8});
    return b.call("aten.bitwise_xor.Scalar", {x, int64_t{128}});
  }
  Value* flipped = b.call("aten.view.dtype", {b.call("aten.bitwise_xor.Scalar", {x, int64_t{128}}), DType::i8});
  return clamped(b, flipped, {to.scale, to.zero, -128, 127}, to);
}

std::vector<Value*> rewrite_convert(Builder& b, Node& node, const Configuration&) {
  Value *x = node.operands()[0], *y = node.result();
  if (x->is_quantized() && y->is_quantized() && flips_highest_bit(*x, *y)) return {flipped(b, x, *y)};
  if (!x->is_quantized()) return {b.call("cortex_m.quantize_per_tensor", conversion_args(x, *y))};
  if (!y->is_quantized()) return {b.call("cortex_m.dequantize_per_tensor", conversion_args(x, *x))};
  return {converted(b, x, affine(*x), affine(*y), y->dtype())};
}

constexpr OpRule kRules[] = {
    {"wick.convert.default", supports_convert, rewrite_convert, true, false, OpenSizes::rows},
};

}  // namespace
}  // namespace rules_conversion

const RuleFamily kConversionRules = {rules_conversion::kRules, std::size(rules_conversion::kRules)};

}  // namespace wick::cortex_m
