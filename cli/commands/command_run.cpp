#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "cli/arrays/array_summary.h"
#include "cli/call_options.h"
#include "cli/command.h"
#include "cli/commands/run_test_sets.h"
#include "cli/output_files.h"
#include "cli/text/progress.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

struct RunFlags : CallOptions {
  std::string output;
  std::vector<std::string> steps;
  bool json = false, testset = false;
};

/// One call: `method` (empty: the default one) over the arrays of `input` ("": none), into `output` ("": dropped).
struct Step {
  std::string method, input, output;
};

// [METHOD:]IN.npz=OUT.npz
Result<Step> parse_step(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return Diag(Code::usage, fmt::format("--step '{}' has no '='", compiler::printable(text)))
        .with_help("write --step [METHOD:]IN.npz=OUT.npz");
  }
  Step step{"", text.substr(0, equals), text.substr(equals + 1)};
  const size_t colon = step.input.find(':');
  const auto word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (colon != std::string::npos && colon > 0 &&
      std::all_of(step.input.begin(), step.input.begin() + static_cast<std::ptrdiff_t>(colon), word)) {
    step.method = step.input.substr(0, colon);
    step.input.erase(0, colon + 1);
  }
  return step;
}

Result<std::vector<Step>> parse_steps(const RunFlags& flags) {
  std::vector<Step> steps;
  for (const std::string& text : flags.steps) {
    ASSIGN_OR_RETURN(Step step, parse_step(text));
    steps.push_back(std::move(step));
  }
  return steps;
}

// A step may read what a step before it wrote.
Status check_run_files(const RunFlags& flags, const std::vector<Step>& steps) {
  std::vector<OutputFile> outputs = {{"-o", flags.output}};
  for (const Step& step : steps) outputs.push_back({"--step", step.output});
  std::vector<std::string> inputs = flags.files();
  RETURN_IF_ERROR(check_outputs(outputs, inputs));
  for (const Step& step : steps) {
    if (!step.input.empty()) inputs.push_back(step.input);
    RETURN_IF_ERROR(check_outputs({{"--step", step.output}}, inputs));
  }
  return {};
}

// Shows which instruction runs, if the program takes long.
class RunProgress {
 public:
  /// Null if progress is not shown: tracing costs a call per instruction.
  const Tracer* tracer() const { return progress_.is_shown() ? &tracer_ : nullptr; }
  void finish() { progress_.finish(); }
  void watch(const MethodMeta& method) {
    num_instructions_ = 0;
    for (size_t i = 0; i < method.num_chains(); ++i) num_instructions_ += method.num_instructions(i);
  }

 private:
  static void begin(void* state, const InstructionInfo& instruction) {
    auto& self = *static_cast<RunProgress*>(state);
    self.progress_.update(instruction.op.name, instruction.index, self.num_instructions_);
  }
  static void end(void*, const InstructionInfo&, Error) {}

  Progress progress_{"running"};
  size_t num_instructions_ = 0;
  Tracer tracer_{begin, end, this};
};

Status run_steps(const RunFlags& flags, const std::vector<Step>& steps, Session& session, RunProgress& progress) {
  for (const Step& step : steps) {
    ASSIGN_OR_RETURN(std::string method, session.choose(step.method.empty() ? flags.method : step.method));
    ASSIGN_OR_RETURN(MethodFacts facts, read_facts(session.meta(method)));
    std::vector<std::string> paths;
    if (!step.input.empty()) paths.push_back(step.input);
    ASSIGN_OR_RETURN(std::vector<InputFile> files, read_input_files(paths));
    ASSIGN_OR_RETURN(std::vector<HostValue> inputs, bind_inputs(session.meta(method), facts, std::move(files)));
    std::vector<HostValue> outputs;
    progress.watch(session.meta(method));
    RETURN_IF_ERROR(session.execute(method, inputs, &outputs));
    if (!step.output.empty()) RETURN_IF_ERROR(write_arrays(step.output, output_arrays(facts, std::move(outputs))));
  }
  return {};
}

void print_arrays_json(const std::string& method, const std::vector<NamedArray>& arrays) {
  compiler::JsonWriter json;
  json.object();
  json.field("schema", "wick.run.1");
  json.field("method", method);
  json.key("outputs");
  json.array();
  for (const NamedArray& array : arrays) write_summary(array, json);
  json.end();
  json.end();
  fmt::print("{}\n", json.text());
}

Status run_once(const RunFlags& flags, Session& session, RunProgress& progress) {
  ASSIGN_OR_RETURN(std::string method, session.choose(flags.method));
  const MethodMeta meta = session.meta(method);
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(meta));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(meta, facts, flags));
  if (flags.inputs.empty() && !inputs.empty())
    fmt::print(stderr, "note: no -i, so the inputs are random (seed {})\n", flags.seed);
  std::vector<HostValue> outputs;
  progress.watch(meta);
  RETURN_IF_ERROR(session.execute(method, inputs, &outputs));
  progress.finish();
  const std::vector<NamedArray> arrays = output_arrays(facts, std::move(outputs));
  if (!flags.output.empty()) {
    RETURN_IF_ERROR(write_arrays(flags.output, arrays));
    if (!flags.json) return {};
  }
  if (flags.json) {
    print_arrays_json(method, arrays);
    return {};
  }
  for (const NamedArray& array : arrays) fmt::print("{}\n", summary(array));
  return {};
}

int run_command(const RunFlags& flags) {
  if (flags.testset && !(flags.steps.empty() && flags.inputs.empty() && flags.output.empty())) {
    return report(Diag(Code::usage, "--testset takes its inputs from the file and writes no outputs")
                      .with_help("leave out -i, -o and --step"));
  }
  if (!flags.steps.empty() && (!flags.inputs.empty() || !flags.output.empty())) {
    return report(Diag(Code::usage, "--step names its own input and output files").with_help("leave out -i and -o"));
  }
  const Result<std::vector<Step>> steps = parse_steps(flags);
  if (!steps.ok()) return report(steps.diag());
  if (const Status status = check_run_files(flags, *steps); !status.ok()) return report(status.diag());
  RunProgress progress;
  SessionOptions options = flags.session();
  options.tracer = progress.tracer();
  Result<Session> session = Session::open(flags.program, options);
  if (!session.ok()) return report(session.diag());
  const Status status = flags.testset    ? run_test_sets(*session, flags.method, flags.json)
                        : steps->empty() ? run_once(flags, *session, progress)
                                         : run_steps(flags, *steps, *session, progress);
  return status.ok() ? 0 : report(status.diag());
}

}  // namespace

void add_run(CommandLine& line) {
  auto flags = std::make_shared<RunFlags>();
  Command command = line.command("run", "Run a .pte program", [flags] { return run_command(*flags); });
  command.footer(
      "An .npy feeds the next input. The arrays of an .npz are matched by name if all names are input names (wick "
      "inspect\n"
      "lists these), by number if they are called in0, in1 .. or arr_0, arr_1 ..; a single array feeds a single "
      "input.\n"
      "Outputs are called out0, out1 .. (leaves of the return value) and mut_K (input K, changed by the call).\n"
      "Examples:\n"
      "  wick run model.pte -i input.npz -o output.npz\n"
      "  wick run model.pte --seed 7\n"
      "  wick run model.bpte --testset\n"
      "  wick run llm.pte --step prefill:prompt.npz=first.npz --step decode:token.npz=second.npz");
  add_call_options(command, *flags, "run").required();
  command.option("-o,--output", flags->output, "write the outputs to this .npz (or .npy, if there is one output)")
      .takes("FILE");
  command.option("--step", flags->steps, "[METHOD:]IN.npz=OUT.npz: one call; may repeat, state is kept between calls")
      .takes("CALL")
      .one_at_a_time();
  command.flag("--testset", flags->testset,
               "run the test sets of a .bpte and compare with the outputs that it expects");
  add_threads_option(command, *flags);
  add_device_option(command, flags->device, "run");
  command.flag("--json", flags->json, "describe the outputs as JSON");
}

}  // namespace wick::cli
