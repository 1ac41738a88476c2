// What each node of a graph needs to run after.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/groups/group.h"

namespace wick::compiler {

using NodeIndex = std::unordered_map<const Node*, uint32_t>;

/// By index into `nodes` of the graph: producers of operands, the node that makes a symbol known, the random draw
/// before, in a delegate too, and for a delegate that holds buffers the one before.
Dependences dependences_of(const Graph& graph, const std::vector<Node*>& nodes, const NodeIndex& index);

}  // namespace wick::compiler
