// Copies the nodes of a partition into a graph of their own.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/partition/target.h"

namespace wick::compiler {

struct Extracted {
  Graph graph;
  Values inputs, outputs;  // values of the graph that the nodes come from
};

/// The buffers that delegates hold, as one partition uses them.
struct BuffersOfPart {
  const std::unordered_map<const Value*, std::string>& held;  // all held buffers, with their names in delegates
  std::vector<StateUpdate> updates;                           // updates that this partition makes
  Values outputs;                                             // held buffers whose old value the program returns
};

/// Copies nodes, and the nodes that prepare their constants. A value that they read from outside becomes an input, and
/// a held buffer becomes a state. A value that is read outside becomes an output, in the order of production. Values of
/// `twice` become outputs once more, after all others.
void extract(const std::vector<Node*>& nodes, const BuffersOfPart& buffers, const Values& twice, const Target& target,
             Extracted& out);

}  // namespace wick::compiler
