#include <algorithm>

#include "compiler/ir/quantization.h"
#include "compiler/partition/tensor_limits.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {

using compiler::Node;
using compiler::TargetContext;
using compiler::Value;
using compiler::Verdict;

namespace {

bool is_int8(const Value& value) {
  const auto& q = value.tensor().quantization;
  return q && value.dtype() == DType::i8 && q->real == DType::f32 && q->is_per_tensor() && !q->at_run_time;
}

// A sum of elements, whose scales and zero points are facts of their types.
Verdict supports_quantized(const Node& node) {
  if (!node.is("aten.add.Tensor")) return Verdict::no("a quantized operator other than add");
  if (!is_int8(*node.result())) return Verdict::no("a result that is not int8 with one scale");
  for (const Value* operand : node.operands()) {
    if (!is_int8(*operand)) return Verdict::no("an operand that is not int8 with one scale");
  }
  return Verdict::yes();
}

bool is_quantized(const Node& node) {
  const auto has_facts = [](const Value* value) { return value->is_quantized(); };
  const auto operands = node.operands();
  return std::any_of(operands.begin(), operands.end(), has_facts) || has_facts(node.result());
}

}  // namespace

Verdict supports(const Node& node, const TargetContext&) {
  const bool is_add = node.is("aten.add.Tensor");
  if (!is_add && !node.is("aten.mul.Tensor")) return Verdict::no("an operator other than add and mul");
  if (is_add && node.real("alpha") != 1) return Verdict::no("a factor for the second summand");
  if (node.operands().size() != 2) return Verdict::no("a number instead of a tensor");
  static constexpr DType kElements[] = {DType::i8}, kNumbers[] = {DType::f32};
  const bool quantized = is_quantized(node);
  if (quantized) {
    const Verdict verdict = supports_quantized(node);
    if (!verdict.taken) return verdict;
  }
  std::string reason = compiler::refuse_tensors(node, {quantized ? kElements : kNumbers, kMaxRank});
  if (!reason.empty()) return Verdict::no(std::move(reason));
  for (const Value* operand : node.operands()) {
    if (!(operand->sizes() == node.result()->sizes())) return Verdict::no("operands of different sizes");
  }
  return Verdict::yes();
}

Verdict profitable(const std::vector<const Node*>& nodes, const TargetContext&) {
  const auto count = [](const Node* node) { return compiler::numel(node->result()->sizes()).value(); };
  const bool same =
      std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return count(node) == count(nodes[0]); });
  return same ? Verdict::yes() : Verdict::no("its partition has tensors of several sizes");
}

}  // namespace wick::toy
