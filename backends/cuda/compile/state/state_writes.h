// Finds results that are written over a mutable buffer, and an order of nodes that allows it. C++20.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// Chains of writes, each over the value that it changes, from a state through its versions to its new value. A write
/// to a view of a buffer, after which the graph replaces the view in the buffer, is a write to the buffer. A loop that
/// carries a whole version is written over its initial value. Between writes, a whole version may be viewed in other
/// sizes.
struct StateWrites {
  std::map<const compiler::Value*, const compiler::Value*> over;  // result -> the operand that it is written over
  // Results in `over` whose source was written to a view: nothing is left to do for them.
  std::set<const compiler::Value*> through_view;
  std::set<const compiler::Value*> reshaped;  // versions that are a view of their operand in other sizes
  std::set<const compiler::Value*> states;    // states that get their new value by such a chain
  /// The nodes in an order in which those that read an older version run before those that overwrite it, wherever
  /// possible.
  std::vector<const compiler::Node*> order;
};

/// `updates`: mutable buffers, or carried values of a loop's body, with their new values. `through_views`: views of a
/// buffer share its memory.
StateWrites find_state_writes(const compiler::Graph& graph, const std::vector<compiler::StateUpdate>& updates,
                              bool through_views);

}  // namespace wick::cuda
