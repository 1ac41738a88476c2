#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <deque>

#include "cli/call_options.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "cli/text/progress.h"
#include "cli/text/table.h"
#include "cli/trace/device_counts.h"
#include "cli/trace/profile.h"
#include "compiler/support/file_map.h"
#include "compiler/support/json_writer.h"

namespace wick::cli {
namespace {

using compiler::printable;
using compiler::Result;
using compiler::Status;

struct ProfileFlags : CallOptions {
  int warmup = 3, runs = 20, depth = 4, top = 10;
  bool json = false;
  std::string trace;
};

/// The unit of Step::ms in a profile: milliseconds on the host, executed instructions on a device.
struct Unit {
  const char* name;
  int digits;
};
constexpr Unit kMilliseconds = {"ms", 3}, kInstructions = {"instructions", 0};

/// The measurements of one method.
struct Profile {
  std::string method;
  Unit unit = kMilliseconds;
  int threads = 1;
  std::vector<double> run_ms;
  std::vector<Step> steps;

  double median_ms() const { return run_ms[run_ms.size() / 2]; }
  double sum_ms() const {
    double sum = 0;
    for (const Step& step : steps) sum += step.ms;
    return sum;
  }
};

Result<Profile> measure_instructions(const ProfileFlags& flags) {
  Profiler profiler;
  SessionOptions options = flags.session();
  options.tracer = profiler.tracer();
  ASSIGN_OR_RETURN(Session session, Session::open(flags.program, options));
  Profile profile;
  ASSIGN_OR_RETURN(profile.method, session.choose(flags.method));
  ASSIGN_OR_RETURN(Method * method, session.prepare(profile.method));
  profile.threads = session.num_threads();
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(method->meta()));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(method->meta(), facts, flags));
  std::deque<InputView> views;
  Progress progress("profiling");
  const int all = flags.warmup + flags.runs;
  for (int i = 0; i < all; ++i) {
    if (progress.is_shown())
      progress.update(fmt::format("run {} of {}", i + 1, all), static_cast<size_t>(i), static_cast<size_t>(all));
    RETURN_IF_ERROR(set_inputs(*method, inputs, &views));
    const bool counts = i >= flags.warmup;
    if (counts) profiler.start_run();
    if (method->execute() != Error::Ok) return execution_diag(flags.program, *method);
    if (counts) profiler.end_run();
  }
  profile.run_ms = profiler.run_ms();
  profile.steps = profiler.steps(method->meta(), facts);
  return profile;
}

Result<Profile> measure_on_device(const ProfileFlags& flags) {
  ASSIGN_OR_RETURN(DeviceCounts counts, count_on_device(flags));
  if (!counts.not_counted.empty()) {
    return compiler::Diag(compiler::Code::usage, "QEMU did not count the instructions")
        .note(counts.not_counted)
        .with_help(kHowToCount);
  }
  Profile profile;
  profile.method = counts.method;
  profile.unit = kInstructions;
  profile.run_ms = {static_cast<double>(counts.execution.instructions)};
  constexpr double kPerMillisecond = 1000;  // in the trace, an instruction takes a microsecond
  for (CountedStep& counted : counts.steps) {
    Step step;
    step.op = std::move(counted.op);
    step.place = std::move(counted.place);
    step.ms = static_cast<double>(counted.counts.instructions);
    step.start_ms = static_cast<double>(counted.begin) / kPerMillisecond;
    step.shown_ms = step.ms / kPerMillisecond;
    profile.steps.push_back(std::move(step));
  }
  return profile;
}

std::string place_text(const PlaceFacts& place) { return printable(place.module, 60); }

void print_profile_tables(const Profile& profile, const ProfileFlags& flags) {
  const double sum = profile.sum_ms();
  const auto ms = [&](double value) { return fmt::format("{:.{}f}", value, profile.unit.digits); };
  const auto share = [&](double value) { return fmt::format("{:.1f} %", sum == 0 ? 0 : 100 * value / sum); };

  const std::string unit = std::string(">") + profile.unit.name;
  Table modules({unit, ">share", "module"});
  for (const ModuleTime& row : module_times(profile.steps)) {
    if (row.depth > flags.depth) continue;
    const std::string label = row.depth == 0 ? profile.method : row.label;
    modules.row(
        {ms(row.ms), share(row.ms), std::string(2 * static_cast<size_t>(row.depth), ' ') + printable(label, 80)});
  }
  fmt::print("{}{}\n", heading("modules"), modules.text());

  Table operators({unit, ">share", ">count", "operator", "executed by"});
  for (const OperatorTime& row : operator_times(profile.steps)) {
    operators.row({ms(row.ms), share(row.ms), std::to_string(row.count), printable(row.op),
                   row.library.empty() ? "kernel" : printable(row.library)});
  }
  fmt::print("{}{}\n", heading("operators"), operators.text());

  std::vector<const Step*> slowest;
  for (const Step& step : profile.steps) slowest.push_back(&step);
  std::stable_sort(slowest.begin(), slowest.end(), [](const Step* a, const Step* b) { return a->ms > b->ms; });
  if (slowest.size() > static_cast<size_t>(flags.top)) slowest.resize(static_cast<size_t>(flags.top));
  Table steps({unit, ">share", "operator", "module", "source", "executed by"});
  for (const Step* step : slowest) {
    steps.row({ms(step->ms), share(step->ms), printable(step->op), place_text(step->place),
               printable(step->place.source, 60), step->library.empty() ? "kernel" : printable(step->library)});
  }
  if (!steps.empty()) fmt::print("{}{}\n", heading(fmt::format("slowest {}", slowest.size())), steps.text());
  if (!device::runs_in_process(flags.device)) {
    fmt::print("{} on {}: {:.0f} instructions, {:.0f} of them in the steps\n", profile.method, flags.device,
               profile.run_ms[0], sum);
    return;
  }
  fmt::print(
      "{}: median {:.3f} ms, min {:.3f} ms ({} runs, {} threads); each step is a median of its own, {:.3f} ms in "
      "total\n",
      profile.method, profile.median_ms(), profile.run_ms[0], profile.run_ms.size(), profile.threads, sum);
}

void write_modules(const Profile& profile, compiler::JsonWriter& json) {
  json.key("modules");
  json.array();
  for (const ModuleTime& row : module_times(profile.steps)) {
    json.object();
    json.field("module", row.module);
    json.field(profile.unit.name, row.ms);
    json.field(std::string("self_") + profile.unit.name, row.self_ms);
    json.end();
  }
  json.end();
}

void print_profile_json(const Profile& profile, const ProfileFlags& flags) {
  compiler::JsonWriter json;
  json.object();
  json.field("schema", "wick.profile.1");
  json.field("method", profile.method);
  if (device::runs_in_process(flags.device)) {
    json.field("threads", profile.threads);
    json.field("runs", static_cast<uint64_t>(profile.run_ms.size()));
    json.field("median_ms", profile.median_ms());
    json.field("min_ms", profile.run_ms[0]);
  } else {
    json.field("device", flags.device);
    json.field(profile.unit.name, profile.run_ms[0]);
  }
  json.field(std::string("steps_") + profile.unit.name, profile.sum_ms());
  write_modules(profile, json);
  json.key("operators");
  json.array();
  for (const OperatorTime& row : operator_times(profile.steps)) {
    json.object();
    json.field("operator", row.op);
    json.field("library", row.library);
    json.field("count", row.count);
    json.field(profile.unit.name, row.ms);
    json.end();
  }
  json.end();
  json.key("steps");
  json.array();
  for (const Step& step : profile.steps) {
    json.object();
    json.field("operator", step.op);
    json.field("library", step.library);
    json.field("module", step.place.module);
    json.field("source", step.place.source);
    json.field("delegate", step.delegate);
    json.field(profile.unit.name, step.ms);
    json.end();
  }
  json.end();
  json.end();
  fmt::print("{}\n", json.text());
}

int profile_command(const ProfileFlags& flags) {
  if (const Status status = check_outputs({{"--trace", flags.trace}}, flags.files()); !status.ok())
    return report(status.diag());
  Result<Profile> profile =
      device::runs_in_process(flags.device) ? measure_instructions(flags) : measure_on_device(flags);
  if (!profile.ok()) return report(profile.diag());
  if (!flags.trace.empty()) {
    const std::string trace = chrome_trace(profile->method, profile->steps);
    const Status status =
        compiler::write_file(flags.trace, {reinterpret_cast<const uint8_t*>(trace.data()), trace.size()});
    if (!status.ok()) return report(status.diag());
  }
  if (flags.json) {
    print_profile_json(*profile, flags);
  } else {
    print_profile_tables(*profile, flags);
  }
  return 0;
}

}  // namespace

void add_profile(CommandLine& line) {
  auto flags = std::make_shared<ProfileFlags>();
  Command command =
      line.command("profile", "Show where the time of a .pte goes", [flags] { return profile_command(*flags); });
  command.footer(
      "Modules are the model's. Operators are kernels and, inside delegates, the nodes of the payload.\n"
      "Examples:\n"
      "  wick profile model.pte\n"
      "  wick profile model.pte -i input.npz --threads 1 --trace trace.json   (open it in ui.perfetto.dev)");
  add_call_options(command, *flags, "profile").required();
  add_threads_option(command, *flags);
  add_device_option(command, flags->device, "run");
  command.option("--warmup", flags->warmup, "warm-up runs, not measured").in_range(0, 1000000).shows_default();
  command.option("--runs", flags->runs, "measured runs").in_range(1, 10000).shows_default();
  command.option("--depth", flags->depth, "levels of modules in the table").in_range(0, 100).shows_default();
  command.option("--top", flags->top, "how many of the slowest steps to list").in_range(0, 100000).shows_default();
  command.option("--trace", flags->trace, "write one run to this file, for Chrome's tracing view or Perfetto")
      .takes("FILE");
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
