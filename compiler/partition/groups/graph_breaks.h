// What keeps a backend's nodes from being one delegate, and what that costs.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/groups/group.h"

namespace wick::compiler {

/// The nodes of a graph and who runs them. `unit`: the delegate that a node goes to, numbered in the order in which
/// they run, or kNoGroup.
struct PartitionedNodes {
  const std::vector<Node*>& nodes;
  const Dependences& dependences;
  const std::vector<uint32_t>& unit;
  uint32_t num_units;
};

/// A border between two delegates of a graph of which one runs after the other.
struct BreakBetween {
  uint32_t before = 0, after = 0;  // units
  /// Outside, need something of `before`, and `after` needs them: by index, in order.
  std::vector<uint32_t> nodes;
  /// Of the values of `before` that these nodes or `after` read, and of those that `after` reads from `before` or from
  /// these nodes: bytes in one run, at the upper bounds of sizes. None: a size has no bound.
  std::optional<uint64_t> bytes_out, bytes_in;
  uint32_t nodes_before = 0, nodes_after = 0;  // of the two delegates
  uint32_t delegates_if_inside = 0;            // of the graph, if the backend took these nodes
};

/// One for each two consecutive delegates with nodes of this kind. Of graphs of many delegates and nodes, only between
/// the first delegates.
std::vector<BreakBetween> find_breaks(const PartitionedNodes& graph);

}  // namespace wick::compiler
