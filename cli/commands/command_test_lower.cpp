#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

#include "cli/call_options.h"
#include "cli/command.h"
#include "cli/program/program_inputs.h"
#include "cli/program/program_metadata.h"
#include "cli/target_flags.h"
#include "compiler/support/file_map.h"
#include "compiler/testing/pass_library.h"
#include "compiler/testing/pipeline.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;
using testing::Pipeline;

struct TestFlags {
  std::string model, backends = compiler::default_targets(), stage = "partition", dump;
  std::string device = device::kHost;
  std::vector<std::string> check, check_not, check_count, inputs, skip_passes, passes, libraries;
  int64_t delegates = -1;
  uint64_t seed = 0;
  testing::Tolerance tolerance{1e-5, 1e-4, 1e-5, 0};
  bool strict_nan = false, no_run = false;
};

// OP=N
Status read_count(const std::string& text, std::string* op, size_t* count) {
  const size_t equals = text.rfind('=');
  const char* end = text.data() + text.size();
  if (equals != std::string::npos && equals > 0) {
    const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, *count);
    *op = text.substr(0, equals);
    if (error == std::errc() && stop == end) return {};
  }
  return Diag(Code::usage, "--check-count takes OP=N").expected(text, "such as aten.mul.Tensor=2");
}

Status run_checks(const TestFlags& flags, Pipeline& pipeline) {
  pipeline.at(*testing::stage_named(flags.stage));
  for (const std::string& op : flags.check) pipeline.check(op);
  for (const std::string& op : flags.check_not) pipeline.check_not(op);
  for (const std::string& text : flags.check_count) {
    std::string op;
    size_t count = 0;
    RETURN_IF_ERROR(read_count(text, &op, &count));
    pipeline.check_count(op, count);
  }
  if (flags.delegates >= 0) pipeline.check_delegates(static_cast<size_t>(flags.delegates));
  return {};
}

// Adds the passes of all libraries, or, if names are given, the passes with these names.
Status add_passes(const TestFlags& flags, Pipeline& pipeline) {
  std::vector<compiler::ExtraPass> known;
  for (const std::string& library : flags.libraries) {
    ASSIGN_OR_RETURN(std::vector<compiler::ExtraPass> passes, testing::load_pass_library(library));
    known.insert(known.end(), std::make_move_iterator(passes.begin()), std::make_move_iterator(passes.end()));
  }
  if (flags.passes.empty()) {
    for (compiler::ExtraPass& pass : known) pipeline.transform(pass.name, std::move(pass.run), pass.phase);
    return {};
  }
  const auto add_own = [&](const compiler::Pass& pass) {
    known.push_back({std::string(pass.name), nullptr, pass.phase});
  };
  for (const compiler::Pass& pass : compiler::pass_table()) add_own(pass);
  for (const compiler::TargetRequest& request : pipeline.options().targets) {
    for (const compiler::Pass& pass : request.target->passes.own) add_own(pass);
  }
  for (const std::string& name : flags.passes) {
    const auto pass = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name; });
    if (pass == known.end()) {
      return Diag(Code::usage, fmt::format("there is no pass '{}'", compiler::printable(name)))
          .with_help("wick opt --list lists those of Wick and of each backend; --load FILE.so brings others");
    }
    pipeline.transform(name, pass->run, pass->phase);
  }
  return {};
}

// The program in a temporary file, for a device. The destructor removes the file.
class ProgramFile {
 public:
  static Result<ProgramFile> write(const std::vector<uint8_t>& bytes) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    ProgramFile file;
    file.path_ = ((error ? "/tmp" : folder) / "wick-test-lower-XXXXXX").string();  // mkstemp's placeholder
    const int descriptor = mkstemp(file.path_.data());
    if (descriptor < 0) return Diag(Code::file_io, "no temporary file can be made").at_file(file.path_);
    close(descriptor);
    RETURN_IF_ERROR(compiler::write_file(file.path_, {bytes.data(), bytes.size()}));
    return file;
  }
  ProgramFile(ProgramFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~ProgramFile() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  ProgramFile() = default;
  std::string path_;
};

Result<std::vector<HostValue>> inputs_of(const TestFlags& flags, const Program& program) {
  const MethodMeta method = *program.find_method("forward");
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(method));
  if (flags.inputs.empty()) return random_inputs(method, facts, flags.seed);
  ASSIGN_OR_RETURN(std::vector<InputFile> files, read_input_files(flags.inputs));
  return bind_inputs(method, facts, std::move(files));
}

int mismatch(const std::vector<std::string>& lines, Code code, const std::string& message) {
  Diag diag(code, message);
  diag.notes = lines;
  return report(diag);
}

Status test_lower(const TestFlags& flags, Pipeline& pipeline) {
  pipeline.backend(flags.backends);
  pipeline.options().strict_nan = flags.strict_nan;
  pipeline.options().skip_passes = flags.skip_passes;
  RETURN_IF_ERROR(add_passes(flags, pipeline));
  RETURN_IF_ERROR(run_checks(flags, pipeline));
  if (!flags.dump.empty()) fmt::print("{}", pipeline.dump(*testing::stage_named(flags.dump)));
  if (pipeline.error()) return *pipeline.error();
  if (flags.no_run) return {};
  if (!pipeline.compiled()) return *pipeline.error();
  ASSIGN_OR_RETURN(const ProgramFile file, ProgramFile::write(pipeline.compiled()->program.pte.join()));
  SessionOptions options;
  options.device = flags.device;
  ASSIGN_OR_RETURN(Session session, Session::open(file.path(), options));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, inputs_of(flags, session.program()));
  pipeline.run_on([&](const std::vector<HostValue>& values) -> Result<std::vector<HostValue>> {
    device::Call call;
    call.method = "forward";
    call.inputs = &values;
    ASSIGN_OR_RETURN(device::Outcome outcome, session.call(call));
    if (outcome.refusal) return session.diag_of(*outcome.refusal, call.method).at_file(flags.model);
    return std::move(outcome.outputs);
  });
  pipeline.run_and_compare(flags.tolerance, std::move(inputs));
  pipeline.run_on(nullptr);  // the session ends here
  if (pipeline.error()) return *pipeline.error();
  return {};
}

int test_lower_command(const TestFlags& flags) {
  Pipeline pipeline = Pipeline::from_file(flags.model);
  const Status status = test_lower(flags, pipeline);
  if (!status.ok()) return report(status.diag());
  if (flags.dump.empty()) {
    fmt::print("{} delegates\n", pipeline.delegates());
    for (const std::string& line : pipeline.outside()) fmt::print("outside: {}\n", line);
  }
  if (!pipeline.failed_checks().empty()) return mismatch(pipeline.failed_checks(), Code::budget, "a check failed");
  if (!pipeline.mismatches().empty())
    return mismatch(pipeline.mismatches(), Code::numeric_mismatch, "the program's numbers differ from the model's");
  return 0;
}

}  // namespace

void add_test_lower(CommandLine& line) {
  auto flags = std::make_shared<TestFlags>();
  Command command = line.command("test-lower", "Compile a model for a backend, check stages, run and compare",
                                 [flags] { return test_lower_command(*flags); });
  command.footer(
      "Checks look at the operators of the graph after --at. The outputs are compared with those of the model, which "
      "runs\n"
      "without passes and backends. Exit code 6 if a check fails, 5 if the numbers differ.\n"
      "Examples:\n"
      "  wick test-lower model.pt2 --delegates 1\n"
      "  wick test-lower model.pt2 --at passes --check-not aten.mul.Scalar --check-count aten.linear=12\n"
      "  wick test-lower model.pt2 --dump partition --no-run\n"
      "  wick test-lower model.pt2 --load ./my_passes.so");
  command.option("model", flags->model, "the .pt2").takes("FILE").required();
  add_backend_option(command, flags->backends);
  const auto each = [&](const char* name, std::vector<std::string>& list, const char* takes, const char* text) {
    command.option(name, list, text).takes(takes).one_at_a_time();
  };
  each("--check", flags->check, "OP", "an operator that must occur; may repeat");
  each("--check-not", flags->check_not, "OP", "an operator that must not occur; may repeat");
  each("--check-count", flags->check_count, "OP=N", "how often OP must occur; may repeat");
  command.option("--at", flags->stage, "the stage that the checks look at")
      .one_of({"import", "passes", "partition", "lower"})
      .shows_default();
  command.option("--delegates", flags->delegates, "the number of delegates that there must be");
  command.option("--dump", flags->dump, "print the graph after this stage; from emit on, facts about the program")
      .one_of({"import", "passes", "partition", "lower", "emit", "load", "run"});
  each("-i,--input", flags->inputs, "FILE", "an .npz or .npy with inputs; may repeat. Default: random inputs");
  command.option("--seed", flags->seed, "seed of random inputs");
  command.option("--atol", flags->tolerance.absolute, "allowed absolute difference").shows_default();
  command.option("--rtol", flags->tolerance.relative, "allowed difference relative to the wanted value")
      .shows_default();
  command.option("--scale-tol", flags->tolerance.of_largest, "allowed difference relative to the largest wanted value")
      .shows_default();
  command
      .option("--qtol", flags->tolerance.quantization_steps, "allowed difference in quantization steps of the output")
      .shows_default();
  each("--skip-pass,--disable-pass", flags->skip_passes, "NAME", "leave out the pass of this name; may repeat");
  each("--pass", flags->passes, "NAME",
       "add this pass of Wick, of the backend or of a library behind those of its phase; may repeat");
  each("--load", flags->libraries, "FILE.so",
       "a library of passes, native code that runs as part of wick; adds all its passes, or those that --pass names");
  add_device_option(command, flags->device, "run");
  command.flag("--strict-nan", flags->strict_nan,
               "backends refuse nodes that would treat NaN or infinity differently from eager");
  command.flag("--no-run", flags->no_run, "compile and check only");
}

}  // namespace wick::cli
