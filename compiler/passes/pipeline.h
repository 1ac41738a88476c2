// Runs the passes in the order of one table.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/decompose.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/support/limits.h"
#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler {

/// Limits of constant folding.
struct FoldOptions {
  uint64_t max_folded_bytes =
      limits().folded_bytes;  // growth of all constants of a graph together, in one run of the pass
  // Results up to this size fold however small their operands are; larger ones that take long to compute do, too.
  uint64_t free_result_bytes = uint64_t{1} << 20;
  uint64_t free_creation_bytes = uint64_t{64} << 10;  // the same for operators without tensor operands
};

struct PassTiming {
  std::string pass;
  int round = 0;  // of its phase, from 1
  uint64_t time_ns = 0;
  Changed changed = Changed::no;
};

/// A pass that is not in the table, from a test or from a program that embeds the compiler.
struct ExtraPass {
  std::string name;
  std::function<Result<Changed>(Graph& graph)> run;  // null: the pass of the table or of the backend that has this name
  Phase phase = Phase::optimize;
};

using ReleaseFn = std::function<void(Span<const uint8_t> bytes)>;

struct PipelineOptions {
  KeepFn keep;  // composites that stay whole; null: none
  FoldOptions fold;
  std::vector<std::string> skip;                        // names of passes that do not run
  std::vector<std::string_view> elsewhere;              // passes of other backends, which `skip` may name, too
  std::string stop_after;                               // ends the pipeline when this pass has run once
  std::function<void(std::string_view pass)> on_begin;  // called before each pass
  /// Called after each pass that changed the graph.
  std::function<void(std::string_view pass, const Graph& graph)> on_changed;
  bool verify_each_pass = false;  // otherwise the verifier runs once, at the end
  std::vector<PassTiming>* timings = nullptr;
  /// Called with the bytes of a constant when another constant replaces it, or is ready to. The bytes stay valid but
  /// are not needed soon.
  ReleaseFn release;
  /// The passes of phases `recognize` and `target` that run, in this order.
  std::vector<std::string_view> target_passes;
  /// The backend's own passes, which target_passes may also name.
  Span<const Pass> own_passes;
  TargetFacts facts;
  /// The question that fold_quantization asks (compiler/quantize/fold_quantization.h); null: it folds everything.
  std::function<bool(const Node& node)> takes_quantized;
  /// Whether the target takes a node as it is, for passes of the target; null: there is no target.
  std::function<bool(const Node& node)> takes;
  /// Called by passes of the target for each node that will stay outside, with the reason. If that is "", the node
  /// stays because of `cause`, and another call gives the reason for `cause`. Null: nobody asks.
  std::function<void(const Node& node, const std::string& why, const std::string& help, const Node* cause)> stays;
  /// Leaves out the target passes that do not keep NaN and infinities.
  bool strict_nan = false;
  /// Each runs after the passes of its phase.
  std::vector<ExtraPass> extra;
};

template <Result<Changed> (*pass)(Graph&, const TargetFacts&)>
Result<Changed> run_for_target(Graph& graph, const PipelineOptions& options) {
  return pass(graph, options.facts);
}

/// The shared passes, which belong to no backend, in the order in which they run.
Span<const Pass> pass_table();

/// Runs one pass by name, from the table or from options.own_passes. Errors: usage (no such pass), those of the pass,
/// internal (it broke the graph).
Result<Changed> run_pass(std::string_view name, Graph& graph, const PipelineOptions& options);

/// Runs the table. A second run changes nothing if no target passes are named. Errors: usage (skip or stop_after names
/// no pass), those of the passes, each with a note that names it, internal (a pass broke the graph; target_passes names
/// no pass of phase target).
Status run_pipeline(Graph& graph, const PipelineOptions& options);

}  // namespace wick::compiler
