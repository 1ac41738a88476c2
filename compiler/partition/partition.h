// Takes what backends say yes to out of a graph, in as few delegates as its dependences allow.
#pragma once
#include <string>
#include <vector>

#include "compiler/partition/target.h"

namespace wick::compiler {

/// Where one node runs. Nodes of sub-graphs have rows of their own.
struct NodePlace {
  std::string op;
  std::string backend;  // name of the target; "" = outside
  std::string reason;   // outside: why, by each target asked; taken: what the user should know, or ""
  OriginPtr origin;
};

struct PartitionReport {
  std::vector<NodePlace> nodes;  // in the order the graph had before
  size_t num_delegates = 0;
  size_t num_outside() const;
};

/// What the target says of the node; arguments that it does not understand are a no.
Verdict ask(const Target& target, const Node& node, const TargetOptions& options);

/// For each target in order: the nodes that it takes, and no target before it has, go into the fewest groups that leave
/// no group depending on itself through nodes outside; groups need no connection inside. Each becomes one
/// wick.call_delegate, unless the target finds it not worthwhile: then its nodes stay, with that reason, and the next
/// target may take them. Constants are copied into the partition by reference; inputs are in the order of first use,
/// outputs in the order of production. Sub-graphs of control flow are partitioned by themselves. Takes near-linear
/// time. The graph keeps what it computes; nodes may change their order.
/// Errors: those of Target::lower, with a note that names the target; internal (a delegate without payload or id).
Result<PartitionReport> partition(Graph& graph, const std::vector<const Target*>& targets,
                                  const TargetOptions& options);

}  // namespace wick::compiler
