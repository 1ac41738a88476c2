// Takes what backends say yes to out of a graph, in as few delegates as its dependences allow.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/value_ranges.h"
#include "compiler/partition/target.h"

namespace wick::compiler {

/// Where one node runs. Nodes of sub-graphs have rows of their own.
struct NodePlace {
  std::string op;
  std::string backend;  // name of the target; "" = outside
  std::string reason;   // outside: why, by each target asked; taken: what the user should know, or ""
  OriginPtr origin;
};

/// What a target has of a graph.
struct Taken {
  std::unordered_set<const Node*> nodes;  // as the graph now has them: calls of delegates
  std::unordered_set<OriginPtr> origins;  // of the nodes that they were made from
};

struct PartitionReport {
  std::string target;            // who was asked; several: "a, b"
  std::vector<NodePlace> nodes;  // in the order the graph had before
  Taken taken;                   // of the last partition
  size_t num_delegates = 0;
  size_t num_outside() const;
  /// Adds what the next target says of what this one left.
  void add(PartitionReport next);
};

/// What the target says of the node; arguments that it does not understand are a no.
Verdict ask(const Target& target, const Node& node, const TargetOptions& options);

struct Verdicts {
  std::unordered_map<const Node*, Verdict> of;
  std::unordered_map<const Graph*, std::shared_ptr<const ValueRanges>> ranges;  // with which it was asked
};
/// Asks once about each node that a backend may take, those of sub-graphs too, with the ranges of values. `before`: of
/// the same graph, since when nodes may have changed, but no constant has.
Verdicts ask_all(const Graph& graph, const Target& target, const TargetOptions& options,
                 const Verdicts* before = nullptr);

/// The nodes that the target takes go into the fewest groups between which no dependency cycle runs through nodes
/// outside; groups need no connection inside. Each becomes one wick.call_delegate, unless the target finds it not
/// worthwhile: then its nodes stay, with that reason. Constants are copied into the partition by reference; inputs are
/// in the order of first use, outputs in the order of production. Sub-graphs of control flow are partitioned by
/// themselves. `verdicts` are those of ask_all for this very graph. Takes near-linear time. The graph keeps what it
/// computes; nodes may change their order. Errors: those of Target::lower, with a note that names the target; internal
/// (a delegate without payload or id).
Result<PartitionReport> partition(Graph& graph, const Target& target, const TargetOptions& options,
                                  const Verdicts& verdicts);

}  // namespace wick::compiler
