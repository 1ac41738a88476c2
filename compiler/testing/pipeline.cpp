#include "compiler/testing/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/analysis/quantization_step.h"
#include "compiler/ir/text/text.h"
#include "wick/backends.h"

namespace wick::testing {

using compiler::Changed;
using compiler::Code;
using compiler::CompileOptions;
using compiler::CompileResult;
using compiler::Diag;
using compiler::FileMap;
using compiler::Function;
using compiler::Graph;
using compiler::Node;
using compiler::Phase;
using compiler::Result;

namespace {

constexpr std::string_view kStageNames[] = {"import", "passes", "partition", "lower", "emit", "load", "run"};
constexpr uint64_t kConstantSeed = 7;

void count_ops(const Graph& graph, std::map<std::string, size_t, std::less<>>& counts) {
  for (const auto& node : graph.nodes()) {
    ++counts[std::string(node->op->name())];
    for (const auto& inner : node->graphs) count_ops(*inner, counts);
  }
}

// "aten.relu" stands for "aten.relu.default".
std::string full_name(std::string_view op) {
  return std::count(op.begin(), op.end(), '.') == 1 ? fmt::format("{}.default", op) : std::string(op);
}

}  // namespace

std::string_view name_of(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

std::optional<Stage> stage_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kStageNames); ++i) {
    if (kStageNames[i] == name) return static_cast<Stage>(i);
  }
  return {};
}

Pipeline::Pipeline(Import import) : import_(std::move(import)) {}

Pipeline Pipeline::from_text(std::string text) {
  return Pipeline([text = std::move(text)]() -> Result<Function> {
    ASSIGN_OR_RETURN(Function function, compiler::parse_graph(text));
    fill_constants(*function.graph, kConstantSeed);
    return function;
  });
}

Pipeline Pipeline::from_file(const std::string& path, const compiler::ImportOptions& options) {
  auto map = std::make_shared<std::optional<FileMap>>();
  return Pipeline([=]() -> Result<Function> {
    if (!*map) {
      ASSIGN_OR_RETURN(FileMap opened, FileMap::open(path));
      map->emplace(std::move(opened));
    }
    return compiler::import_bytes({"forward", path, (*map)->bytes()}, options);
  });
}

Pipeline Pipeline::from_bytes(Span<const uint8_t> bytes, const std::string& name) {
  return Pipeline([=] { return compiler::import_bytes({"forward", name, bytes}); });
}

compiler::CompileOptions& Pipeline::options() {
  check_early("options()");
  return options_;
}

void Pipeline::check_early(std::string_view option) {
  if (compiled_) fail_check(fmt::format("{} has no effect: options come before the first stage", option));
}

Pipeline& Pipeline::backend(std::string_view names) {
  check_early(fmt::format("backend(\"{}\")", names));
  auto found = compiler::find_targets(names);
  if (!found.ok()) {
    error_ = std::move(found.diag());
    return *this;
  }
  options_.targets = std::move(*found);
  return *this;
}

Pipeline& Pipeline::target(compiler::TargetRequest request) {
  check_early(fmt::format("target({})", request.target->name));
  compiler::add_ops(request.target->kernels.ops);
  options_.targets.push_back(std::move(request));
  return *this;
}

Pipeline& Pipeline::runtime(const Backend& backend, KernelTable kernels) {
  backends_.push_back(&backend);
  kernels_.push_back(kernels);
  return *this;
}

Pipeline& Pipeline::run_on(Runner runner) {
  runner_ = std::move(runner);
  return *this;
}

Pipeline& Pipeline::transform(std::string name, std::function<Result<Changed>(Graph& graph)> pass, Phase phase) {
  check_early(fmt::format("transform(\"{}\")", name));
  options_.extra_passes.push_back({std::move(name), std::move(pass), phase});
  return *this;
}

Pipeline& Pipeline::skip(std::string pass) {
  check_early(fmt::format("skip(\"{}\")", pass));
  options_.skip_passes.push_back(std::move(pass));
  return *this;
}

// Calls `see` for each graph that the compiler shows, with the stage that it belongs to. The last graph of a stage
// counts.
void Pipeline::watch(CompileOptions& options, const std::function<void(Stage, const Graph&)>& see) const {
  auto partitioned = std::make_shared<bool>(false);
  const auto outer = options_.on_stage;
  options.on_stage = [=](std::string_view method, std::string_view stage, const Graph& graph) {
    if (outer) outer(method, stage, graph);
    *partitioned = *partitioned || stage == "partition";
    if (stage == "import") see(Stage::import, graph);
    if (!*partitioned) see(Stage::passes, graph);
    if (!*partitioned || stage == "partition") see(Stage::partition, graph);
    see(Stage::lower, graph);
  };
}

void Pipeline::note_steps(const Graph& graph) {
  for (const compiler::StateUpdate& update : graph.updates) {
    if (update.target->kind == compiler::ValueKind::input) steps_.push_back(compiler::quantization_step(*update.value));
  }
  for (const compiler::GraphOutput& output : graph.outputs)
    steps_.push_back(output.value ? compiler::quantization_step(*output.value) : 0);
}

void Pipeline::compile() {
  compiled_ = true;
  if (error_) return;
  Result<Function> function = import_();
  if (!function.ok()) {
    error_ = std::move(function.diag());
    return;
  }
  note_steps(*function->graph);
  CompileOptions options = options_;
  reached_ = Stage::import;
  options.on_begin = [this](std::string_view stage) {
    if (options_.on_begin) options_.on_begin(stage);
    if (stage == "partition") reached_ = Stage::passes;
    if (stage == "linearize") reached_ = Stage::lower;
  };
  watch(options, [this](Stage stage, const Graph& graph) {
    Counts& counts = counts_[stage];
    counts.clear();
    count_ops(graph, counts);
  });
  std::vector<Function> functions;
  functions.push_back(std::move(*function));
  Result<CompileResult> result = compiler::compile(std::move(functions), options);
  if (!result.ok()) {
    error_ = std::move(result.diag());
    return;
  }
  result_ = std::move(*result);
  pte_ = result_->program.pte.join();
}

bool Pipeline::reach(Stage stage) {
  if (!compiled_) compile();
  return result_ || (reached_ && stage <= *reached_);
}

Pipeline& Pipeline::at(Stage stage) {
  stage_ = stage;
  reach(stage);
  if (stage == Stage::load || stage == Stage::run) load();
  return *this;
}

Pipeline& Pipeline::fail_check(std::string text) {
  failed_checks_.push_back(fmt::format("after {}: {}", name_of(stage_), text));
  return *this;
}

size_t Pipeline::count(std::string_view op, Stage stage) {
  reach(stage);
  const auto graph = counts_.find(std::min(stage, Stage::lower));
  if (graph == counts_.end()) return 0;
  const auto found = graph->second.find(full_name(op));
  return found == graph->second.end() ? 0 : found->second;
}

Pipeline& Pipeline::check(std::string_view op) {
  return count(op, stage_) > 0 ? *this : fail_check(fmt::format("there is no {}", op));
}
Pipeline& Pipeline::check_not(std::string_view op) {
  const size_t found = count(op, stage_);
  if (found == 0 && reach(stage_)) return *this;
  return fail_check(fmt::format("there are {} {}, none are wanted", found, op));
}
Pipeline& Pipeline::check_count(std::string_view op, size_t wanted) {
  const size_t found = count(op, stage_);
  if (found == wanted && reach(stage_)) return *this;
  return fail_check(fmt::format("there are {} {}, {} are wanted", found, op, wanted));
}

size_t Pipeline::delegates() { return reach(Stage::emit) ? result_->methods[0].delegates : 0; }

std::vector<std::string> Pipeline::outside() {
  std::set<std::string> lines;
  if (reach(Stage::emit)) {
    for (const compiler::NodeVerdict& verdict : result_->methods[0].outside)
      lines.insert(fmt::format("{}: {}", verdict.op, verdict.reason));
  }
  return {lines.begin(), lines.end()};
}

Pipeline& Pipeline::check_delegates(size_t wanted) {
  const size_t found = delegates();
  if (found == wanted && reach(Stage::emit)) return *this;
  return fail_check(fmt::format("there are {} delegates, {} are wanted", found, wanted));
}

Pipeline& Pipeline::check_outside(const std::vector<std::string>& wanted) {
  const std::vector<std::string> found = outside();
  if (found == wanted && reach(Stage::emit)) return *this;
  return fail_check(fmt::format("outside are [{}], wanted are [{}]", fmt::join(found, "; "), fmt::join(wanted, "; ")));
}

Pipeline& Pipeline::check_error(std::string_view part) {
  reach(stage_);
  error_expected_ = true;
  if (!error_) return fail_check(fmt::format("there is no error; '{}' is wanted", part));
  const std::string text = compiler::render(*error_);
  return text.find(part) != std::string::npos ? *this : fail_check(fmt::format("'{}' is not in: {}", part, text));
}

std::unique_ptr<Module> Pipeline::load(IsaLevel isa) {
  if (!reach(Stage::emit)) return nullptr;
  ModuleOptions options;
  options.kernels = kernels_;
  options.kernels.insert(options.kernels.end(), all_kernels().begin(), all_kernels().end());
  options.backends = backends_;
  options.backends.insert(options.backends.end(), all_backends().begin(), all_backends().end());
  options.max_isa = isa;
  ModuleError error;
  auto module = Module::load({pte_.data(), pte_.size()}, options, &error);
  if (module && !module->method(result_->method_plans[0].name, &error)) module = nullptr;
  if (!module) error_ = Diag(Code::incompatible_file, error.message);
  return module;
}

std::optional<std::vector<HostValue>> Pipeline::run(const std::vector<HostValue>& inputs) {
  if (runner_) {
    Result<std::vector<HostValue>> outputs = runner_(inputs);
    if (outputs.ok()) return std::move(*outputs);
    error_ = std::move(outputs.diag());
    return {};
  }
  const auto module = load();
  if (!module) return {};
  ModuleError error;
  std::vector<HostValue> outputs;
  if (module->execute(result_->method_plans[0].name, inputs, &outputs, &error)) return outputs;
  error_ = Diag(Code::incompatible_file, error.message);
  return {};
}

std::optional<std::vector<HostValue>> Pipeline::reference(const std::vector<HostValue>& inputs) {
  Pipeline plain(import_);
  for (const compiler::Pass& pass : compiler::pass_table()) {
    if (pass.phase == Phase::optimize) plain.options_.skip_passes.emplace_back(pass.name);
  }
  const auto module = plain.load(IsaLevel::baseline);
  ModuleError error;
  std::vector<HostValue> outputs;
  if (module && module->execute(plain.result_->method_plans[0].name, inputs, &outputs, &error)) return outputs;
  mismatches_.push_back("the model does not run without passes: " +
                        (module ? error.message : compiler::render(*plain.error_)));
  return {};
}

Pipeline& Pipeline::run_and_compare(const Tolerance& tolerance, std::vector<HostValue> inputs, uint64_t seed) {
  stage_ = Stage::run;
  if (!reach(Stage::emit)) return *this;
  if (inputs.empty()) {
    Result<std::vector<HostValue>> samples = sample_inputs(result_->method_plans[0], seed);
    if (!samples.ok()) {
      error_ = std::move(samples.diag());
      return *this;
    }
    inputs = std::move(*samples);
  }
  const auto wanted = reference(inputs);
  return wanted ? run_and_compare(tolerance, std::move(inputs), *wanted) : *this;
}

Pipeline& Pipeline::run_and_compare(const Tolerance& tolerance, std::vector<HostValue> inputs,
                                    const std::vector<HostValue>& wanted) {
  stage_ = Stage::run;
  const auto found = run(inputs);
  if (!found) return *this;
  if (found->size() != wanted.size()) {
    mismatches_.push_back(fmt::format("{} outputs instead of {}", found->size(), wanted.size()));
    return *this;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double step = i < steps_.size() ? steps_[i] : 0;
    const std::string wrong = difference((*found)[i], wanted[i], tolerance, step);
    if (!wrong.empty()) mismatches_.push_back(fmt::format("output {}: {}", i, wrong));
  }
  return *this;
}

std::string Pipeline::failures() const {
  std::string out;
  for (const auto* list : {&failed_checks_, &mismatches_}) {
    for (const std::string& line : *list) out += line + "\n";
  }
  if (error_ && !error_expected_) out += compiler::render(*error_);
  return out;
}

const CompileResult* Pipeline::compiled() { return reach(Stage::emit) ? &*result_ : nullptr; }

// Runs the compiler once more, so that texts of large graphs are not kept for every stage.
std::string Pipeline::graph_text(Stage wanted) {
  Result<Function> function = import_();
  if (!function.ok()) return "";
  std::string text;
  CompileOptions options = options_;
  const std::string name = function->name;
  watch(options, [&](Stage stage, const Graph& graph) {
    if (stage == wanted) text = compiler::to_text(graph, name);
  });
  std::vector<Function> functions;
  functions.push_back(std::move(*function));
  (void)compiler::compile(std::move(functions), options);
  return text;
}

std::string Pipeline::dump(Stage stage) {
  if (stage <= Stage::lower) return graph_text(stage);
  if (!reach(Stage::emit)) return "";
  const compiler::MethodReport& method = result_->methods[0];
  std::string text =
      fmt::format("{} bytes, {} of constants; {} delegates, {} kernel calls; arena {} bytes\n", result_->file_bytes,
                  result_->constant_bytes, method.delegates, method.kernels, method.arena_bytes);
  for (const auto& delegate : result_->method_plans[0].delegates)
    text += fmt::format("{}: {} nodes, {} bytes\n", delegate->id, delegate->num_nodes, delegate->payload.size());
  return text;
}

}  // namespace wick::testing
