#include "cli/trace/device_compare.h"

#include <algorithm>
#include <map>

#include "cli/arrays/array_compare.h"
#include "cli/trace/rounding_flips.h"
#include "runtime/module/host_tensor.h"

namespace wick::cli {
namespace {

using compiler::Result;

NamedArray to_array(HostTensor tensor) {
  NamedArray array;
  array.dtype = tensor.dtype;
  array.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  array.bytes = std::move(tensor.bytes);
  return array;
}

/// Records the results of each instruction of a run on the host, in order.
class RunRecorder {
 public:
  struct Step {
    uint32_t chain, instruction;
    std::vector<std::pair<NodeKey, NamedArray>> results;
  };
  explicit RunRecorder(uint64_t max_bytes) : max_bytes_(max_bytes), tracer_{ignore, record, this} {}
  RunRecorder(const RunRecorder&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  void watch(const MethodMeta& method) { method_ = method; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void record(void* state, const InstructionInfo& instruction, Error error) {
    auto& self = *static_cast<RunRecorder*>(state);
    if (error != Error::Ok || !self.method_ || self.full_) return;
    Step step{instruction.chain, instruction.index, {}};
    for_each_result(*self.method_, instruction, [&](const NodeKey& key, NamedArray array) {
      self.bytes_ += array.bytes.size();
      step.results.emplace_back(key, std::move(array));
    });
    self.full_ = self.bytes_ > self.max_bytes_;
    if (!self.full_) self.steps_.push_back(std::move(step));
  }

  uint64_t max_bytes_, bytes_ = 0;
  bool full_ = false;
  std::optional<MethodMeta> method_;
  Tracer tracer_;
  std::vector<Step> steps_;
};

/// One call of a program on the host.
struct HostCall {
  const CallOptions& options;
  const std::string& method;
  const MethodFacts& facts;
  const std::vector<HostValue>& inputs;

  template <typename Watcher>
  Result<std::vector<NamedArray>> run(Watcher& watcher) const {
    SessionOptions on_host = options.session();
    on_host.device = device::kHost;
    on_host.tracer = watcher.tracer();
    ASSIGN_OR_RETURN(Session session, Session::open(options.program, on_host));
    watcher.watch(session.meta(method));
    std::vector<HostValue> outputs;
    RETURN_IF_ERROR(session.execute(method, inputs, &outputs));
    return output_arrays(facts, std::move(outputs));
  }
};

/// How far results may be from the host's if floats differ in their last bits and roundings of quantized values flip.
/// Computed at the first request.
class TurnedRoundings {
 public:
  TurnedRoundings(const HostCall& call, uint64_t max_bytes) : call_(call), plain_(max_bytes), flipper_(plain_) {}
  double of_result(const NodeKey& key, size_t index) {
    find();
    return kFlippedBothWays * flipper_.deviation(key, index);
  }
  double of_output(size_t index) {
    find();
    return index < outputs_.size() ? kFlippedBothWays * outputs_[index] : 0;
  }

 private:
  // A run that fails allows no difference. None should: the host has executed the program before.
  void find() {
    if (found_) return;
    found_ = true;
    const Result<std::vector<NamedArray>> plain = call_.run(plain_);
    if (!plain.ok()) return;
    outputs_.resize(plain->size());
    for (uint64_t each = 0; each < kFlippedRuns; ++each) {
      const Result<std::vector<NamedArray>> flipped = call_.run(flipper_);
      for (size_t i = 0; flipped.ok() && i < std::min(outputs_.size(), flipped->size()); ++i)
        outputs_[i] = std::max(outputs_[i], largest_difference((*flipped)[i], (*plain)[i]));
    }
  }

  const HostCall& call_;
  NodeRecorder plain_;
  RoundingFlipper flipper_;
  bool found_ = false;
  std::vector<double> outputs_;
};

/// Compares the steps of a device as they come.
class StepComparer {
 public:
  StepComparer(const MethodMeta& method, const std::vector<RunRecorder::Step>& wanted, const Tolerance& tolerance,
               TurnedRoundings* roundings, Comparison* comparison)
      : method_(method), wanted_(wanted), tolerance_(tolerance), roundings_(roundings), comparison_(comparison) {}

  void compare(device::StepReport found) {
    if (comparison_->deviation || at_ == wanted_.size()) return;
    const RunRecorder::Step& wanted = wanted_[at_++];
    Difference other_path;
    other_path.same_type = false;
    if (found.chain != wanted.chain || found.instruction != wanted.instruction ||
        found.results.size() != wanted.results.size())
      return deviate(wanted, other_path);
    for (size_t i = 0; i < wanted.results.size(); ++i) {
      ++comparison_->nodes_compared;
      const NodeKey& key = wanted.results[i].first;
      const NamedArray& array = wanted.results[i].second;
      const size_t index = counts_[key]++;
      const Difference difference =
          compare_one(to_array(std::move(found.results[i])), array, [&] { return roundings_->of_result(key, index); });
      if (!difference.ok()) return deviate(wanted, difference);
    }
  }

  /// Requires equal bytes, and floats within the tolerance. Once floats have differed, `of_roundings()` is allowed as
  /// well.
  template <typename OfRoundings>
  Difference compare_one(const NamedArray& found, const NamedArray& wanted, const OfRoundings& of_roundings) {
    Difference difference = compare_arrays(found, wanted, tolerance_);
    if (difference.same_type && found.bytes == wanted.bytes) return difference;
    if (!difference.ok() && floats_differ_) {
      Tolerance wider = tolerance_;
      wider.of_roundings = of_roundings();
      difference = compare_arrays(found, wanted, wider);
    }
    floats_differ_ = floats_differ_ || is_floating(wanted.dtype) || is_complex(wanted.dtype);
    return difference;
  }

 private:
  void deviate(const RunRecorder::Step& step, const Difference& difference) {
    const compiler::Where where = instruction_source(method_, step.chain, step.instruction);
    const InstructionMeta meta = method_.instruction(step.chain, step.instruction);
    const std::string op =
        meta.kind == InstructionKind::kernel ? operator_text(method_.op(meta.target)) : "(control flow)";
    comparison_->deviation = Deviation{op, where.source, where.module, step.instruction, difference, false};
  }

  const MethodMeta& method_;
  const std::vector<RunRecorder::Step>& wanted_;
  const Tolerance& tolerance_;
  TurnedRoundings* roundings_;
  Comparison* comparison_;
  size_t at_ = 0;
  bool floats_differ_ = false;
  std::map<NodeKey, size_t> counts_;
};

}  // namespace

Result<Comparison> compare_on_device(const CallOptions& options, const Tolerance& tolerance, uint64_t max_bytes) {
  SessionOptions without_board = options.session();
  without_board.device = device::kHost;
  ASSIGN_OR_RETURN(Session host, Session::open(options.program, without_board));
  ASSIGN_OR_RETURN(std::string method, host.choose(options.method));
  const MethodMeta meta = host.meta(method);
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(meta));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(meta, facts, options));
  const HostCall on_host{options, method, facts, inputs};
  RunRecorder recorder(max_bytes);
  ASSIGN_OR_RETURN(const std::vector<NamedArray> wanted, on_host.run(recorder));

  Comparison comparison;
  comparison.exact = true;
  TurnedRoundings roundings(on_host, max_bytes);
  StepComparer steps(meta, recorder.steps(), tolerance, &roundings, &comparison);
  ASSIGN_OR_RETURN(Session board, Session::open(options.program, options.session()));
  device::Call call;
  call.method = method;
  call.inputs = &inputs;
  call.watch = device::Watch::results;
  call.on_step = [&](device::StepReport report) { steps.compare(std::move(report)); };
  ASSIGN_OR_RETURN(device::Outcome outcome, board.call(call));
  if (outcome.refusal) return board.diag_of(*outcome.refusal, method);
  const std::vector<NamedArray> found = output_arrays(facts, std::move(outcome.outputs));
  for (size_t i = 0; i < std::min(wanted.size(), found.size()); ++i)
    comparison.outputs.push_back(
        {wanted[i].name, steps.compare_one(found[i], wanted[i], [&] { return roundings.of_output(i); })});
  return comparison;
}

}  // namespace wick::cli
