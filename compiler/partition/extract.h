// Some nodes of a graph as a graph of their own.
#pragma once
#include <vector>

#include "compiler/partition/target.h"

namespace wick::compiler {

struct Extracted {
  Graph graph;
  Values inputs, outputs;  // in the graph they come from
};

/// Copies the nodes, with the constants that they read and what prepares these. Inputs are in the order of first use,
/// outputs, which are read outside, in the order of production.
void extract(const std::vector<Node*>& nodes, const Target& target, Extracted& out);

}  // namespace wick::compiler
