// Quantization: values that pass between int8 and float, and weights that stay int8 or int4.
#include <fmt/format.h>

#include <algorithm>

#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"
#include "compiler/ir/text/text.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

namespace {

Verdict refuse_elements(const Value& value) {
  if (value.dtype() == DType::u8) return Verdict::no("uint8 elements; only int8 is taken");
  return Verdict::no(fmt::format("elements {}; only int8 is taken", compiler::to_text(value.type)));
}

constexpr char kParameters[] =
    "its range is not -128 .. 127, its zero point lies outside, or its scale is not a normal number known at compile "
    "time";

Verdict known_chain(const Node& node, const TargetOptions& options) {
  const auto chain = dynamic_chain(node);
  if (!chain)
    return Verdict::no("its readers do not take quantization chosen at run time, or it is not by rows in -128 .. 127");
  const std::string reason = refuse_shape(*chain->x, Unknown::one);
  return reason.empty() ? whole_chain(*chain, options) : Verdict::no(reason);
}

Verdict known_quantize(const Node& node, const TargetOptions& options) {
  const Value* x = node.tensor("input");
  if (node.result()->dtype() != DType::i8) return refuse_elements(*node.result());
  if (x->is_constant()) return Verdict::no("a constant");
  if (!static_quantize(node)) {
    const auto chain = dynamic_chain(node);
    return chain ? known_chain(node, options) : Verdict::no(kParameters);
  }
  if (x->dtype() != DType::f32) return Verdict::no("an input that is not f32");
  const std::string reason = refuse_shape(*x, Unknown::one);
  return reason.empty() ? Verdict::yes() : Verdict::no(reason);
}

// All readers agree on the scale of elements that come from elsewhere.
bool one_scale(const Value& elements, const Affine& affine) {
  if (const Node* producer = elements.producer) {
    const auto made = static_quantize(*producer);
    if (made && !(*made == affine)) return false;
  }
  return std::all_of(elements.users().begin(), elements.users().end(), [&](const Node* user) {
    const auto read = static_dequantize(*user);
    return !read || *read == affine;
  });
}

Verdict known_dequantize(const Node& node, const TargetOptions& options) {
  const Value* elements = node.tensor("input");
  if (elements->dtype() != DType::i8) return refuse_elements(*elements);
  const std::string reason = refuse_shape(*elements, Unknown::one);
  if (!reason.empty()) return Verdict::no(reason);
  if (elements->is_constant())
    return quantized_constant(node) ? Verdict::yes() : Verdict::no("parameters that are not constants, or are invalid");
  const auto affine = static_dequantize(node);
  if (!affine) return dynamic_chain(node) ? known_chain(node, options) : Verdict::no(kParameters);
  if (node.result()->dtype() != DType::f32) return Verdict::no("a result that is not f32");
  return one_scale(*elements, *affine) ? Verdict::yes()
                                       : Verdict::no("its elements are read with a different scale too");
}

LayoutRule quantized_layout(const Node& node) {
  return dequantizes_constant(node) ? contiguous(node) : any_dim_order(node);
}

void lower_quantize(Lowering& l, const Node& node) {
  const auto affine = static_quantize(node);
  if (!affine) return;  // at run time: its reader asks for it
  const Node* source = node.tensor("input")->producer;
  const auto before = source ? static_dequantize(*source) : std::nullopt;
  if (before && *before == *affine && !dequantizes_constant(*source))
    return l.set_result(node, l.operand(source->tensor("input"), l.order(node)));
  uint32_t x = l.operand(node, 0);
  const Quantization wanted = quantization_of(*affine), &found = l.quantization(x);
  if (l.is_int8(x) && found.scale == wanted.scale && found.zero_point == wanted.zero_point)
    return l.set_result(node, x);
  if (l.is_int8(x)) x = l.convert(x, DataType::fp32, {});  // its producer had nothing to do
  l.set_result(node, l.convert(x, DataType::qint8, wanted));
}

void lower_dequantize(Lowering& l, const Node& node) {
  if (dequantizes_constant(node) || !static_dequantize(node)) return;  // its readers ask for it
  l.set_result(node, l.convert(l.operand(node, 0), l.type(), {}));
}

constexpr OpRule dequantize(const char* op) {
  return {op, known_dequantize, quantized_layout, lower_dequantize, Unknown::one, false, true};
}
constexpr OpRule quantize(const char* op) {
  return {op, known_quantize, any_dim_order, lower_quantize, Unknown::one, false, true};
}
constexpr OpRule choose(const char* op) {
  return {op, known_chain, any_dim_order, lower_nothing, Unknown::one, false, true, true};
}

#define QD "quantized_decomposed."
constexpr OpRule kRows[] = {
    choose(QD "choose_qparams.tensor"),
    choose(QD "choose_qparams_per_token_asymmetric.default"),
    dequantize(QD "dequantize_per_channel.default"),
    dequantize(QD "dequantize_per_channel_group.default"),
    dequantize(QD "dequantize_per_tensor.default"),
    dequantize(QD "dequantize_per_tensor.tensor"),
    dequantize(QD "dequantize_per_token.default"),
    deviates(kQuantize, quantize(QD "quantize_per_tensor.default")),
    deviates(kQuantize, quantize(QD "quantize_per_tensor.tensor")),
    quantize(QD "quantize_per_token.default"),
    choose("torchao.choose_qparams_affine.default"),
    dequantize("torchao.dequantize_affine.default"),
    quantize("torchao.quantize_affine.default"),
};
#undef QD

}  // namespace

void lower_nothing(Lowering&, const Node&) {}

const RuleFamily kQuantizedRules = {kRows, std::size(kRows)};

}  // namespace wick::xnnpack
