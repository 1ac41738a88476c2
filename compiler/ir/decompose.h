// Replaces composite operators by primitives.
#pragma once
#include <functional>
#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// Called for each operator that has both a decomposition and its own kernel or shape function. Returns true to leave
/// it whole.
using KeepFn = std::function<bool(const Node&)>;

/// Decomposes `node` and the nodes of its decomposition until only primitives and kept operators remain. Replaces its
/// results and erases it. Returns the values that replace the results. Throws Failure.
std::vector<Value*> decompose_node(Graph& graph, Node* node, const KeepFn& keep);

/// As decompose_node for an operator whose result type is not known yet.
Value* decompose_untyped(Graph& graph, Node* node);

/// decompose_node over a whole graph, sub-graphs of control flow included. `changed` becomes true if a node was
/// replaced.
Status decompose(Graph& graph, const KeepFn& keep, bool* changed = nullptr);

}  // namespace wick::compiler
