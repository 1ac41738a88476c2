// Judges a program's outputs by running the model on the program's own quantized elements.
#pragma once
#include <functional>
#include <vector>

#include "cli/trace/local_check.h"
#include "cli/trace/rounding_flips.h"

namespace wick::cli {

/// A tracer for a run of the model that continues with the elements that `plain` took. In values for which the program
/// has no elements it flips the roundings near the middle between two steps: all in the first run, a random half in
/// each later one. Records how far each quantized value is from that of `plain`.
class TurnedRun {
 public:
  explicit TurnedRun(const std::vector<Followed>& plain) : plain_(plain), tracer_{ignore, turn, this} {}
  TurnedRun(const TurnedRun&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before each run.
  void watch(const MethodMeta&);
  /// By the number of the value: the largest difference of each element over all runs, in steps.
  const std::map<size_t, std::vector<double>>& departures() const { return departures_; }

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void turn(void* state, const InstructionInfo& instruction, Error error);
  void turn_untaken(Span<EValue* const> args);

  const std::vector<Followed>& plain_;
  Tracer tracer_;
  size_t number_ = 0;
  uint64_t num_runs_ = 0;
  RandomBits bits_;
  std::map<size_t, std::vector<double>> departures_;
};

/// Outputs of the model, computed from the program's own elements.
struct FollowedOutputs {
  std::vector<NamedArray> outputs;
  /// By output and element: how far rounding flips in values that the program lacks may move it.
  std::vector<std::vector<double>> departures;
  std::optional<Deviation> deviation;  // found by LocalCheck
  uint64_t mismatches = 0;             // from CountMismatches
  std::vector<Followed> followed;
  bool is_conclusive = false;  // a mismatch proves the program wrong: it has all values behind the outputs
  bool ok() const { return mismatches == 0 && !deviation; }
};

/// Runs the model with this tracer and returns its outputs. Calls the function with the method before the run.
using RunModel = std::function<compiler::Result<std::vector<NamedArray>>(
    const Tracer*, const std::function<void(const MethodMeta&)>&)>;
/// Counts the elements of outputs that differ from the program's.
using CountMismatches = std::function<uint64_t(const FollowedOutputs&)>;

/// Finds the model's outputs for the program's own elements. If several tensors of the program may stand for a value of
/// the model, it takes those with which the fewest elements of outputs differ. If there is none, it finds how far
/// rounding flips in that value move the values after it. `outputs_agree`: the outputs agree without following. The
/// search stops when no kernel deviates and either the outputs agree, or `outputs_agree` is true and the result is not
/// conclusive.
compiler::Result<FollowedOutputs> follow_program(const std::vector<Elements>& program, const RunModel& run,
                                                 const CountMismatches& count, bool outputs_agree);

}  // namespace wick::cli
