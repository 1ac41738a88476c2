#include "cli/trace/follow_program.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cli/arrays/array_summary.h"
#include "compiler/analysis/rounding_limits.h"

namespace wick::cli {

namespace {

using compiler::Result;
using compiler::Status;

constexpr size_t kMostReadings = 48;   // limit of the readings that are tried
constexpr size_t kMostCandidates = 4;  // limit of the candidates that are tried for one value
constexpr uint64_t kTurnedRuns = 16;
constexpr size_t kMostRounds = 3;  // limit of the rounds of flips; each may find more elements to take

/// Finds the outputs, one run of the model after the other.
class Follower {
 public:
  Follower(const std::vector<Elements>& program, const RunModel& run, const CountMismatches& count, bool outputs_agree)
      : program_(program), run_(run), count_(count), outputs_agree_(outputs_agree) {}

  Result<FollowedOutputs> find() {
    ASSIGN_OR_RETURN(best_, read(reading_));
    RETURN_IF_ERROR(try_candidates());
    for (size_t round = 0; !is_done() && round < kMostRounds; ++round) {
      Reading wider = reading_;
      RETURN_IF_ERROR(turn(wider));
      if (is_done() || wider.slack == reading_.slack) break;
      reading_ = std::move(wider);
      ASSIGN_OR_RETURN(FollowedOutputs next, read(reading_));
      best_ = std::move(next);
      RETURN_IF_ERROR(try_candidates());
    }
    return std::move(best_);
  }

 private:
  Result<FollowedOutputs> read(const Reading& reading) {
    LocalCheck check(program_, reading);
    FollowedOutputs result;
    bool rounds_otherwise = false;
    ASSIGN_OR_RETURN(result.outputs, run_(check.tracer(), [&](const MethodMeta& method) {
                       check.watch(method);
                       rounds_otherwise = quantizes_otherwise(method);
                     }));
    result.deviation = check.first_deviation();
    result.followed = check.followed();
    const bool is_shown = std::all_of(result.followed.begin(), result.followed.end(),
                                      [](const Followed& each) { return each.is_conclusive; });
    result.is_conclusive = is_shown && !rounds_otherwise && !result.followed.empty();
    result.mismatches = count_(result);
    return result;
  }

  bool is_done() const {
    return !best_.deviation && (best_.mismatches == 0 || (outputs_agree_ && !best_.is_conclusive));
  }
  static size_t num_missing(const FollowedOutputs& found) {
    return static_cast<size_t>(std::count_if(found.followed.begin(), found.followed.end(), [](const Followed& each) {
      return !each.values.empty() && each.taken.empty();
    }));
  }
  static bool is_better(const FollowedOutputs& a, const FollowedOutputs& b) {
    const auto cost = [](const FollowedOutputs& e) {
      return std::tuple(e.mismatches, e.deviation.has_value(), num_missing(e));
    };
    return cost(a) < cost(b);
  }

  /// From the last value to the first, takes another candidate, or none, if the outputs are nearer with it. It does not
  /// take none if a candidate comes from the value's own line and module: the program has that value.
  Status try_candidates() {
    for (size_t back = best_.followed.size(); back-- > 0 && !is_done();) {
      const size_t number = back;
      if (number >= best_.followed.size()) continue;
      const size_t most = std::min(best_.followed[number].num_candidates, kMostCandidates);
      for (size_t each = 0; most > 0 && each <= most && !is_done() && num_readings_ < kMostReadings; ++each) {
        if (each == most && best_.followed[number].is_at_place) continue;
        const size_t choice = each < most ? each : Reading::kNone;
        Reading other = reading_;
        if (choice == other.choices[number]) continue;
        other.choices[number] = choice;
        ++num_readings_;
        ASSIGN_OR_RETURN(FollowedOutputs next, read(other));
        if (!is_better(next, best_)) continue;
        best_ = std::move(next);
        reading_ = std::move(other);
      }
    }
    return {};
  }

  /// Finds how far rounding flips in values that the program lacks move outputs and other values.
  Status turn(Reading& reading) {
    if (num_missing(best_) == 0) return {};
    TurnedRun turned(best_.followed);
    std::vector<TurnedElements> differences(best_.outputs.size());
    for (uint64_t each = 0; each < kTurnedRuns; ++each) {
      ASSIGN_OR_RETURN(const std::vector<NamedArray> outputs,
                       run_(turned.tracer(), [&](const MethodMeta& method) { turned.watch(method); }));
      for (size_t i = 0; i < std::min(outputs.size(), differences.size()); ++i)
        differences[i].add(outputs[i], best_.outputs[i]);
    }
    best_.departures.clear();
    for (const TurnedElements& output : differences) best_.departures.push_back(output.most());
    best_.mismatches = count_(best_);
    for (const auto& [number, steps] : turned.departures()) {
      const bool any = std::any_of(steps.begin(), steps.end(), [](double each) { return each > 0; });
      if (any && best_.followed[number].taken.empty()) reading.slack[number] = steps;
    }
    return {};
  }

  const std::vector<Elements>& program_;
  const RunModel& run_;
  const CountMismatches& count_;
  bool outputs_agree_;
  Reading reading_;
  FollowedOutputs best_;
  size_t num_readings_ = 0;
};

}  // namespace

void TurnedRun::watch(const MethodMeta&) {
  number_ = 0;
  bits_ = RandomBits(num_runs_++);
}

void TurnedRun::turn(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<TurnedRun*>(state);
  if (error != Error::Ok || instruction.kind != InstructionKind::kernel || !is_followed(instruction.op)) return;
  const size_t number = self.number_++;
  if (number >= self.plain_.size() || self.plain_[number].values.empty()) return;
  const Followed& plain = self.plain_[number];
  Tensor& tensor = *instruction.args[instruction.args.size() - 1]->tensor;
  std::vector<int32_t> values = values_of(tensor);
  if (values.size() != plain.values.size()) return;  // the run took another path
  std::vector<double>& most = self.departures_[number];
  most.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    most[i] = std::max(most[i], std::fabs(static_cast<double>(values[i]) - plain.values[i]));
  if (plain.taken.empty())
    self.turn_untaken(instruction.args);
  else
    store_values(tensor, plain.taken);
}

void TurnedRun::turn_untaken(Span<EValue* const> args) {
  QuantizedValue value = quantized_value(args);
  for (size_t i = 0; i < value.values.size(); ++i) {
    const bool turn = num_runs_ == 1 || bits_.next();
    const double steps = element_of(value.numbers, i) / value.scale, below = std::floor(steps);
    if (!turn || !(std::fabs(steps - below - 0.5) < compiler::kFloatError)) continue;
    const int64_t lower = static_cast<int64_t>(below) + value.zero;
    const int64_t other = value.values[i] == lower ? lower + 1 : lower;
    value.values[i] = static_cast<int32_t>(std::clamp(other, value.low, value.high));
  }
  store_values(*args[args.size() - 1]->tensor, value.values);
}

Result<FollowedOutputs> follow_program(const std::vector<Elements>& program, const RunModel& run,
                                       const CountMismatches& count, bool outputs_agree) {
  return Follower(program, run, count, outputs_agree).find();
}

}  // namespace wick::cli
