// What a backend tells the compiler about itself: what it takes, what should stay whole for it, how a partition becomes
// a payload. C++20.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/delegate.h"
#include "compiler/ir/graph.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// Whether a backend takes a node. A "no" has its reason in words: what was found and what is wanted.
struct Verdict {
  bool taken = false;
  std::string reason;  // of a no; of a yes: what the user should know (a case where NaN differs), or ""
  static Verdict yes(std::string note = "") { return {true, std::move(note)}; }
  static Verdict no(std::string why) { return {false, std::move(why)}; }
};

class ValueRanges;

struct TargetOptions {
  bool strict_nan = false;  // leaves out nodes whose kernels treat NaN or inf otherwise than eager
  /// Of the graph that the node asked about lies in, or that is lowered; null: not known.
  const ValueRanges* ranges = nullptr;
};

/// A backend as the compiler sees it. One row per backend in the driver's list.
struct Target {
  const char* name;  // on the command line, "xnnpack"
  const char* id;    // of the delegate, "XnnpackBackend"
  /// Composites that should reach `supports` whole.
  bool (*keep)(const Node& node, const TargetOptions& options);
  /// The node, its operands' types and constants, and options.ranges. Called after all passes.
  Verdict (*supports)(const Node& node, const TargetOptions& options);
  /// Whether nodes that could be one delegate are worth being one.
  Verdict (*worthwhile)(const std::vector<const Node*>& nodes, const TargetOptions& options);
  /// Writes a partition: every node of `graph` was taken; inputs and outputs are in the order of the delegate's
  /// arguments.
  Result<Delegate> (*lower)(const Graph& graph, const TargetOptions& options);
  /// Passes of phase `target` (passes/pipeline.cpp) that prepare a graph for this backend, in order.
  std::vector<std::string_view> passes;
  /// Nodes that only make a constant ready for their readers: copied into each partition that reads them, never a
  /// member of their own. Null: none.
  bool (*prepares_constant)(const Node& node) = nullptr;
};

}  // namespace wick::compiler
