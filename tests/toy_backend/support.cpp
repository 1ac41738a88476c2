#include <algorithm>

#include "compiler/partition/tensor_limits.h"
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
  static constexpr DType kDtypes[] = {DType::f32};
  std::string reason = compiler::refuse_tensors(node, {kDtypes, kMaxRank});
  if (!reason.empty()) return Verdict::no(std::move(reason));
  for (const Value* operand : node.operands()) {
    if (!(operand->sizes() == node.result()->sizes())) return Verdict::no("operands of different sizes");
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
