// Measures where the time of a method goes: instructions, and operators inside delegates.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/trace/profile_summary.h"
#include "wick/method.h"

namespace wick::cli {

/// Measures runs through a tracer, which takes some time of its own for each instruction.
class Profiler {
 public:
  Profiler() : tracer_{begin, end, this, event} {}
  Profiler(const Profiler&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before and after each run that counts.
  void start_run();
  void end_run();
  /// Medians of each step, over all runs that took the same path as the first one.
  std::vector<Step> steps(const MethodMeta& method, const MethodFacts& facts) const;
  size_t num_runs() const { return runs_.size(); }
  /// The times of the runs, sorted.
  std::vector<double> run_ms() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Record {
    uint32_t chain = 0, index = 0;
    bool is_event = false;  // else the instruction itself, after its events
    DelegateEvent event = {};
    int64_t start_ns = 0, duration_ns = 0;
  };
  struct Run {
    std::vector<Record> records;
    int64_t total_ns = 0;
  };
  static void begin(void* state, const InstructionInfo& instruction);
  static void end(void* state, const InstructionInfo& instruction, Error error);
  static void event(void* state, const DelegateEvent& event);
  int64_t now_ns() const;
  std::vector<const Run*> alike() const;

  Tracer tracer_;
  Clock::time_point started_;
  bool is_running_ = false;
  Run run_;
  uint32_t chain_ = 0, index_ = 0;  // of the instruction that runs
  int64_t begin_ns_ = 0;
  std::vector<Run> runs_;
};

}  // namespace wick::cli
