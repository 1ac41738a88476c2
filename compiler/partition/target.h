// The declaration of a backend: which nodes it takes, which composites stay whole for it, and how a partition becomes a
// payload. C++20.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/delegate.h"
#include "compiler/ir/graph.h"
#include "compiler/layout/layout_rule.h"
#include "compiler/partition/call_cost.h"
#include "compiler/partition/delegate_report.h"
#include "compiler/partition/firmware.h"
#include "compiler/passes/pass.h"
#include "compiler/support/file_map.h"
#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler {

/// Whether a backend takes a node. A no has a reason in words: what was found and what is wanted.
struct Verdict {
  bool taken = false;
  std::string reason;  // of a no; of a yes: what the user should know (a case where NaN differs), or ""
  /// For a no from Target::partition.profitable: the nodes that are the cause. Only these stay outside; if none, all.
  std::vector<const Node*> because_of = {};
  bool asked_for = false;  // of a yes: an option of the user makes the results differ, which `reason` says
  bool follows = false;    // of a no: from the no on another node, whose reason is the one to look at
  std::string help = {};   // of a no: what the user can do about it, or ""
  static Verdict yes(std::string note = "") { return {true, std::move(note), {}}; }
  static Verdict no(std::string why, std::string help = "") {
    Verdict verdict = {false, std::move(why), {}};
    verdict.help = std::move(help);
    return verdict;
  }
};

/// The reason, and what the user can do about it, if that is known: "reason; help".
std::string with_help(const std::string& reason, const std::string& help);

class Builder;
class ValueRanges;

/// The agreement of a program's methods on mutable buffers, by fully qualified name.
struct BufferRules {
  std::map<std::string, std::string, std::less<>> outside;  // buffers that delegates may not hold, and why
  std::map<std::string, std::string, std::less<>> names;  // names in delegates of buffers that have another name there
};

/// An option of a backend, `--backend NAME:key=value`.
struct TargetOption {
  const char* name;
  const char* choices;  // "exact|fast", the first is the default; "": any text, by default none
  const char* help;
  /// Also an option of the command line, `--key value`, for all requested backends that have it.
  bool is_flag = false;
  const char* takes = "TEXT";  // the placeholder for a value without choices in --help: FILE
  /// FILE: which files of this name may be replaced, in words, and a test of their bytes. Null: all.
  const char* replaces = "";
  bool (*may_replace)(Span<const uint8_t> bytes) = nullptr;
};
/// Options with their values, as the user gave them. If an option occurs twice, the last one counts.
using TargetSettings = std::vector<std::pair<std::string, std::string>>;

/// The user's choices.
struct TargetOptions {
  bool strict_nan = false;                   // refuses nodes whose kernels treat NaN or infinity differently from eager
  bool stock_only = false;                   // refuses operators that stock lacks
  const TargetSettings* settings = nullptr;  // null: all have their defaults
  /// The value of an option that the target has.
  std::string_view setting(const TargetOption& option) const;
};

/// The program around the nodes that a backend is asked about. Null and empty: not known, or none.
struct TargetContext {
  TargetOptions options;
  const Graph* graph = nullptr;         // in which the nodes lie
  const ValueRanges* ranges = nullptr;  // of that graph, or of the one that is lowered
  const BufferRules* buffers = nullptr;
  /// For messages: the method that is lowered, and how many of its partitions were lowered for this target before.
  std::string_view method = {};
  size_t partition = 0;
  /// A hash of all methods as imported, weights included: the same for equal models. 0 unless the target names_model.
  uint64_t model = 0;
  /// The program is not run: payloads may leave out what only a run needs.
  bool for_report = false;
};

/// Decides what a backend takes, and which nodes become one delegate.
struct TargetPartition {
  /// Which composites reach `supports` whole. A no has a reason if the backend has a whole form for other nodes of the
  /// same operator. Null: none.
  Verdict (*keep)(const Node& node, const TargetContext& context) = nullptr;
  /// Whether the backend takes a node, by the node, its operands' types and constants, and context.ranges. Called after
  /// all passes.
  Verdict (*supports)(const Node& node, const TargetContext& context) = nullptr;
  /// Whether it is profitable to make one delegate of these nodes. Null: always.
  Verdict (*profitable)(const std::vector<const Node*>& nodes, const TargetContext& context) = nullptr;
  /// Which nodes only prepare a constant for their readers. They are copied into each partition that reads them and
  /// never count as members. Null: none.
  bool (*prepares_constant)(const Node& node) = nullptr;
  /// Form delegate: a pointwise operator, data movement or reduction of up to this many elements costs no more outside
  /// than the call of a delegate. Nodes of that cost stay outside if one delegate less is then enough
  /// (groups/light_nodes.h).
  uint64_t light_elements = 0;
  /// The pass fold_quantization quantizes the operands and results of a node only if `supports` then takes it. Else it
  /// quantizes those of all nodes, and nodes that are refused read and give quantized values.
  bool folds_where_taken = false;
  /// Form delegate: takes nodes that draw random numbers. They draw the same numbers as the portable kernels, and take
  /// as many blocks from the method's stream.
  bool draws_random = false;
  /// Form delegate: takes nodes with graphs (conditions and loops) if it takes each node inside. `supports` is asked
  /// about the node too.
  bool takes_graphs = false;
};

/// The passes of phases `recognize`, `target` and `last` that prepare a graph for a backend.
struct TargetPasses {
  std::vector<std::string_view> names = {};  // in order: of rows in passes/pipeline.cpp or in `own`
  Span<const Pass> own = {};
  TargetFacts facts = {};
};

/// Form delegate: a partition becomes a payload.
struct TargetDelegates {
  const char* id = nullptr;  // the backend's id at run time; null: form kernels
  /// Every node of `graph` was taken. Inputs and outputs are in the order of the delegate's arguments.
  Result<Delegate> (*lower)(const Graph& graph, const TargetContext& context) = nullptr;
  DeviceTag device = {};     // the memory of values that only its delegates read and write
  bool names_model = false;  // payloads say which model they are of: TargetContext::model
  bool is_stocks = false;    // stock ExecuTorch has the runtime half too
  /// Whether delegates can keep a mutable buffer in memory of their own, from call to call, under its name in the model
  /// (Value::fqn). Such a buffer is a state of the graph that `lower` is given, with its update if the partition
  /// changes it. Null: they hold none.
  Verdict (*holds)(const Value& state, const TargetContext& context) = nullptr;
  /// The inputs of context.graph of which a partition reads only the sizes. They become its inputs, after all others.
  /// Null: none.
  std::vector<Value*> (*reads_sizes_of)(const std::vector<const Node*>& nodes, const TargetContext& context) = nullptr;
  /// Writes files that the target's options ask for, for all its delegates in a program, and adds them to `files`,
  /// whose owner finishes them. Null: none.
  Status (*write_files)(const std::vector<const Delegate*>& delegates, const TargetContext& context,
                        std::vector<FileWriter>& files) = nullptr;
};

/// Form kernels: a node becomes operators of the backend.
struct TargetKernels {
  /// Replaces an accepted node by operators and returns the values that replace its results, in order. The operators
  /// that the builder makes work on elements as they are stored, whatever these stand for. Null: form delegate.
  std::vector<Value*> (*rewrite)(Builder& builder, Node& node, const TargetContext& context) = nullptr;
  Span<const OpDef> ops = {};
  /// The dim orders that one of these operators takes. Null: contiguous tensors only.
  layout::LayoutRule (*layout)(const Node& node) = nullptr;
  /// As LayoutRules::copy. Null: by an operator of PyTorch.
  Value* (*copy_to_dim_order)(Builder& builder, Value* value, const layout::DimOrder& order) = nullptr;
  /// The facts that the operators are prepared for, "KEY=VALUE" each, without spaces. A program with such operators
  /// states them, and kernels that are built for another value refuse it. Null: none.
  std::vector<std::string> (*prepared_for)(const TargetOptions& options) = nullptr;
  /// The parts that a firmware needs to run programs that were prepared for `facts` ("KEY=VALUE", separated by spaces).
  /// Facts of other backends are ignored. `settings`: the values of options that are flags, as the user gave them.
  /// Errors: usage (no such processor; settings and facts contradict each other). Null: its programs need no kernels.
  Result<FirmwareTarget> (*firmware)(const TargetSettings& settings, std::string_view facts) = nullptr;
};

/// Answers reports' questions about programs for a backend. Each may be null: not known.
struct TargetReporting {
  /// The steps that a delegate executes, from its payload and from what `lower` kept, if anything. Errors:
  /// corrupt_file.
  Result<DelegateReport> (*delegate)(const Delegate& delegate, const TargetContext& context) = nullptr;
  /// The number of multiply-accumulates of an accepted node.
  uint64_t (*macs)(const Node& node) = nullptr;
  /// The cost of a call in a program that was prepared for these facts. The call may be of the target's own operators
  /// or of others beside them.
  CallCost (*call_cost)(const OperatorCall& call, Span<const std::string> prepared_for) = nullptr;
};

/// The options of a backend on the command line.
struct TargetOptionList {
  Span<const TargetOption> list = {};
  /// Whether the settings go together. Errors: usage. Null: they always do.
  Status (*check)(const TargetOptions& options) = nullptr;
};

/// A backend as the compiler sees it: one row of backends/backends.inc. It has one of two forms:
///   delegate  delegate.lower turns a partition into a payload; delegate.id names the backend's runtime half
///   kernels   kernels.rewrite replaces a node by the backend's own operators, which have rows in kernels.ops. Plan and
///             emission treat them like any other operator
struct Target {
  const char* name;         // on the command line
  bool by_default = false;  // used where the user names no backend
  TargetPartition partition = {};
  TargetPasses passes = {};
  TargetDelegates delegate = {};
  TargetKernels kernels = {};
  TargetReporting reporting = {};
  TargetOptionList options = {};
};

/// A target with its options' values.
struct TargetRequest {
  TargetRequest(const Target* asked) : target(asked) {}
  TargetRequest(const Target* asked, TargetSettings values) : target(asked), settings(std::move(values)) {}
  const Target* target;
  TargetSettings settings;
};

}  // namespace wick::compiler
