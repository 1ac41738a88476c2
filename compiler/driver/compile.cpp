#include "compiler/driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "compiler/driver/model_hash.h"
#include "compiler/driver/refusals.h"
#include "compiler/driver/shared_buffers.h"
#include "compiler/import/archive/archive.h"
#include "compiler/ir/clone.h"
#include "compiler/ir/text/text.h"
#include "compiler/layout/apply.h"
#include "compiler/ops/limits/kernel_dtypes.h"
#include "compiler/ops/limits/kernel_limits.h"
#include "compiler/ops/limits/stock_limits.h"
#include "compiler/partition/remainder.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/quantize/fold_quantization.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

KeepFn portable_keep(Profile profile) {
  // A node with a kernel of Wick's stays whole if the profile prefers such kernels.
  return [profile](const Node& node) {
    if (node.op->has(kLlmLibrary | kExactKernel)) return profile != Profile::stock;
    return profile == Profile::native && node.op->kernel && (node.op->has(kNoStock) || !stock_limit(node).empty()) &&
           kernel_takes(node);
  };
}

NodeVerdict verdict_of(const NodePlace& place) {
  NodeVerdict verdict;
  verdict.op = place.op;
  verdict.where_it_runs = place.backend.empty() ? "portable" : place.backend;
  verdict.reason = place.reason;
  verdict.help = place.help;
  verdict.asked_for = place.asked_for && !place.backend.empty();
  verdict.quantization = place.quantization;
  verdict.cost = place.cost;
  verdict.origin = place.origin;
  if (place.origin) {
    verdict.module = place.origin->module;
    verdict.source = place.origin->source;
  }
  return verdict;
}

void add_nodes(const PartitionReport& partition, MethodReport& report) {
  for (const NodePlace& place : partition.nodes) {
    NodeVerdict verdict = verdict_of(place);
    if (place.backend.empty()) report.outside.push_back(verdict);
    report.nodes.push_back(std::move(verdict));
  }
}

// Adds the graph breaks between two delegates that are in the plan.
void add_breaks(const PartitionReport& partition, const MethodPlan& plan, MethodReport& report) {
  const auto index_of = [&](const std::shared_ptr<const Delegate>& delegate) {
    return static_cast<size_t>(std::find(plan.delegates.begin(), plan.delegates.end(), delegate) -
                               plan.delegates.begin());
  };
  for (const GraphBreak& found : partition.breaks) {
    DelegateBreak out;
    out.body_of = found.body_of;
    out.before = index_of(found.before);
    out.after = index_of(found.after);
    if (std::max(out.before, out.after) == plan.delegates.size()) continue;
    for (const NodePlace& place : found.nodes) out.nodes.push_back(verdict_of(place));
    out.cost = found.cost;
    report.breaks.push_back(std::move(out));
  }
}

MethodReport report_of(const MethodPlan& plan) {
  MethodReport report;
  report.delegates = plan.delegates.size();
  report.name = plan.name;
  report.arena_bytes = plan.arena_bytes;
  report.arena_lower_bound_bytes = plan.arena_lower_bound_bytes;
  report.device_arena_bytes = plan.device_arena_bytes;
  report.unbounded = unbounded_values(plan);
  report.above_lower_bound = above_lower_bound(plan);
  report.notes = plan.notes;
  for (const auto& delegate : plan.delegates)
    report.notes.insert(report.notes.end(), delegate->notes.begin(), delegate->notes.end());
  report.shared_states = plan.shared_states;
  report.not_stock = plan.not_stock;
  report.prepared_for = plan.prepared_for;
  report.kernels = static_cast<size_t>(
      std::count_if(plan.instructions.begin(), plan.instructions.end(),
                    [](const Instruction& item) { return item.kind == Instruction::Kind::kernel; }));
  return report;
}

Status name_file(Status status, const std::string& file) {
  if (!status.ok() && status.diag().where.file.empty()) status.diag().where.file = file;
  return status;
}

// Time from one call to the next.
class Clock {
 public:
  uint64_t lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(now - std::exchange(start_, now));
    return static_cast<uint64_t>(time.count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void add_pass_times(const std::vector<PassTiming>& timings, std::vector<StageTime>& stages) {
  for (const PassTiming& timing : timings) {
    const auto same = [&](const StageTime& stage) { return stage.stage == timing.pass; };
    auto stage = std::find_if(stages.begin(), stages.end(), same);
    if (stage == stages.end()) stage = stages.insert(stages.end(), {std::string(timing.pass), 0});
    stage->time_ns += timing.time_ns;
  }
}

Verdict keeps(const Target& target, const Node& node, const TargetContext& context) {
  return target.partition.keep ? target.partition.keep(node, context) : Verdict::no("");
}

PipelineOptions pipeline_options(const std::string& method, const CompileOptions& options, const FileMap* map,
                                 std::vector<PassTiming>* timings) {
  PipelineOptions pipeline;
  pipeline.keep = portable_keep(options.profile);
  pipeline.skip = options.skip_passes;
  for (const TargetRequest& request : options.targets) {
    for (const Pass& pass : request.target->passes.own) pipeline.elsewhere.push_back(pass.name);
  }
  pipeline.extra = options.extra_passes;
  pipeline.timings = timings;
  pipeline.on_begin = options.on_begin;
  if (map) pipeline.release = [map](Span<const uint8_t> bytes) { map->release(bytes); };
  if (options.on_stage)
    pipeline.on_changed = [&](std::string_view pass, const Graph& graph) { options.on_stage(method, pass, graph); };
  return pipeline;
}

// Leaves only the passes that a later run of the pipeline repeats. Of the extra passes these are the ones of phase
// optimize. Passes of phase recognize are dropped: they would put together again what the target has refused as a
// whole.
void keep_repeated(PipelineOptions& pipeline) {
  std::erase_if(pipeline.extra, [](const ExtraPass& pass) { return pass.phase != Phase::optimize; });
  for (const Span<const Pass> table : {pass_table(), pipeline.own_passes}) {
    for (const Pass& pass : table) {
      if (pass.phase == Phase::recognize) std::erase(pipeline.target_passes, pass.name);
    }
  }
}

// Facts about the whole program for the targets of one method.
struct ProgramFacts {
  const BufferRules* buffers = nullptr;
  uint64_t model = 0;
};

TargetContext context_of(const TargetRequest& request, const CompileOptions& options) {
  return {.options = {.strict_nan = options.strict_nan,
                      .stock_only = options.profile == Profile::stock,
                      .settings = &request.settings},
          .for_report = options.for_report};
}

// Runs the passes for one target, then partitions.
Result<PartitionReport> run_target(Graph& graph, const std::string& method, const TargetRequest& request,
                                   const CompileOptions& options, const PipelineOptions& portable,
                                   const ProgramFacts& program) {
  const Target& target = *request.target;
  RETURN_IF_ERROR(check_settings(request));
  if (options.profile == Profile::stock && target.delegate.id && !target.delegate.is_stocks) {
    return Diag(Code::usage, fmt::format("stock ExecuTorch does not run delegates of the backend '{}'", target.name))
        .with_help("leave out --profile stock, or use another backend");
  }
  TargetContext context = context_of(request, options);
  context.buffers = program.buffers;
  context.method = method;
  context.model = program.model;
  PipelineOptions pipeline = portable;
  pipeline.target_passes = target.passes.names;
  pipeline.own_passes = target.passes.own;
  pipeline.strict_nan = options.strict_nan;
  pipeline.facts = target.passes.facts;
  RefusedComposites composites;
  pipeline.keep = [&](const Node& node) {
    const Verdict verdict = keeps(target, node, context);
    if (verdict.taken || portable.keep(node)) return true;
    composites.add_split(node, verdict);
    return false;
  };
  pipeline.takes = [&](const Node& node) { return ask(target, node, context).taken; };
  if (target.partition.folds_where_taken) pipeline.takes_quantized = pipeline.takes;
  StayingNodes staying;
  pipeline.stays = staying.listener();
  RETURN_IF_ERROR(run_pipeline(graph, pipeline));
  keep_repeated(pipeline);
  // Passes see nodes before quantization is folded, so verdicts from the graph that was ready to partition come first.
  pipeline.keep = [&](const Node& node) {
    if (portable.keep(node)) return true;
    if (node.results().empty()) return false;
    const Value* result = node.results()[0];
    if (composites.taken.count(result)) return true;
    return keeps(target, node, context).taken && !composites.results.count(result);
  };
  Verdicts verdicts = ask_all(graph, target, context);
  staying.explain(verdicts);
  size_t refused = composites.add(graph, verdicts, portable.keep, staying), before = 0;
  while (refused != before && refused != 0) {
    staying.clear();
    RETURN_IF_ERROR(run_pipeline(graph, pipeline));
    verdicts = ask_all(graph, target, context, &verdicts);
    staying.explain(verdicts);
    composites.taken.clear();
    before = std::exchange(refused, composites.add(graph, verdicts, portable.keep, staying));
  }
  if (options.on_begin) options.on_begin("partition");
  Clock clock;
  ASSIGN_OR_RETURN(PartitionReport report, partition(graph, target, context, verdicts));
  composites.explain(report.nodes, staying);
  RETURN_IF_ERROR(catch_failure([&] { unfold_quantization(graph, report.taken.nodes); }));
  if (portable.timings) portable.timings->push_back({"partition", 1, clock.lap(), Changed::yes});
  return report;
}

// Each target gets the nodes that earlier targets left, as they were before those targets' passes. Portable kernels get
// the rest.
Status run_targets(Function& function, const CompileOptions& options, const PipelineOptions& portable,
                   const ProgramFacts& program, PartitionReport& report) {
  for (const TargetRequest& request : options.targets) {
    OriginMap sources;
    std::unique_ptr<Graph> copy = clone(*function.graph, sources);
    ASSIGN_OR_RETURN(PartitionReport part, run_target(*copy, function.name, request, options, portable, program));
    if (options.on_stage) options.on_stage(function.name, "partition", *copy);
    if (!put_back(*function.graph, *copy, sources, part.taken)) function.graph = std::move(copy);
    if (options.on_stage) options.on_stage(function.name, "put_back", *function.graph);
    report.add(std::move(part));
  }
  return {};
}

// The nodes outside all delegates for one reason: the place of the first one, and how many there are.
struct OutsideNodes {
  std::string reason, first;
  size_t count = 0;
};

// Groups the nodes outside by reason, in order of first appearance. Adds to `following` the nodes that are outside only
// because others are.
std::vector<OutsideNodes> nodes_outside(const PartitionReport& report, size_t* following) {
  std::vector<OutsideNodes> outside;
  std::map<std::string, size_t, std::less<>> index_of;
  for (const NodePlace& place : report.nodes) {
    if (!place.backend.empty() || place.beyond_quantized) continue;
    if (place.follows) {
      ++*following;
      continue;
    }
    std::string reason = fmt::format("{}: {}", place.op, with_help(place.reason, place.help));
    const auto [found, is_new] = index_of.emplace(reason, outside.size());
    if (is_new) {
      const std::string source = place.origin ? place.origin->source : "",
                        module = place.origin ? place.origin->module : "";
      outside.push_back({std::move(reason), fmt::format("{}{}", source.empty() ? "" : ", " + printable(source),
                                                        module.empty() ? "" : " in " + printable(module))});
    }
    ++outside[found->second].count;
  }
  return outside;
}

Status check_full_delegation(const PartitionReport& report, const std::string& method) {
  constexpr size_t kMostReasons = 10;
  size_t count = 0, following = 0, left_out = 0;
  const std::vector<OutsideNodes> outside = nodes_outside(report, &following);
  std::vector<std::string> notes;
  for (const OutsideNodes& each : outside) {
    count += each.count;
    if (notes.size() == kMostReasons) {
      left_out += each.count;
      continue;
    }
    const std::string others = each.count == 1 ? "" : fmt::format(", and {} more", each.count - 1);
    notes.push_back(each.reason + each.first + others);
  }
  count += following;
  if (count == 0) return {};
  Diag diag(Code::budget, fmt::format("{} nodes of method '{}' are outside all delegates", count, method));
  diag.notes = std::move(notes);
  if (left_out > 0) {
    diag.notes.push_back(fmt::format("{} more nodes for {} other reasons; `wick explain` lists all", left_out,
                                     outside.size() - kMostReasons));
  }
  if (following > 0) diag.notes.push_back(fmt::format("nodes that are outside only because of these: {}", following));
  return diag;
}

// The layout rules of targets of form kernels, by the name of the operator.
using LayoutTable = std::map<std::string, layout::LayoutRule (*)(const Node& node), std::less<>>;

LayoutTable layout_table(const CompileOptions& options) {
  LayoutTable table;
  for (const TargetRequest& request : options.targets) {
    if (!request.target->kernels.layout) continue;
    for (const OpDef& row : request.target->kernels.ops)
      table.emplace(parse_schema(row.schema).name, request.target->kernels.layout);
  }
  return table;
}

// Assigns dim orders to all values if a target has layout rules. Only planning may follow.
Status lay_out(Function& function, const CompileOptions& options, std::vector<PassTiming>* timings) {
  const LayoutTable table = layout_table(options);
  if (table.empty()) return {};
  if (options.on_begin) options.on_begin("layout");
  Clock clock;
  layout::LayoutRules rules = {[&](const Node& node) {
    const auto row = table.find(node.op->name());
    return row == table.end() ? layout::portable_rule(node) : row->second(node);
  }};
  rules.copy = [&](Builder& builder, Value* value, const layout::DimOrder& order) -> Value* {
    for (const TargetRequest& request : options.targets) {
      Value* made = request.target->kernels.copy_to_dim_order
                        ? request.target->kernels.copy_to_dim_order(builder, value, order)
                        : nullptr;
      if (made) return made;
    }
    return nullptr;
  };
  bool changed = false;
  RETURN_IF_ERROR(catch_failure([&] { changed = layout::apply_layouts(*function.graph, rules); }));
  RETURN_IF_ERROR(verify(*function.graph));
  if (timings) timings->push_back({"layout", 1, clock.lap(), changed ? Changed::yes : Changed::no});
  if (changed && options.on_stage) options.on_stage(function.name, "layout", *function.graph);
  return {};
}

Status run_passes(Function& function, const CompileOptions& options, const FileMap* map,
                  std::vector<PassTiming>* timings, const ProgramFacts& program, PartitionReport* report) {
  PipelineOptions portable = pipeline_options(function.name, options, map, timings);
  if (!options.targets.empty()) {
    RETURN_IF_ERROR(run_targets(function, options, portable, program, *report));
    keep_repeated(portable);
    if (options.require_full_delegation) RETURN_IF_ERROR(check_full_delegation(*report, function.name));
  } else if (options.require_full_delegation) {
    return Diag(Code::usage, "full delegation is required, but no backend is asked for")
        .with_help("add --backend NAME");
  }
  RETURN_IF_ERROR(run_pipeline(*function.graph, portable));
  RETURN_IF_ERROR(check_kernel_dtypes(*function.graph));
  return lay_out(function, options, timings);
}

// Bytes of the constants that a graph reads, as imported, and of those among them that are quantized weights.
struct ConstantBytes {
  size_t all = 0, quantized = 0;
};

ConstantBytes constant_bytes_of(const Graph& graph) {
  ConstantBytes bytes;
  for (const Value* constant : graph.constants()) {
    bytes.all += constant->data.size_bytes();
    const bool weight = std::any_of(constant->users().begin(), constant->users().end(), [&](const Node* reader) {
      return reader->op->has(kDequantizes) && reader->operands()[0] == constant;
    });
    if (weight && is_integral(constant->dtype())) bytes.quantized += constant->data.size_bytes();
  }
  return bytes;
}

// Bytes of code in all delegates; code of the same key counts once.
size_t code_bytes_of(const CompileResult& result) {
  std::map<std::string, size_t> code;
  for (const MethodPlan& plan : result.method_plans) {
    for (const auto& delegate : plan.delegates) {
      for (const NamedConstant& constant : delegate->constants) {
        if (constant.is_code) code[constant.key] = constant.data.size_bytes();
      }
    }
  }
  size_t bytes = 0;
  for (const auto& [key, size] : code) bytes += size;
  return bytes;
}

// Adds a note if quantized weights became floats, several times as large, because no kernel takes them as integers.
void note_widened(const std::vector<ConstantBytes>& imported, CompileResult& result) {
  ConstantBytes model;
  for (const ConstantBytes& method : imported) model.all += method.all, model.quantized += method.quantized;
  const uint64_t stored = result.constant_bytes - std::min<uint64_t>(code_bytes_of(result), result.constant_bytes);
  if (model.quantized == 0 || stored <= model.all + model.quantized) return;
  result.methods[0].notes.push_back(
      fmt::format("the constants take {} bytes, those of the model {}: quantized weights are stored as floats where no "
                  "kernel multiplies their integers",
                  stored, model.all));
}

// Results of compiling one method before memory is planned for all methods.
struct MethodStages {
  ConstantBytes imported;
  std::vector<StageTime> times;
  PartitionReport partitioned;
};

// A method being imported and compiled.
struct ImportedMethod {
  Function function;
  std::string file;
  const FileMap* map = nullptr;
};

Result<MethodPlan> compile_function(Function function, const CompileOptions& options, const FileMap* map,
                                    const ProgramFacts& program, MethodStages& stages) {
  if (options.on_stage) options.on_stage(function.name, "import", *function.graph);
  stages.imported = constant_bytes_of(*function.graph);
  BorderQuantization border = border_quantization(*function.graph);
  std::vector<PassTiming> timings;
  RETURN_IF_ERROR(run_passes(function, options, map, &timings, program, &stages.partitioned));
  add_pass_times(timings, stages.times);
  LinearizeOptions linearize_options;
  linearize_options.stock_only = options.profile == Profile::stock;
  Clock clock;
  if (options.on_begin) options.on_begin("linearize");
  Result<MethodPlan> plan = linearize(function, linearize_options);
  stages.times.push_back({"linearize", clock.lap()});
  if (!plan.ok()) return plan;
  plan->prepared_for = stages.partitioned.prepared_for;
  plan->input_quantization = std::move(border.inputs);
  plan->output_quantization = std::move(border.outputs);
  plan->border = to_text(options.border);
  return plan;
}

bool holds_buffers(const CompileOptions& options) {
  return std::any_of(options.targets.begin(), options.targets.end(),
                     [](const TargetRequest& request) { return request.target->delegate.holds != nullptr; });
}

bool names_model(const CompileOptions& options) {
  return std::any_of(options.targets.begin(), options.targets.end(),
                     [](const TargetRequest& request) { return request.target->delegate.names_model; });
}

uint64_t hash_of(const std::vector<ImportedMethod>& methods) {
  ContentHash hash;
  for (const ImportedMethod& method : methods) {
    const FileMap* map = method.map;
    add_to_hash(
        method.function,
        [map](Span<const uint8_t> bytes) {
          if (map) map->release(bytes);
        },
        hash);
  }
  return hash.value();
}

// Compiles each method by itself. Consumes the functions, unless `again` says that another call will follow.
Status compile_each(std::vector<ImportedMethod>& methods, const CompileOptions& options, const SharedBuffers& buffers,
                    bool again, uint64_t model, std::vector<MethodPlan>& plans, std::vector<MethodStages>& stages) {
  for (size_t i = 0; i < methods.size(); ++i) {
    Function& function = methods[i].function;
    OriginMap sources;
    Function copy{function.name, again ? clone(*function.graph, sources) : std::move(function.graph), function.in_spec,
                  function.out_spec, function.notes};
    const ProgramFacts program = {&buffers.rules_of(i), model};
    Result<MethodPlan> plan = compile_function(std::move(copy), options, methods[i].map, program, stages[i]);
    if (!plan.ok()) return name_file(std::move(plan.diag()), methods[i].file);
    plan->shared_states = buffers.shared_by(i);
    plans.push_back(std::move(*plan));
  }
  return {};
}

// Compiles the methods. If delegates hold shared buffers, repeats that until all methods agree on the buffers that are
// held.
Status compile_methods(std::vector<ImportedMethod> methods, const CompileOptions& options,
                       std::vector<MethodPlan>& plans, std::vector<MethodStages>& stages) {
  const uint64_t model = names_model(options) ? hash_of(methods) : 0;
  std::vector<Function> functions;
  for (ImportedMethod& method : methods) functions.push_back(std::move(method.function));
  ASSIGN_OR_RETURN(SharedBuffers buffers, SharedBuffers::find(functions, options.share_state));
  for (size_t i = 0; i < methods.size(); ++i) {
    functions[i].stored.clear();
    methods[i].function = std::move(functions[i]);
  }
  if (methods.size() < 2 || !holds_buffers(options))
    return compile_each(methods, options, buffers, false, model, plans, stages);
  const std::vector<MethodStages> fresh = stages;
  for (bool again = true; again;) {
    plans.clear();
    stages = fresh;
    RETURN_IF_ERROR(compile_each(methods, options, buffers, true, model, plans, stages));
    std::vector<std::vector<BufferPlace>> places;
    for (const MethodStages& method : stages) places.push_back(method.partitioned.buffers);
    again = buffers.disagree(places);
  }
  return {};
}

Status write_files_of_targets(const std::vector<MethodPlan>& method_plans, const CompileOptions& options,
                              std::vector<FileWriter>& files) {
  for (const TargetRequest& request : options.targets) {
    if (!request.target->delegate.write_files) continue;
    std::vector<const Delegate*> delegates;
    for (const MethodPlan& plan : method_plans) {
      for (const auto& delegate : plan.delegates) {
        if (delegate->id == request.target->delegate.id) delegates.push_back(delegate.get());
      }
    }
    RETURN_IF_ERROR(request.target->delegate.write_files(delegates, context_of(request, options), files));
  }
  return {};
}

// Plans the memory of linearized methods and emits the program.
Result<CompileResult> finish(std::vector<MethodPlan> method_plans, std::vector<MethodStages> stages,
                             const CompileOptions& options) {
  CompileResult result;
  std::vector<ConstantBytes> imported;
  for (const MethodStages& method : stages) imported.push_back(method.imported);
  result.method_plans = std::move(method_plans);
  share_states(result.method_plans);
  Clock clock;
  if (options.on_begin) options.on_begin("plan");
  for (size_t i = 0; i < result.method_plans.size(); ++i) {
    MethodPlan& plan = result.method_plans[i];
    if (options.caller_io) leave_io_to_caller(plan);
    plan_memory(plan);
    RETURN_IF_ERROR(verify_plan(plan));
    result.methods.push_back(report_of(plan));
    add_nodes(stages[i].partitioned, result.methods.back());
    add_breaks(stages[i].partitioned, plan, result.methods.back());
    result.methods.back().buffers = std::move(stages[i].partitioned.buffers);
    result.methods.back().stages = std::move(stages[i].times);
    result.methods.back().stages.push_back({"plan", clock.lap()});
  }
  std::vector<FileWriter> files;
  RETURN_IF_ERROR(write_files_of_targets(result.method_plans, options, options.files ? *options.files : files));
  EmitOptions emit_options;
  emit_options.external_weights = options.external_weights;
  if (options.on_begin) options.on_begin("emit");
  ASSIGN_OR_RETURN(result.program, emit(result.method_plans, emit_options));
  result.emit_ns = clock.lap();
  result.file_bytes = result.program.pte.size_bytes;
  result.constant_bytes = result.program.constant_bytes;
  note_widened(imported, result);
  RETURN_IF_ERROR(finish_all(files));
  return result;
}

}  // namespace

Result<Function> import_bytes(const CompileBytes& input, const ImportOptions& options, const Border& border) {
  ASSIGN_OR_RETURN(pt2::Archive archive, pt2::Archive::open(input.bytes, input.file_name));
  ASSIGN_OR_RETURN(std::vector<std::string> names, pt2::model_names(archive));
  if (names.size() != 1) {
    return Diag(Code::unsupported_model, fmt::format("the file holds {} programs", names.size()))
        .at_file(input.file_name)
        .with_help("save each program to a separate file and give Wick several inputs");
  }
  ASSIGN_OR_RETURN(pt2::ExportedProgram program, pt2::read_exported_program(archive, names[0]));
  ASSIGN_OR_RETURN(Function function, import_program(program, input.method, options));
  RETURN_IF_ERROR(set_border(*function.graph, border, function.name));
  return function;
}

Status optimize(Function& function, const CompileOptions& options, PartitionReport* report) {
  PartitionReport own;
  return run_passes(function, options, nullptr, nullptr, {}, report ? report : &own);
}

Result<CompileResult> compile(const std::vector<CompileBytes>& inputs, const CompileOptions& options) {
  std::vector<ImportedMethod> methods;
  std::vector<MethodStages> stages(inputs.size());
  for (const CompileBytes& input : inputs) {
    Clock clock;
    if (options.on_begin) options.on_begin("import");
    Result<Function> function = import_bytes(input, options.import, options.border);
    if (!function.ok()) {
      RETURN_IF_ERROR(name_file(std::move(function.diag()), input.file_name));
    }
    stages[methods.size()].times.push_back({"import", clock.lap()});
    methods.push_back({std::move(*function), input.file_name, input.map});
  }
  std::vector<MethodPlan> plans;
  RETURN_IF_ERROR(compile_methods(std::move(methods), options, plans, stages));
  return finish(std::move(plans), std::move(stages), options);
}

Result<CompileResult> compile(std::vector<Function> functions, const CompileOptions& options) {
  std::vector<ImportedMethod> methods;
  for (Function& function : functions) {
    RETURN_IF_ERROR(set_border(*function.graph, options.border, function.name));
    methods.push_back({std::move(function), "", nullptr});
  }
  std::vector<MethodStages> stages(methods.size());
  std::vector<MethodPlan> plans;
  RETURN_IF_ERROR(compile_methods(std::move(methods), options, plans, stages));
  return finish(std::move(plans), std::move(stages), options);
}

Result<CompileResult> compile(const std::vector<CompileInput>& inputs, const CompileOptions& options) {
  std::vector<CompileBytes> bytes;
  std::vector<std::shared_ptr<const void>> maps;
  for (const CompileInput& input : inputs) {
    ASSIGN_OR_RETURN(FileMap map, FileMap::open(input.path));
    auto shared = std::make_shared<FileMap>(std::move(map));
    bytes.push_back({input.method, input.path, shared->bytes(), shared.get()});
    maps.push_back(shared);
  }
  ASSIGN_OR_RETURN(CompileResult result, compile(bytes, options));
  result.keep_alive = std::move(maps);
  return result;
}

}  // namespace wick::compiler
