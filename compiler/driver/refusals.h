// What one target refuses while a graph is prepared for it: why nodes stay outside, and composites whose parts may fare
// better. C++20.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/decompose.h"
#include "compiler/partition/partition.h"

namespace wick::compiler {

/// Nodes that passes of the target say will stay outside, by their first results, which last as long as the graph.
class StayingNodes {
 public:
  /// PipelineOptions::stays; adds to this list.
  std::function<void(const Node& node, const std::string& why, const std::string& help, const Node* cause)> listener();
  /// Gives their reasons to verdicts that refuse them.
  void explain(Verdicts& verdicts) const;
  void clear();
  bool has(const Node& node) const;
  /// Whether a node from there has a reason of its own.
  bool has_cause_at(const OriginPtr& origin) const { return causes_.count(origin) > 0; }

 private:
  struct Reason {
    std::string text, help;
    bool follows = false;
  };
  std::unordered_map<const Value*, Reason> reasons_;  // looked up only
  std::unordered_set<OriginPtr> causes_;              // looked up only
};

/// Composites that the target does not take as a whole: it said so before they were split into their parts, or after
/// they were kept for it.
class RefusedComposites {
 public:
  /// A composite that is about to be split. No reason: the target has no whole form of its operator.
  void add_split(const Node& node, const Verdict& verdict);
  /// Adds those of the graph, and returns how many there are.
  size_t add(const Graph& graph, const Verdicts& verdicts, const KeepFn& portable, const StayingNodes& staying);
  /// The first part of each says why it is not a whole: of those that were split, the first one that is left; of those
  /// that were kept, the first one that stays outside, unless a pass says it of a part.
  void explain(std::vector<NodePlace>& nodes, const StayingNodes& staying);

  std::unordered_set<const Value*> results;
  /// Of taken ones. A pass may have made them, for the target, of an operator that `keep` has split up in the program.
  std::unordered_set<const Value*> taken;

 private:
  struct Whole {
    std::string op, reason, help;
    bool is_staying = false;
    bool is_split = false;
  };
  std::map<OriginPtr, Whole> reasons_;  // by origin, looked up only
};

}  // namespace wick::compiler
