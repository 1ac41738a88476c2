// Refusals of one target while a graph is prepared for it: why nodes stay outside, and composites that it refuses as a
// whole but whose parts it may take. C++20.
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

/// Nodes that passes of the target say will stay outside. They are known by their first results, which live as long as
/// the graph.
class StayingNodes {
 public:
  /// PipelineOptions::stays; adds to this list.
  std::function<void(const Node& node, const std::string& why, const std::string& help, const Node* cause)> listener();
  /// Copies the reasons into the verdicts that refuse these nodes.
  void explain(Verdicts& verdicts) const;
  void clear();
  bool has(const Node& node) const;
  /// Whether a node of this origin has a reason of its own, rather than one that follows from another node.
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
  /// A composite that is about to be split. A verdict without a reason means that the target has no whole form of the
  /// operator; it is not recorded.
  void add_split(const Node& node, const Verdict& verdict);
  /// Adds the refused composites of the graph. Returns how many it has.
  size_t add(const Graph& graph, const Verdicts& verdicts, const KeepFn& portable, const StayingNodes& staying);
  /// Adds to one part of each composite why the target refused the whole. For a split composite this is the first part
  /// that is left; for a kept one, the first part that stays outside. It adds nothing if a pass gave a part its own
  /// reason.
  void explain(std::vector<NodePlace>& nodes, const StayingNodes& staying);

  std::unordered_set<const Value*> results;
  /// Results of composites that the target takes. A pass may have made such a composite for the target out of an
  /// operator that `keep` has split up in the program.
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
