#include "compiler/driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "compiler/import/archive.h"
#include "compiler/ops/kernel_limits.h"
#include "compiler/ops/stock_limits.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/linearize.h"
#include "compiler/plan/memory_plan.h"

namespace wick::compiler {
namespace {

KeepFn portable_keep(Profile profile) {
  // What has a kernel of ours runs whole where the profile prefers that.
  return [profile](const Node& node) {
    return profile == Profile::native && node.op->kernel && (node.op->has(kNoStock) || !stock_limit(node).empty()) &&
           kernel_takes(node);
  };
}

MethodReport report_of(const Statement& statement, const CompileOptions& options) {
  MethodReport report;
  report.name = statement.name;
  report.arena_bytes = statement.arena_bytes;
  report.arena_lower_bound_bytes = statement.arena_lower_bound_bytes;
  report.above_lower_bound = above_lower_bound(statement);
  report.notes = statement.notes;
  report.not_stock = statement.not_stock;
  for (const Instruction& instruction : statement.instructions) {
    if (instruction.kind != Instruction::Kind::kernel) continue;
    ++report.kernels;
    if (options.backends.empty()) continue;
    const Operator& op = statement.operators[instruction.op];
    NodeVerdict verdict;
    verdict.op = op.overload.empty() ? op.name : op.name + "." + op.overload;
    verdict.where_it_runs = "portable";
    verdict.reason = "no backend of this build takes it";
    if (instruction.origin) {
      verdict.module = instruction.origin->module;
      verdict.source = instruction.origin->source;
    }
    report.outside.push_back(std::move(verdict));
  }
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

Status run_passes(Function& function, const CompileOptions& options, const FileMap* map,
                  std::vector<PassTiming>* timings) {
  PipelineOptions pipeline;
  pipeline.keep = portable_keep(options.profile);
  pipeline.skip = options.skip_passes;
  pipeline.timings = timings;
  pipeline.on_begin = options.on_begin;
  if (map) pipeline.release = [map](Span<const uint8_t> bytes) { map->release(bytes); };
  if (options.on_stage)
    pipeline.on_changed = [&](std::string_view pass, const Graph& graph) {
      options.on_stage(function.name, pass, graph);
    };
  return run_pipeline(*function.graph, pipeline);
}

Result<Statement> compile_method(const CompileBytes& input, const CompileOptions& options,
                                 std::vector<StageTime>& stages) {
  Clock clock;
  if (options.on_begin) options.on_begin("import");
  ASSIGN_OR_RETURN(Function function, import_bytes(input, options.import));
  stages.push_back({"import", clock.lap()});
  if (options.on_stage) options.on_stage(function.name, "import", *function.graph);
  std::vector<PassTiming> timings;
  RETURN_IF_ERROR(run_passes(function, options, input.map, &timings));
  add_pass_times(timings, stages);
  LinearizeOptions linearize_options;
  linearize_options.stock_only = options.profile == Profile::stock;
  clock.lap();
  if (options.on_begin) options.on_begin("linearize");
  Result<Statement> statement = linearize(function, linearize_options);
  stages.push_back({"linearize", clock.lap()});
  return statement;
}

}  // namespace

Result<Function> import_bytes(const CompileBytes& input, const ImportOptions& options) {
  ASSIGN_OR_RETURN(pt2::Archive archive, pt2::Archive::open(input.bytes, input.file_name));
  ASSIGN_OR_RETURN(std::vector<std::string> names, pt2::model_names(archive));
  if (names.size() != 1) {
    return Diag(Code::unsupported_model, fmt::format("the file holds {} programs", names.size()))
        .at_file(input.file_name)
        .with_help("save each program to a file of its own and give Wick several inputs");
  }
  ASSIGN_OR_RETURN(pt2::ExportedProgram program, pt2::read_exported_program(archive, names[0]));
  return import_program(program, input.method, options);
}

Status optimize(Function& function, const CompileOptions& options) {
  return run_passes(function, options, nullptr, nullptr);
}

Result<CompileResult> compile(const std::vector<CompileBytes>& inputs, const CompileOptions& options) {
  CompileResult result;
  std::vector<std::vector<StageTime>> stages;
  for (const CompileBytes& input : inputs) {
    Result<Statement> statement = compile_method(input, options, stages.emplace_back());
    if (!statement.ok()) {
      RETURN_IF_ERROR(name_file(std::move(statement.diag()), input.file_name));
    }
    result.statements.push_back(std::move(*statement));
  }
  if (options.share_state) share_states(result.statements);
  Clock clock;
  if (options.on_begin) options.on_begin("plan");
  for (size_t i = 0; i < result.statements.size(); ++i) {
    Statement& statement = result.statements[i];
    plan_memory(statement);
    RETURN_IF_ERROR(verify_plan(statement));
    result.methods.push_back(report_of(statement, options));
    result.methods.back().stages = std::move(stages[i]);
    result.methods.back().stages.push_back({"plan", clock.lap()});
  }
  EmitOptions emit_options;
  emit_options.external_weights = options.external_weights;
  if (options.on_begin) options.on_begin("emit");
  ASSIGN_OR_RETURN(result.program, emit(result.statements, emit_options));
  result.emit_ns = clock.lap();
  result.file_bytes = result.program.pte.size_bytes;
  result.constant_bytes = result.program.constant_bytes;
  return result;
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
