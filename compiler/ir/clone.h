// Copies of graphs that know what they are copies of.
#pragma once
#include <memory>
#include <unordered_map>

#include "compiler/ir/graph.h"

namespace wick::compiler {

using ValueMap = std::unordered_map<const Value*, Value*>;
/// The nodes that have an origin.
using OriginMap = std::unordered_multimap<OriginPtr, Node*>;

/// A copy of `graph` and of the graphs in its nodes; constants share their bytes. Each value of the copy stands for the
/// value it was copied from (Value::stands_for). `sources` says which nodes have which origin, by which what a node of
/// the copy comes from is found again after passes have merged and replaced nodes; copies of nodes without an origin
/// get an empty one.
std::unique_ptr<Graph> clone(Graph& graph, OriginMap& sources);

/// An argument with the values that `values` has for its own. Throws Failure(internal) if one is missing.
Arg copy_arg(const Arg& arg, const ValueMap& values);

/// Appends a copy of `node`, graphs included, to `graph`, which may be another one. Operands are looked up in `values`,
/// to which the results are added; the copy stands for nothing. Throws Failure(internal) if an operand is missing.
Node* copy_node(const Node& node, Graph& graph, ValueMap& values);

}  // namespace wick::compiler
