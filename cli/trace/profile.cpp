#include "cli/trace/profile.h"

#include <algorithm>
#include <utility>

#include "cli/program/program_session.h"

namespace wick::cli {
namespace {

double ms_of(int64_t ns) { return static_cast<double>(ns) / 1e6; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

int64_t Profiler::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started_).count();
}

void Profiler::start_run() {
  run_ = {};
  is_running_ = true;
  started_ = Clock::now();
}

void Profiler::end_run() {
  run_.total_ns = now_ns();
  is_running_ = false;
  runs_.push_back(std::move(run_));
}

void Profiler::begin(void* state, const InstructionInfo& instruction) {
  auto& self = *static_cast<Profiler*>(state);
  if (!self.is_running_) return;
  self.chain_ = instruction.chain;
  self.index_ = instruction.index;
  self.begin_ns_ = self.now_ns();
}

void Profiler::event(void* state, const DelegateEvent& event) {
  auto& self = *static_cast<Profiler*>(state);
  if (!self.is_running_) return;
  self.run_.records.push_back({self.chain_, self.index_, true, event,
                               self.begin_ns_ + static_cast<int64_t>(event.start_ns),
                               static_cast<int64_t>(event.duration_ns)});
}

void Profiler::end(void* state, const InstructionInfo&, Error) {
  auto& self = *static_cast<Profiler*>(state);
  if (!self.is_running_) return;
  self.run_.records.push_back({self.chain_, self.index_, false, {}, self.begin_ns_, self.now_ns() - self.begin_ns_});
}

std::vector<double> Profiler::run_ms() const {
  std::vector<double> times;
  for (const Run& run : runs_) times.push_back(ms_of(run.total_ns));
  std::sort(times.begin(), times.end());
  return times;
}

std::vector<const Profiler::Run*> Profiler::alike() const {
  std::vector<const Run*> runs;
  const auto same = [](const Record& a, const Record& b) {
    return a.chain == b.chain && a.index == b.index && a.is_event == b.is_event;
  };
  for (const Run& run : runs_) {
    const std::vector<Record>&a = runs_[0].records, &b = run.records;
    if (std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) runs.push_back(&run);
  }
  std::sort(runs.begin(), runs.end(), [](const Run* a, const Run* b) { return a->total_ns < b->total_ns; });
  return runs;
}

std::vector<Step> Profiler::steps(const MethodMeta& method, const MethodFacts& facts) const {
  std::vector<Step> steps;
  if (runs_.empty()) return steps;
  const std::vector<const Run*> runs = alike();
  const Run& shown = *runs[runs.size() / 2];
  std::vector<int64_t> inside(runs.size());  // time of the events of the instruction, by run
  for (size_t i = 0; i < shown.records.size(); ++i) {
    const Record& record = shown.records[i];
    const InstructionMeta instruction = method.instruction(record.chain, record.index);
    const compiler::Where where = instruction_source(method, record.chain, record.index);
    Step step;
    step.start_ms = ms_of(record.start_ns);
    step.shown_ms = ms_of(record.duration_ns);
    std::vector<double> times;
    for (size_t r = 0; r < runs.size(); ++r) {
      int64_t ns = runs[r]->records[i].duration_ns;
      if (record.is_event) {
        inside[r] += ns;
      } else {
        ns = std::max<int64_t>(ns - std::exchange(inside[r], 0), 0);
      }
      times.push_back(ms_of(ns));
    }
    step.ms = median(std::move(times));
    step.place = {where.module, where.source};
    if (instruction.kind == InstructionKind::delegate) {
      step.delegate = instruction.target;
      step.op = record.is_event ? record.event.kind : "(rest of the delegate)";
      step.library = record.is_event ? record.event.name : method.delegate(instruction.target).id;
      const bool is_known = instruction.target < facts.delegates.size() && record.is_event &&
                            record.event.debug_handle < facts.delegates[instruction.target].nodes.size();
      step.place = is_known ? facts.delegates[instruction.target].nodes[record.event.debug_handle] : PlaceFacts{};
    } else if (instruction.kind == InstructionKind::kernel) {
      step.op = operator_text(method.op(instruction.target));
    } else {
      step.op = "(control flow)";
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace wick::cli
