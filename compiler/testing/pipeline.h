// Takes a model through the compiler and the runtime, stage by stage, with checks at each: for tests of passes and
// backends. See docs/testing.md. C++20.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/testing/sample_values.h"

namespace wick::testing {

enum class Stage : uint8_t {
  import,     // the graph as the file has it
  passes,     // after all passes that come before the partitioner
  partition,  // delegates stand for the nodes that backends take
  lower,      // the nodes outside delegates, as their instructions will be
  emit,       // the bytes of the program
  load,       // the program on the runtime
  run,        // its outputs, compared with those of the model
};
std::string_view name_of(Stage stage);
/// Nothing if no stage has the name.
std::optional<Stage> stage_named(std::string_view name);

/// Runs the production compiler and runtime, and records what they do. Set options first; the first stage asked for
/// compiles, once. Nothing throws or aborts: failed checks are in failures().
///
///   Pipeline p = Pipeline::from_text(graph);
///   p.backend("a").transform("my_pass", my_pass);
///   p.at(Stage::passes).check("aten.mul.Tensor").check_not("aten.mul.Scalar");
///   p.at(Stage::partition).check_delegates(1).check_outside({});
///   p.run_and_compare();
///   EXPECT_EQ(p.failures(), "");
class Pipeline {
 public:
  using Import = std::function<compiler::Result<compiler::Function>()>;
  /// May be called more than once. Each call must give the same result.
  explicit Pipeline(Import import);
  /// A graph in the text form of the IR. Constants without elements in the text get made-up values.
  static Pipeline from_text(std::string text);
  /// A .pt2 file.
  static Pipeline from_file(const std::string& path, const compiler::ImportOptions& options = {});
  /// A .pt2 whose bytes outlive the pipeline.
  static Pipeline from_bytes(Span<const uint8_t> bytes, const std::string& name);

  // --- options: before the first stage; later ones are failures ---
  compiler::CompileOptions& options();
  /// Backends by name, in order of preference, separated by commas.
  Pipeline& backend(std::string_view names);
  Pipeline& target(compiler::TargetRequest request);
  Pipeline& target(const compiler::Target& target) { return this->target(compiler::TargetRequest(&target)); }
  /// The runtime half of a target that is not in every build.
  Pipeline& runtime(const Backend& backend, KernelTable kernels = {});
  /// Runs the program elsewhere than on Wick's runtime in this process.
  using Runner = std::function<compiler::Result<std::vector<HostValue>>(const std::vector<HostValue>& inputs)>;
  Pipeline& run_on(Runner runner);
  /// Adds a pass after those of its phase, and so before the partitioner.
  Pipeline& transform(std::string name, std::function<compiler::Result<compiler::Changed>(compiler::Graph& graph)> pass,
                      compiler::Phase phase = compiler::Phase::target);
  Pipeline& skip(std::string pass);

  // --- stages ---
  /// Goes to a stage; the checks that follow look at it. Failing to reach it is a failure.
  Pipeline& at(Stage stage);
  /// Checks for an operator, also in sub-graphs, in the graph of the stage; up to Stage::lower.
  Pipeline& check(std::string_view op);
  Pipeline& check_not(std::string_view op);
  Pipeline& check_count(std::string_view op, size_t count);
  Pipeline& check_delegates(size_t count);
  /// Checks the nodes that no delegate takes: "OP: REASON", sorted, each once.
  Pipeline& check_outside(const std::vector<std::string>& wanted);
  /// Expects an error of the compiler, the loader or the runtime whose text contains `part`. That error is then not a
  /// failure.
  Pipeline& check_error(std::string_view part);

  /// Makes one call on the runtime and compares it with the same model on portable kernels at the baseline, without
  /// passes and backends. Makes inputs if none are given. State is that of a newly loaded program.
  Pipeline& run_and_compare(const Tolerance& tolerance = {}, std::vector<HostValue> inputs = {}, uint64_t seed = 1);
  /// Makes one call and compares it with known outputs.
  Pipeline& run_and_compare(const Tolerance& tolerance, std::vector<HostValue> inputs,
                            const std::vector<HostValue>& wanted);

  // --- results ---
  /// The checks that failed, one line each; "" if all held.
  std::string failures() const;
  const std::vector<std::string>& failed_checks() const { return failed_checks_; }
  const std::vector<std::string>& mismatches() const { return mismatches_; }
  /// The error of a stage that could not be reached.
  const std::optional<compiler::Diag>& error() const { return error_; }

  size_t delegates();
  std::vector<std::string> outside();
  size_t count(std::string_view op, Stage stage);
  /// The graph of the stage as text; from Stage::emit on facts about the program.
  std::string dump(Stage stage);
  /// Null if the stage was not reached.
  const compiler::CompileResult* compiled();
  /// The program loaded on Wick's runtime, null on error; each call loads it anew.
  std::unique_ptr<Module> load(IsaLevel isa = IsaLevel::avx512);

 private:
  using Counts = std::map<std::string, size_t, std::less<>>;
  bool reach(Stage stage);
  void check_early(std::string_view option);
  void compile();
  std::string graph_text(Stage stage);
  void watch(compiler::CompileOptions& options, const std::function<void(Stage, const compiler::Graph&)>& see) const;
  void note_steps(const compiler::Graph& graph);
  std::optional<std::vector<HostValue>> reference(const std::vector<HostValue>& inputs);
  std::optional<std::vector<HostValue>> run(const std::vector<HostValue>& inputs);
  Pipeline& fail_check(std::string text);

  Import import_;
  compiler::CompileOptions options_;
  std::vector<const Backend*> backends_;  // besides those of the build
  std::vector<KernelTable> kernels_;
  Runner runner_;
  std::optional<compiler::CompileResult> result_;
  std::optional<compiler::Diag> error_;
  std::map<Stage, Counts> counts_;
  std::vector<double> steps_;  // quantization steps of the outputs
  std::vector<uint8_t> pte_;
  std::vector<std::string> failed_checks_, mismatches_;
  Stage stage_ = Stage::import;
  std::optional<Stage> reached_;
  bool compiled_ = false, error_expected_ = false;
};

}  // namespace wick::testing
