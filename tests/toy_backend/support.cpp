#include <algorithm>

#include "tests/toy_backend/target.h"

namespace wick::toy {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;
using compiler::Verdict;

Verdict supports(const Node& node, const TargetOptions&) {
  const bool is_sum = node.is("aten.add.Tensor");
  if (!is_sum && !node.is("aten.mul.Tensor")) return Verdict::no("an operator other than add and mul");
  if (is_sum && node.real("alpha") != 1) return Verdict::no("a factor for the second summand");
  if (node.operands().size() != 2) return Verdict::no("a number instead of a tensor");
  for (const Value* operand : node.operands()) {
    if (operand->dtype() != DType::f32) return Verdict::no("elements other than f32");
    if (!is_static(operand->sizes())) return Verdict::no("sizes that are known only at run time");
    if (!(operand->sizes() == node.result()->sizes())) return Verdict::no("operands of different sizes");
    if (!operand->tensor().dim_order.empty()) return Verdict::no("a layout other than row-major");
  }
  return Verdict::yes();
}

Verdict worthwhile(const std::vector<const Node*>& nodes, const TargetOptions&) {
  const auto count = [](const Node* node) { return compiler::numel(node->result()->sizes()).value(); };
  const bool same =
      std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) { return count(node) == count(nodes[0]); });
  return same ? Verdict::yes() : Verdict::no("its partition has tensors of several sizes");
}

}  // namespace wick::toy
