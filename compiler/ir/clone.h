// Copies graphs. A copy records which value each of its values was copied from.
#pragma once
#include <memory>
#include <unordered_map>

#include "compiler/ir/graph.h"

namespace wick::compiler {

using ValueMap = std::unordered_map<const Value*, Value*>;
/// The nodes that have an origin.
using OriginMap = std::unordered_multimap<OriginPtr, Node*>;

/// Copies `graph` and the graphs in its nodes. Constants share their bytes. Each value of the copy stands for the value
/// it was copied from (Value::stands_for). `sources` maps origins to nodes of `graph`, so that the sources of a node of
/// the copy can still be found after passes have merged and replaced nodes. Nodes without an origin get an empty one in
/// the copy.
std::unique_ptr<Graph> clone(Graph& graph, OriginMap& sources);

/// The argument with its values replaced by those in `values`. Throws Failure(internal) if one is missing.
Arg copy_arg(const Arg& arg, const ValueMap& values);

/// Appends a copy of `node` and its graphs to `graph`, which may be a different graph. Looks up operands in `values`
/// and adds the results to it. Leaves `stands_for` of the results empty. Throws Failure(internal) if an operand is
/// missing.
Node* copy_node(const Node& node, Graph& graph, ValueMap& values);

}  // namespace wick::compiler
