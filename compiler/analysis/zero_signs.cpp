#include "compiler/analysis/zero_signs.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/analysis/value_ranges.h"
#include "compiler/ir/literal.h"

namespace wick::compiler {
namespace {

constexpr int kMaxDepth = 8;

// Whether the node gives another number for -0 than for 0: 1 / x, pow(x, -1).
bool distinguishes_zero_signs(const Node& node, size_t operand) {
  if (node.op->has(kDependsOnZeroSign)) return true;
  if (node.op->has(kDependsOnZeroSignOf1)) return operand == 1;
  if (!node.is("aten.pow.Tensor_Scalar")) return false;
  const auto exponent = literal(node.arg(1));
  return !exponent || *exponent < 0;
}

bool is_never_negative_zero(const Value* x) {
  if (!is_floating(x->dtype())) return true;
  return x->producer && x->producer->op->has(kNoNegativeZero | kNonNegative);
}

// Whether the sign of a zero in an operand may decide the sign of a zero in a result.
bool keeps_sign(const Node& node) {
  if (node.op->has(kNoNegativeZero | kNonNegative)) return false;
  if (!node.is(Binary::add) && !node.is(Binary::sub)) return true;
  const auto operands = node.operands();
  if (operands.size() < 2) return literal(node.arg(1)).value_or(0) == 0;
  return !is_never_negative_zero(operands[0]) && (node.is(Binary::sub) || !is_never_negative_zero(operands[1]));
}

bool may_be(const Value* x, const ValueRanges& ranges, int depth);

// Whether a sum or difference may be -0.
bool may_sum_be(const Node& node, bool difference, const ValueRanges& ranges, int depth) {
  const auto operands = node.operands();
  if (operands.size() < 2) return literal(node.arg(1)).value_or(0) == 0;
  if (!may_be(operands[0], ranges, depth + 1)) return false;
  const bool plain = node.op->parsed->find("alpha") < 0 || literal(node.arg("alpha")) == 1.0;
  return difference || !plain || (is_floating(operands[1]->dtype()) && may_be(operands[1], ranges, depth + 1));
}

bool may_be(const Value* x, const ValueRanges& ranges, int depth) {
  if (!ranges.of(x).holds(0)) return false;
  const Node* node = x->producer;
  if (!node) return true;
  if (node->op->has(kNoNegativeZero | kNonNegative)) return false;
  if (depth > kMaxDepth) return true;
  const bool sum = node->is(Binary::add), difference = node->is(Binary::sub);
  if (sum || difference) return may_sum_be(*node, difference, ranges, depth);
  const bool keeps = node->is("aten.sqrt.default") || (node->op->has(kMoves) && node->operands().size() == 1);
  return !keeps || may_be(node->operands()[0], ranges, depth + 1);
}

}  // namespace

// Visits readers before the values that they read.
ZeroSigns::ZeroSigns(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    const auto& results = node.results();
    const bool asked = keeps_sign(node) && std::any_of(results.begin(), results.end(), [&](const Value* result) {
                         return matter(result) && result->type.is_tensor() && is_floating(result->dtype());
                       });
    const auto operands = node.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (asked || distinguishes_zero_signs(node, i)) matter_.insert(operands[i]);
    }
  }
}

bool may_be_negative_zero(const Value* value, const ValueRanges& ranges) { return may_be(value, ranges, 0); }

}  // namespace wick::compiler
