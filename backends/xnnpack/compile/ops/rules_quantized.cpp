// Conversions between int8 and float.
#include "backends/xnnpack/compile/ops/rules.h"
#include "backends/xnnpack/compile/quantized.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

Verdict known_elements(const Value& numbers, const Value& elements, const TargetContext& context) {
  if (elements.dtype() != DType::i8) return Verdict::no(refuse_elements(elements));
  if (numbers.is_constant()) return Verdict::no("a constant");
  if (is_chosen_at_run_time(elements)) return read_on_int8(elements, context);
  const auto& q = *elements.tensor().quantization;
  if (!affine_of(elements) || q.quant_min != -128 || q.quant_max != 127) return Verdict::no(kParameters);
  if (numbers.dtype() != DType::f32) return Verdict::no("an input that is not f32");
  const std::string reason = refuse_shape(numbers, Unknown::one);
  return reason.empty() ? Verdict::yes() : Verdict::no(reason);
}

Verdict known_parameters(const Value& elements, const Value& numbers) {
  if (elements.dtype() != DType::i8) return Verdict::no(refuse_elements(elements));
  const std::string reason = refuse_shape(elements, Unknown::one);
  if (!reason.empty()) return Verdict::no(reason);
  if (elements.is_constant())
    return quantized_constant(elements) ? Verdict::yes() : Verdict::no("parameters that the library cannot have");
  if (is_chosen_at_run_time(elements)) return Verdict::no("an operator that does not compute on int8 reads it");
  if (!affine_of(elements)) return Verdict::no(kParameters);
  return numbers.dtype() == DType::f32 ? Verdict::yes() : Verdict::no("a result that is not f32");
}

Verdict known_conversion(const Node& node, const TargetContext& context) {
  const Value &from = *node.operands()[0], &to = *node.result();
  if (from.is_quantized() == to.is_quantized()) return Verdict::no("a conversion from one quantization to another");
  return to.is_quantized() ? known_elements(from, to, context) : known_parameters(from, to);
}

LayoutRule conversion_layout(const Node& node) {
  return node.operands()[0]->is_constant() ? contiguous(node) : any_dim_order(node);
}

void lower_to_elements(Lowering& l, const Node& node) {
  const Affine affine = *affine_of(*node.result());
  const Node* before = node.operands()[0]->producer;
  const Value* source = before && before->op == node.op ? before->operands()[0] : nullptr;
  if (source && !source->is_constant() && affine_of(*source) == affine)
    return l.set_result(node, l.operand(source, l.order(node)));
  l.set_result(node, l.operand(node, 0));
}

void lower_requantization(Lowering& l, const Node& node) {
  const Value &from = *node.operands()[0], &to = *node.result();
  if (from.is_constant() || is_chosen_at_run_time(to)) return;  // readers convert it when they need it
  if (to.is_quantized()) return lower_to_elements(l, node);
  l.set_result(node, l.convert(l.operand(node, 0), l.type(), {}));
}

// Eager's quantized_decomposed kernels make zero of NaN, except those that choose parameters by rows.
const Deviation* deviation_of_conversion(const Node& node) {
  const auto& q = node.result()->tensor().quantization;
  return q && q->family == compiler::Quantization::Family::decomposed && q->is_per_tensor() ? &kQuantize : nullptr;
}

constexpr OpRule conversion(const char* op) {
  OpRule rule{op, known_conversion, conversion_layout, lower_requantization, Unknown::one};
  rule.converts = true;
  return deviates(deviation_of_conversion, rule);
}

constexpr OpRule kQuantizedRows[] = {conversion("wick.convert.default")};

}  // namespace

const RuleFamily kQuantizedRules = {kQuantizedRows, std::size(kQuantizedRows)};

}  // namespace wick::xnnpack
