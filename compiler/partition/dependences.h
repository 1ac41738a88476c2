// Dependences between the nodes of a graph.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/groups/group.h"

namespace wick::compiler {

using NodeIndex = std::unordered_map<const Node*, uint32_t>;

/// For each node, what it must run after, by index into `nodes` of the graph: the producers of its operands, the nodes
/// that make its symbols known, for a random draw (also one in a delegate) the previous draw, and for a delegate that
/// holds buffers the previous such delegate.
Dependences dependences_of(const Graph& graph, const std::vector<Node*>& nodes, const NodeIndex& index);

}  // namespace wick::compiler
