// Which results of a graph are written over a mutable buffer, and in which order its nodes then run. C++20.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::cuda {

/// Writes of regions, each over the value that it changes: from the state through one version after the other to its
/// new value. A write to a view of a buffer, which the graph states as a new view that replaces the old one, is a write
/// to the buffer. A loop that carries a version as a whole lies over what it begins with. Between writes a version may
/// be given other sizes as a whole.
struct StateWrites {
  std::map<const compiler::Value*, const compiler::Value*> over;  // result -> the operand that it is written over
  std::set<const compiler::Value*> through_view;  // of these: the source was written to a view, nothing is left to do
  std::set<const compiler::Value*> reshaped;      // versions that are their operand with other sizes
  std::set<const compiler::Value*> states;        // whose update is the last of such a chain
  /// The nodes, those that read an older version before those that overwrite it, wherever that is possible.
  std::vector<const compiler::Node*> order;
};

/// `updates`: the mutable buffers, or carried values of a loop's body, and what they become. `through_views`: views of
/// a buffer lie in it.
StateWrites find_state_writes(const compiler::Graph& graph, const std::vector<compiler::StateUpdate>& updates,
                              bool through_views);

}  // namespace wick::cuda
