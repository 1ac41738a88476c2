// Chooses a dim order for each value of a graph so that few bytes are transposed over the whole graph. C++20.
#pragma once
#include <unordered_map>

#include "compiler/layout/layout_rule.h"

namespace wick::compiler::layout {

/// Dim orders of all tensors of a graph.
class Layouts {
 public:
  const DimOrder& of(const Value* value) const;
  /// Dim order in which `node` reads operand number `index`, which lies in `own`. It has the operand's rank. `chosen`
  /// is the dim order of the node.
  static DimOrder wanted(const Node& node, const LayoutRule& rule, const DimOrder& chosen, size_t index,
                         const Value& operand, const DimOrder& own);
  /// The dim order that was chosen for the node where its rule leaves one free, else that of its result.
  const DimOrder& order(const Node& node) const;

 private:
  friend class LayoutSolver;
  std::unordered_map<const Value*, DimOrder> values_;
  std::unordered_map<const Node*, DimOrder> orders_;
};

/// May readers have the tensor in any dim order, at no cost? Constants are permuted when the program is compiled;
/// scratch memory holds nothing yet.
bool takes_any_dim_order(const Value& value);

/// A node with its rule.
struct RuledNode {
  Node* node;
  LayoutRule rule;  // contiguous where there is no result, or no operand to follow
  std::vector<Value*> operands;
};
RuledNode ruled(Node& node, const LayoutRules& rules);
/// Does the rule leave the dim order of operands and result free?
bool is_free(const LayoutRule& rule);

/// Nodes whose rule leaves the dim order free start with that of their largest operand; then each in turn takes the one
/// that costs the fewest transposed bytes towards its neighbours, until nothing changes (iterated conditional modes,
/// Besag 1986). Views, permutes and selects carry dim orders through. Graph inputs, outputs and states are contiguous.
/// Sizes known only at run time count with their upper bounds in the SymScope of the thread. Deterministic.
Layouts assign_layouts(const Graph& graph, const LayoutRules& rules);

}  // namespace wick::compiler::layout
