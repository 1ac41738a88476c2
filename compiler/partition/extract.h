// Nodes of a partition as a graph of their own.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/partition/target.h"

namespace wick::compiler {

struct Extracted {
  Graph graph;
  Values inputs, outputs;  // in the graph they come from
};

/// What a partition does with the buffers that delegates hold.
struct BuffersOfPart {
  const std::unordered_map<const Value*, std::string>& held;  // all there are, with their names in delegates
  std::vector<StateUpdate> updates;                           // that this partition makes
  Values outputs;                                             // held ones whose old value the program returns
};

/// Copies nodes, with what prepares their constants. What they read from outside becomes an input, a held buffer a
/// state; what is read outside becomes an output, in the order of production. Results of `twice` are outputs once more,
/// after all others.
void extract(const std::vector<Node*>& nodes, const BuffersOfPart& buffers, const Values& twice, const Target& target,
             Extracted& out);

}  // namespace wick::compiler
