// Moves the nodes that a backend accepts into as few delegates as their dependences allow.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/value_ranges.h"
#include "compiler/partition/buffers/held_buffers.h"
#include "compiler/partition/groups/graph_breaks.h"
#include "compiler/partition/target.h"

namespace wick::compiler {

/// The cost of a node that became operators of a backend (form kernels).
struct NodeCost {
  uint64_t macs = 0;            // multiply-accumulates; 0: none, or not known
  uint64_t constant_bytes = 0;  // of weights and tables
  uint64_t scratch_bytes = 0;
};

/// NodePlace::backend of assertions.
inline constexpr char kExecutor[] = "executor";

/// Where one node runs. Nodes of sub-graphs have their own rows.
struct NodePlace {
  std::string op;
  std::string backend;     // name of the target; "" = outside
  std::string reason;      // outside: why, by each target asked; taken: what the user should know, or ""
  std::string help;        // outside: what the user can do about it, as the targets say; or ""
  bool asked_for = false;  // taken: Verdict::asked_for
  bool follows = false;    // outside: Verdict::follows
  OriginPtr origin;
  std::string quantization;  // types of quantized values that it reads and gives, or ""
  /// Form kernels: the graph has quantized values, but none leads to the node, or the node leads to none.
  bool beyond_quantized = false;
  NodeCost cost;
};

/// A graph break: why two delegates of a graph, of which one runs after the other, are not one, and what that costs
/// (groups/graph_breaks.h).
struct GraphBreak {
  std::string body_of;  // the operator whose graph they are in; "" = the method
  std::shared_ptr<const Delegate> before, after;
  std::vector<size_t> rows;      // of PartitionReport::nodes: the nodes between them, until PartitionReport::add
  std::vector<NodePlace> nodes;  // the same, from then on
  BreakCost cost;
};

/// The part of a graph that a target has taken.
struct Taken {
  std::unordered_set<const Node*> nodes;  // as the graph now has them: calls of delegates, or operators of the backend
  std::unordered_set<OriginPtr> origins;  // of the nodes that they were made from
};

struct PartitionReport {
  std::string target;                     // who was asked; several: "a, b"
  std::vector<NodePlace> nodes;           // in the order the graph had before
  std::vector<GraphBreak> breaks;         // with TargetContext::for_report
  std::vector<BufferPlace> buffers;       // mutable ones, of the whole graph
  Taken taken;                            // of the last partition
  std::vector<std::string> prepared_for;  // Target::kernels.prepared_for of all that took a node
  size_t num_delegates = 0;
  size_t num_outside() const;
  /// Adds the report of the next target about what this one left.
  void add(PartitionReport next);
};

/// The target's verdict on the node. Arguments that the target does not understand give a no.
Verdict ask(const Target& target, const Node& node, const TargetContext& context);

struct Verdicts {
  std::unordered_map<const Node*, Verdict> of;
  std::unordered_map<const Graph*, std::shared_ptr<const ValueRanges>>
      ranges;  // by graph: the ranges with which the target was asked
};
/// Asks the target once about each node that a backend may take, including those of sub-graphs, with the ranges of
/// values. `before` holds earlier verdicts on the same graph: nodes may have changed since, constants may not.
Verdicts ask_all(const Graph& graph, const Target& target, const TargetContext& context,
                 const Verdicts* before = nullptr);

/// Puts the nodes that the target takes into the fewest groups such that no dependency cycle runs through nodes outside
/// a group. The nodes of a group need not be connected. Each group becomes one wick.call_delegate, unless the target
/// finds it unprofitable: then its nodes stay outside, with that reason. Constants are copied into the partition by
/// reference. Inputs are in the order of first use, outputs in the order of production. Mutable buffers that
/// delegates can hold (held_buffers.h) are states of the partitions that use them. Sub-graphs of control flow are
/// partitioned separately. `verdicts` are those of ask_all for this very graph. Takes near-linear time. The graph keeps
/// what it computes; the order of nodes may change. Errors: those of Target::delegate.lower, with a note that names the
/// target; internal (a delegate without payload or id).
Result<PartitionReport> partition(Graph& graph, const Target& target, const TargetContext& context,
                                  const Verdicts& verdicts);

}  // namespace wick::compiler
