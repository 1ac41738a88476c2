// Where each value of a partition gets its order in memory: few transposes, weighed by bytes, over the whole partition.
#pragma once
#include <unordered_map>

#include "backends/xnnpack/compile/ops/op_rules.h"
#include "compiler/ir/graph.h"

namespace wick::xnnpack {

/// Orders of all values of a partition.
class Layouts {
 public:
  /// Order of a node's first result; plain for inputs.
  const Order& of(const compiler::Value* value) const;
  /// Order in which `node` reads an operand that lies in `order` itself; of the operand's own rank.
  static Order wanted(const compiler::Node& node, const LayoutRule& rule, const Order& choice, size_t operand,
                      const Order& order);
  /// The order that was chosen for the node where its rule leaves one free, else that of its result.
  const Order& choice(const compiler::Node& node) const;

 private:
  friend class LayoutSolver;
  std::unordered_map<const compiler::Value*, Order> values_;
  std::unordered_map<const compiler::Node*, Order> choices_;
};

/// Nodes whose rule leaves the order free start with that of their largest operand; then each in turn takes the order
/// that costs the fewest transposed bytes towards its neighbours, until nothing changes (iterated conditional modes,
/// Besag 1986). Views, permutes and selects carry orders through. Graph inputs and outputs are plain. Deterministic.
Layouts assign_layouts(const compiler::Graph& graph);

}  // namespace wick::xnnpack
