// Graph breaks: nodes that keep two delegates apart, and what that costs.
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

struct BreakCost {
  /// In one run, at the upper bounds of sizes: bytes of the values of the first delegate that the nodes between or the
  /// second one read, and of those that the second one reads from the first or from these nodes. None: a size has no
  /// bound.
  std::optional<uint64_t> bytes_out, bytes_in;
  uint32_t nodes_before = 0, nodes_after = 0;  // of the two delegates
  /// Delegates of the graph, and how many there would be if the backend took the nodes between.
  uint32_t delegates_now = 0, delegates_if_inside = 0;
};

/// A border between two delegates of a graph of which one runs after the other.
struct BreakBetween {
  uint32_t before = 0, after = 0;  // units
  /// The nodes between, by index, in order: they are outside, depend on `before`, and `after` depends on them.
  std::vector<uint32_t> nodes;
  BreakCost cost;
};

/// One break for each two consecutive delegates with such nodes between them. In graphs of many delegates and nodes,
/// only the breaks between the first delegates.
std::vector<BreakBetween> find_breaks(const PartitionedNodes& graph);

}  // namespace wick::compiler
