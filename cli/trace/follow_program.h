// Judges a program's outputs by what the model makes of the program's own elements.
#pragma once
#include <functional>
#include <vector>

#include "cli/trace/local_check.h"
#include "cli/trace/rounding_flips.h"

namespace wick::cli {

/// A tracer for a run of the model that goes on with the elements that `plain` took, and rounds values that the program
/// has no elements for the other way where they lie near the middle between two: all in the first run, a random half in
/// each later one. Records how far this puts each quantized value off.
class TurnedRun {
 public:
  explicit TurnedRun(const std::vector<Followed>& plain) : plain_(plain), tracer_{ignore, turn, this} {}
  TurnedRun(const TurnedRun&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before each run.
  void watch(const MethodMeta&);
  /// By the number of the value: steps of each element, the most of all runs.
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
  /// By output and element: how far roundings of values that the program lacks may put it off.
  std::vector<std::vector<double>> departures;
  std::optional<Deviation> deviation;  // LocalCheck's
  uint64_t mismatches = 0;             // as the caller counts them
  std::vector<Followed> followed;
  bool is_conclusive = false;  // if it differs, the program is wrong: it shows all values that the outputs are made of
  bool ok() const { return mismatches == 0 && !deviation; }
};

/// Runs the model with this tracer and gives its outputs; calls the function with the method before the run.
using RunModel = std::function<compiler::Result<std::vector<NamedArray>>(
    const Tracer*, const std::function<void(const MethodMeta&)>&)>;
/// Counts the elements of outputs that differ from the program's.
using CountMismatches = std::function<uint64_t(const FollowedOutputs&)>;

/// The model's outputs for the program's own elements. Where several of the program's tensors may stand for a value of
/// the model, it takes those with which the fewest elements of outputs differ; where it has none, it finds how far
/// roundings there that turn put what follows off. It stops when no kernel deviates and the outputs agree, or
/// `outputs_agree` without that and what it found is not conclusive.
compiler::Result<FollowedOutputs> follow_program(const std::vector<Elements>& program, const RunModel& run,
                                                 const CountMismatches& count, bool outputs_agree);

}  // namespace wick::cli
