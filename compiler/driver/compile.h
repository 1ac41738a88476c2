// The only entry point of the compiler: files in, a program and a report out.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "compiler/driver/shared_buffers.h"
#include "compiler/emit/emit.h"
#include "compiler/import/importer.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/method_plan.h"
#include "compiler/plan/unbounded_values.h"
#include "compiler/quantize/border.h"
#include "compiler/support/file_map.h"

namespace wick::compiler {

enum class Profile : uint8_t {
  automatic,  // stock's operators where they exist, Wick's where there is no other way
  stock,      // refuses nodes that stock ExecuTorch has no kernel for
  native,     // Wick's wherever they are faster
};

struct CompileInput {
  std::string method = "forward";
  std::string path;  // a .pt2
};

struct CompileOptions {
  Profile profile = Profile::automatic;
  std::vector<TargetRequest> targets;  // in order of preference, from find_targets; portable is always the last
  bool for_report = false;             // nobody runs the program: backends leave out what only running needs
  bool strict_nan = false;  // backends refuse nodes that they would treat differently from eager with NaN or inf
  /// A node that no target takes is an error of code budget, unless it computes on floats before the first quantized
  /// value or after the last one.
  bool require_full_delegation = false;
  StateSharing share_state;
  bool caller_io = false;  // inputs and outputs lie in memory of the caller where nothing else shares it
  bool external_weights = false;
  std::vector<std::string> skip_passes;
  std::vector<ExtraPass> extra_passes;  // those of phase target run before partitioning, even without a target
  ImportOptions import;
  Border border;
  /// Receives the files that options of targets ask for. The caller finishes them beside the program. Null: compile()
  /// does.
  std::vector<FileWriter>* files = nullptr;
  /// Called before each stage: "import", each pass, "partition", "linearize", "plan", "emit".
  std::function<void(std::string_view stage)> on_begin;
  /// Called after import ("import"), after each pass that changed the graph, and before planning, with the IR.
  std::function<void(std::string_view method, std::string_view stage, const Graph&)> on_stage;
};

struct NodeVerdict {
  std::string op, where_it_runs, reason, module, source;
  std::string help;          // outside: what the user can do about the reason, or ""
  std::string quantization;  // types of quantized values that it reads and gives, or ""
  NodeCost cost;
  OriginPtr origin;
  bool asked_for = false;  // an option of the user makes the node's results differ, which `reason` says
};

/// A graph break between two delegates of a method: GraphBreak of partition.h with indices into MethodPlan::delegates.
struct DelegateBreak {
  std::string body_of;
  size_t before = 0, after = 0;
  std::vector<NodeVerdict> nodes;
  BreakCost cost;
};

struct StageTime {
  std::string stage;
  uint64_t time_ns = 0;
};

struct MethodReport {
  std::string name;
  size_t delegates = 0, kernels = 0;
  std::vector<NodeVerdict> nodes;     // with targets: where each node runs, and why; as the targets saw them
  std::vector<DelegateBreak> breaks;  // with CompileOptions::for_report
  std::vector<BufferPlace> buffers;   // with targets: where each mutable buffer is kept
  std::vector<NodeVerdict> outside;   // those of `nodes` that no delegate of a requested backend takes
  uint64_t arena_bytes = 0, arena_lower_bound_bytes = 0;
  uint64_t device_arena_bytes = 0;
  std::vector<UnboundedValue> unbounded;  // values that take memory of the caller's allocator when the program runs
  std::string above_lower_bound;          // what keeps the arena above its lower bound; "" if nothing does
  std::vector<StageTime> stages;   // import, each pass (its rounds together), partition, linearize, plan; in order of
                                   // first run
  std::vector<std::string> notes;  // conditions on sizes that the program does not check; weights that became floats;
                                   // of delegates
  std::vector<SharedState> shared_states;  // mutable buffers that other methods share
  std::vector<std::string> prepared_for;   // facts "KEY=VALUE" that kernels must agree with
  std::vector<std::string> not_stock;      // what only Wick runs: operators stock lacks, or "NAME (reason)"
};

struct CompileResult {
  EmittedProgram program;
  std::vector<MethodPlan> method_plans;
  std::vector<MethodReport> methods;
  uint64_t file_bytes = 0, constant_bytes = 0;
  uint64_t emit_ns = 0;                                 // time to write the program of all methods
  std::vector<std::shared_ptr<const void>> keep_alive;  // the maps that the program's pieces point into
};

/// Compiles one method per input. Errors: everything a user can cause, with its exit code (support/diag.h).
Result<CompileResult> compile(const std::vector<CompileInput>& inputs, const CompileOptions& options);

/// As compile, for bytes already in memory; they must outlive the result.
struct CompileBytes {
  std::string method = "forward";
  std::string file_name;
  Span<const uint8_t> bytes;
  const FileMap* map = nullptr;  // of `bytes`, if they are a mapped file: pages that are not needed soon are given back
};
Result<CompileResult> compile(const std::vector<CompileBytes>& inputs, const CompileOptions& options);

/// As compile, for methods that are imported already, or that were never in a file.
Result<CompileResult> compile(std::vector<Function> functions, const CompileOptions& options);

/// Reads and imports a .pt2 and moves its border, without further passes.
Result<Function> import_bytes(const CompileBytes& input, const ImportOptions& options = {}, const Border& border = {});

/// Decomposes, optimises and partitions a function in place, as compile does before planning. `report`, if not null,
/// receives where each node runs.
Status optimize(Function& function, const CompileOptions& options, PartitionReport* report = nullptr);

/// The targets that a list asks for: NAME[:KEY=VALUE[,KEY=VALUE..]], separated by commas; "portable" stands for none.
/// `flags` (TargetOption::is_flag) go to each target of the list that has an option of that name, before its own.
/// Errors: usage, with the names, options or values that there are.
Result<std::vector<TargetRequest>> find_targets(std::string_view list, const TargetSettings& flags = {});
/// Errors: usage, for settings that do not go together.
Status check_settings(const TargetRequest& request);
/// The options of all backends that are options of the command line too, each name once.
std::vector<const TargetOption*> target_flags();
/// Everything that the backends add to a firmware with programs that were prepared for `facts`: the results of
/// Target::kernels.firmware of all backends together. Errors: those of Target::kernels.firmware.
Result<FirmwareTarget> firmware_target(const TargetSettings& settings, std::string_view facts);
/// The placeholder for an option's value in --help: its choices, or FILE.
const char* values_of(const TargetOption& option);
/// Help for all options of all backends, one line each.
std::string target_options_help();
/// The names of the default targets, in the form of find_targets.
std::string default_targets();

}  // namespace wick::compiler
