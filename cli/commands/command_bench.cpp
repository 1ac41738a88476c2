#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>

#include "cli/call_options.h"
#include "cli/command.h"
#include "cli/text/progress.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "cli/trace/device_counts.h"
#include "compiler/support/json_writer.h"
#include "runtime/module/host_tensor.h"
#include "wick/device_timer.h"

namespace wick::cli {
namespace {

using compiler::Result;
using Clock = std::chrono::steady_clock;

struct BenchFlags : CallOptions {
  int warmup = 3, runs = 20;
  bool json = false;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// Times of one method. Times of runs are sorted.
struct Times {
  double load_ms = 0, first_ms = 0;  // first: the first run, which may do work that later runs skip
  std::vector<double> run_ms;
  std::vector<double> device_ms;  // time of delegates on a device, without copies of inputs and outputs; may be empty
  int threads = 1;
  std::string method;
};

double median_of(const std::vector<double>& sorted) {
  const size_t count = sorted.size();
  return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

Result<Times> measure_runs(const BenchFlags& flags) {
  Times times;
  const auto start = Clock::now();
  ASSIGN_OR_RETURN(Session session, Session::open(flags.program, flags.session()));
  ASSIGN_OR_RETURN(times.method, session.choose(flags.method));
  ASSIGN_OR_RETURN(Method * method, session.prepare(times.method));
  times.load_ms = ms_since(start);
  times.threads = session.num_threads();
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(method->meta()));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(method->meta(), facts, flags));
  std::deque<InputView> views;
  Progress progress("timing");
  const int all = flags.warmup + flags.runs;
  DeviceTimer timer;
  for (int i = 0; i < all; ++i) {
    if (progress.is_shown())
      progress.update(fmt::format("run {} of {}", i + 1, all), static_cast<size_t>(i), static_cast<size_t>(all));
    RETURN_IF_ERROR(set_inputs(*method, inputs, &views));
    const auto begin = Clock::now();
    if (method->execute() != Error::Ok) return execution_diag(flags.program, *method);
    const double ms = ms_since(begin);
    if (i == 0) times.first_ms = ms;
    if (i >= flags.warmup) times.run_ms.push_back(ms);
    const double device_ms = static_cast<double>(timer.take()) / 1e6;
    if (i >= flags.warmup && device_ms > 0) times.device_ms.push_back(device_ms);
  }
  std::sort(times.device_ms.begin(), times.device_ms.end());
  std::sort(times.run_ms.begin(), times.run_ms.end());
  return times;
}

// Writes the counts, or null if instructions were not counted.
void write_counts(const device::Counts& counts, bool counted, compiler::JsonWriter& json) {
  for (const auto& [name, value] :
       {std::pair("instructions", counts.instructions), std::pair("weighted_cycles", counts.weighted_cycles)}) {
    json.key(name);
    if (counted)
      json.value(value);
    else
      json.null();
  }
}

void print_bench_json(const BenchFlags& flags, const DeviceCounts& counts) {
  compiler::JsonWriter json;
  json.object();
  json.field("schema", "wick.bench.1");
  json.field("method", counts.method);
  json.field("device", flags.device);
  write_counts(counts.execution, counts.not_counted.empty(), json);
  json.field("arena_bytes", counts.arena_bytes);
  json.field("scratch_bytes", counts.scratch_bytes);
  json.field("stack_bytes", counts.stack_bytes);
  json.field("execution_stack_bytes", counts.execution_stack_bytes);
  json.field("method_arena_bytes", counts.method_arena_bytes);
  json.key("flash_bytes");
  json.object();
  json.field("program", counts.program_bytes);
  json.field("kernels", counts.firmware.kernels_bytes);
  json.field("core", counts.firmware.core_bytes);
  json.end();
  json.key("steps");
  json.array();
  for (const CountedStep& step : counts.steps) {
    json.object();
    json.field("operator", step.op);
    json.field("module", step.place.module);
    json.field("source", step.place.source);
    write_counts(step.counts, counts.not_counted.empty(), json);
    json.end();
  }
  json.end();
  json.end();
  fmt::print("{}\n", json.text());
}

void print_bench_text(const BenchFlags& flags, const DeviceCounts& counts) {
  const bool counted = counts.not_counted.empty();
  Table table({">instructions", ">weighted cycles", "operator", "module"});
  device::Counts rest = counts.execution;
  for (const CountedStep& step : counts.steps) {
    rest.instructions -= std::min(rest.instructions, step.counts.instructions);
    rest.weighted_cycles -= std::min(rest.weighted_cycles, step.counts.weighted_cycles);
    table.row({std::to_string(step.counts.instructions), std::to_string(step.counts.weighted_cycles), step.op,
               compiler::printable(step.place.module, 60)});
  }
  table.row({std::to_string(rest.instructions), std::to_string(rest.weighted_cycles), "(executor)", ""});
  if (counted)
    fmt::print("{}{} on {}: {} instructions, {} weighted cycles\n", table.text(), counts.method, flags.device,
               counts.execution.instructions, counts.execution.weighted_cycles);
  else
    fmt::print("{} on {}: instructions not measured\n", counts.method, flags.device);
  fmt::print("arena {}, scratch {}, method {}, stack {}; flash: program {}, kernels {}, core {}\n",
             bytes_text(counts.arena_bytes), bytes_text(counts.scratch_bytes), bytes_text(counts.method_arena_bytes),
             bytes_text(counts.stack_bytes), bytes_text(counts.program_bytes),
             bytes_text(counts.firmware.kernels_bytes), bytes_text(counts.firmware.core_bytes));
}

int bench_device(const BenchFlags& flags) {
  const Result<DeviceCounts> counts = count_on_device(flags);
  if (!counts.ok()) return report(counts.diag());
  if (!counts->not_counted.empty())
    fmt::print(stderr, "note: instructions are not measured: {}; {}\n", counts->not_counted, kHowToCount);
  if (flags.json)
    print_bench_json(flags, *counts);
  else
    print_bench_text(flags, *counts);
  return 0;
}

int bench_command(const BenchFlags& flags) {
  if (!device::runs_in_process(flags.device)) return bench_device(flags);
  Result<Times> times = measure_runs(flags);
  if (!times.ok()) return report(times.diag());
  const std::vector<double>& sorted = times->run_ms;
  const size_t count = sorted.size();
  const double median = median_of(sorted);
  const double p90 = sorted[(count * 9 + 9) / 10 - 1];
  if (!flags.json) {
    fmt::print(
        "{}: median {:.3f} ms, min {:.3f} ms, p90 {:.3f} ms ({} runs, {} threads)\nload {:.3f} ms, peak memory {}\n",
        times->method, median, sorted[0], p90, count, times->threads, times->load_ms, bytes_text(peak_bytes()));
    if (!times->device_ms.empty())
      fmt::print("on the device: median {:.4f} ms, min {:.4f} ms\n", median_of(times->device_ms), times->device_ms[0]);
    return 0;
  }
  compiler::JsonWriter json;
  json.object();
  json.field("schema", "wick.bench.1");
  json.field("method", times->method);
  json.field("median_ms", median);
  json.field("min_ms", sorted[0]);
  json.field("p90_ms", p90);
  if (!times->device_ms.empty()) {
    json.field("device_median_ms", median_of(times->device_ms));
    json.field("device_min_ms", times->device_ms[0]);
  }
  json.field("load_ms", times->load_ms);
  json.field("first_ms", times->first_ms);
  json.field("peak_bytes", peak_bytes());
  json.field("threads", times->threads);
  json.field("warmup", flags.warmup);
  json.field("runs", flags.runs);
  json.end();
  fmt::print("{}\n", json.text());
  return 0;
}

}  // namespace

void add_bench(CommandLine& line) {
  auto flags = std::make_shared<BenchFlags>();
  Command command = line.command("bench", "Time a .pte program", [flags] { return bench_command(*flags); });
  command.footer(
      "Load time is opening, checking and binding; run time is execution alone, without copying inputs.\n"
      "Examples:\n"
      "  wick bench model.pte\n"
      "  wick bench model.pte -i input.npz --threads 1 --warmup 10 --runs 100 --json");
  add_call_options(command, *flags, "time").required();
  add_threads_option(command, *flags);
  add_device_option(command, flags->device, "run");
  command.option("--warmup", flags->warmup, "warm-up runs, not measured").in_range(0, 1000000).shows_default();
  command.option("--runs", flags->runs, "measured runs").in_range(1, 1000000).shows_default();
  command.flag("--json", flags->json, "print JSON");
}

}  // namespace wick::cli
