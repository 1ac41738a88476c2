#include "cli/trace/device_compare.h"

#include "cli/arrays/array_compare.h"
#include "runtime/module/host_tensor.h"

namespace wick::cli {
namespace {

using compiler::Result;

constexpr Tolerance exact() {
  Tolerance tolerance;
  tolerance.relative = 0;
  tolerance.absolute = 0;
  return tolerance;
}

/// Other bytes are a difference even where the values count as equal, as two NaNs do.
Difference compare_bytes(const NamedArray& found, const NamedArray& wanted) {
  Difference difference = compare_arrays(found, wanted, exact());
  if (difference.ok() && found.bytes != wanted.bytes) difference.mismatches = 1;
  return difference;
}

NamedArray to_array(HostTensor tensor) {
  NamedArray array;
  array.dtype = tensor.dtype;
  array.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  array.bytes = std::move(tensor.bytes);
  return array;
}

/// What each instruction of a run on the host wrote, in order.
class RunRecorder {
 public:
  struct Step {
    uint32_t chain, instruction;
    std::vector<NamedArray> results;
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
    for_each_result(*self.method_, instruction, [&](const NodeKey&, NamedArray array) {
      self.bytes_ += array.bytes.size();
      step.results.push_back(std::move(array));
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

/// Compares the steps of a device as they come.
class StepComparer {
 public:
  StepComparer(const MethodMeta& method, const std::vector<RunRecorder::Step>& wanted, Comparison* comparison)
      : method_(method), wanted_(wanted), comparison_(comparison) {}

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
      const Difference difference = compare_bytes(to_array(std::move(found.results[i])), wanted.results[i]);
      if (!difference.ok()) return deviate(wanted, difference);
    }
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
  Comparison* comparison_;
  size_t at_ = 0;
};

}  // namespace

Result<Comparison> compare_on_device(const CallOptions& options, uint64_t max_bytes) {
  RunRecorder recorder(max_bytes);
  SessionOptions on_host = options.session();
  on_host.device = device::kHost;
  on_host.tracer = recorder.tracer();
  ASSIGN_OR_RETURN(Session host, Session::open(options.program, on_host));
  ASSIGN_OR_RETURN(std::string method, host.choose(options.method));
  const MethodMeta meta = host.meta(method);
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(meta));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(meta, facts, options));
  std::vector<HostValue> wanted;
  recorder.watch(meta);
  RETURN_IF_ERROR(host.execute(method, inputs, &wanted));

  Comparison comparison;
  comparison.exact = true;
  StepComparer steps(meta, recorder.steps(), &comparison);
  ASSIGN_OR_RETURN(Session board, Session::open(options.program, options.session()));
  device::Call call;
  call.method = method;
  call.inputs = &inputs;
  call.watch = device::Watch::results;
  call.on_step = [&](device::StepReport report) { steps.compare(std::move(report)); };
  ASSIGN_OR_RETURN(device::Outcome outcome, board.call(call));
  if (outcome.refusal) return board.diag_of(*outcome.refusal, method);
  const std::vector<NamedArray> wanted_arrays = output_arrays(facts, std::move(wanted));
  const std::vector<NamedArray> found_arrays = output_arrays(facts, std::move(outcome.outputs));
  for (size_t i = 0; i < std::min(wanted_arrays.size(), found_arrays.size()); ++i)
    comparison.outputs.push_back({wanted_arrays[i].name, compare_bytes(found_arrays[i], wanted_arrays[i])});
  return comparison;
}

}  // namespace wick::cli
