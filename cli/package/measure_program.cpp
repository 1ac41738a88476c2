// Measures the memory of a package's programs by running them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "cli/call_options.h"
#include "cli/package/package_plan.h"
#include "runtime/exec/prim_ops.h"
#include "runtime/exec/shared_arena.h"
#include "runtime/firmware/packaged_method.h"
#include "wick/backends.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

/// Memory that starts at a multiple of 64.
class AlignedMemory {
 public:
  explicit AlignedMemory(uint64_t size_bytes) : blocks_(size_bytes / sizeof(Block) + 1), size_bytes_(size_bytes) {}
  Span<uint8_t> span() { return {reinterpret_cast<uint8_t*>(blocks_.data()), static_cast<size_t>(size_bytes_)}; }

 private:
  struct alignas(64) Block {
    uint8_t bytes[64] = {};
  };
  std::vector<Block> blocks_;
  uint64_t size_bytes_;
};

// Enlarges dynamic sizes to their upper bounds. The elements repeat.
void enlarge(const MethodMeta& meta, std::vector<HostValue>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    const ValueMeta bound = meta.input_value(i);
    HostTensor& tensor = (*inputs)[i].tensor;
    if (bound.tag != Tag::tensor || tensor.bytes.size() == bound.tensor.nbytes) continue;
    const size_t old_size = tensor.bytes.size();
    tensor.sizes.assign(bound.tensor.sizes.begin(), bound.tensor.sizes.end());
    tensor.bytes.resize(bound.tensor.nbytes);
    for (size_t k = old_size; k < tensor.bytes.size(); ++k) tensor.bytes[k] = old_size ? tensor.bytes[k - old_size] : 0;
  }
}

Result<std::vector<HostValue>> sample_inputs(const MethodMeta& meta, const PackageOptions& options) {
  ASSIGN_OR_RETURN(const MethodFacts facts, read_facts(meta));
  CallOptions call;
  call.inputs = options.inputs;
  call.seed = options.seed;
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(meta, facts, call));
  if (options.inputs.empty()) enlarge(meta, &inputs);
  return inputs;
}

std::vector<uint8_t> bytes_at(const void* data, uint64_t size_bytes) {
  const auto* begin = static_cast<const uint8_t*>(data);
  return {begin, begin + (data ? size_bytes : 0)};
}

// The scratch memory of a run that is not short of it.
Result<uint64_t> scratch_of(Session& session, const MethodPlan& plan) {
  ASSIGN_OR_RETURN(Method * method, session.prepare(plan.name));
  std::deque<InputView> views;
  RETURN_IF_ERROR(set_inputs(*method, plan.sample.values, &views));
  if (method->execute() != Error::Ok) return execution_diag("", *method);
  return static_cast<uint64_t>(method->temp_peak_bytes());
}

Diag failed(const MethodPlan& plan, const char* what, const char* text) {
  return Diag(Code::execution, fmt::format("method '{}' cannot be {} in the memory of the package", plan.name, what))
      .note(text)
      .with_help("give it inputs that it takes with -i, or more scratch memory with --scratch");
}

/// The methods of a program, loaded into memory of the sizes that the package has.
struct Rehearsal {
  AlignedMemory shared;
  std::deque<AlignedMemory> memory;
  std::deque<PackagedMethod> methods;
};

Status load_methods(const Program& program, const ProgramPlan& plan, Rehearsal* out) {
  const Span<const KernelTable> known = all_kernels();
  std::vector<KernelTable> tables(known.begin(), known.end());
  tables.push_back(prim_kernels());
  for (size_t i = 0; i < plan.methods.size(); ++i) {
    const MethodPlan& method = plan.methods[i];
    PackagedMemory memory;
    memory.arena = out->memory.emplace_back(method.arena_bytes).span();
    memory.shared = out->shared.span();
    memory.state = out->memory.emplace_back(method.state_bytes_64).span();
    memory.scratch = out->memory.emplace_back(method.scratch_bytes).span();
    if (out->methods.emplace_back().load(program.method(i), memory, {tables.data(), tables.size()}) != Error::Ok)
      return failed(method, "loaded", out->methods.back().error_text());
  }
  return {};
}

Status run_method(PackagedMethod& method, const MethodMeta& meta, MethodPlan* plan) {
  for (size_t i = 0; i < plan->inputs.size(); ++i) {
    std::vector<uint8_t> elements;
    if (plan->inputs[i].is_tensor) {
      const InputView view(plan->sample.values[i].tensor, meta.input_value(i).tensor.dim_order);
      elements = bytes_at(view.tensor().data, view.tensor().nbytes());
      if (plan->inputs[i].is_dynamic && method.set_input_sizes(i, view.tensor().sizes) != Error::Ok)
        return failed(*plan, "run", method.error_text());
      if (!elements.empty()) std::memcpy(method.input(i), elements.data(), elements.size());
    }
    plan->sample.inputs.push_back(std::move(elements));
  }
  if (method.run() != Error::Ok) return failed(*plan, "run", method.error_text());
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    uint64_t size_bytes = plan->outputs[i].size_bytes;
    if (plan->outputs[i].is_dynamic) {
      size_bytes = dtype_size_bytes(plan->outputs[i].dtype);
      for (size_t d = 0; d < plan->outputs[i].sizes.size(); ++d)
        size_bytes *= static_cast<uint64_t>(method.output_sizes(i)[d]);
    }
    plan->sample.outputs.push_back(bytes_at(method.output(i), size_bytes));
  }
  return {};
}

// The device whose processor runs the package's code unchanged, or "".
std::string device_for(const PackageOptions& options, const PackagePlan& plan) {
  if (!options.device.empty()) return options.device;
  for (const device::DeviceRow& row : device::device_table()) {
    if (!plan.target.measured_on.empty() && row.name.ends_with("-" + plan.target.measured_on)) return row.name;
  }
  return "";
}

}  // namespace

Status measure_on_host(Session& session, const PackageOptions& options, ProgramPlan* plan) {
  const Program& program = session.program();
  for (MethodPlan& method : plan->methods) {
    ASSIGN_OR_RETURN(method.sample.values, sample_inputs(session.meta(method.name), options));
    if (options.scratch_bytes) {
      method.scratch_bytes = *options.scratch_bytes;
    } else {
      ASSIGN_OR_RETURN(method.scratch_bytes, scratch_of(session, method));
    }
  }
  Rehearsal rehearsal{AlignedMemory(plan->shared_bytes), {}, {}};
  RETURN_IF_ERROR(load_methods(program, *plan, &rehearsal));
  for (size_t i = 0; i < plan->methods.size(); ++i)
    RETURN_IF_ERROR(run_method(rehearsal.methods[i], program.method(i), &plan->methods[i]));
  return {};
}

Status measure_on_device(const PackageOptions& options, PackagePlan* plan) {
  const std::string name = device_for(options, *plan);
  if (options.device == "none") {
    plan->not_measured = "--device none";
    return {};
  }
  if (name.empty()) {
    plan->not_measured = plan->target.cpu.empty()
                             ? "the programs are for no processor in particular; --cpu names one"
                             : fmt::format("no emulated board runs the code of {}", plan->target.cpu);
    return {};
  }
  device::FirmwareParts parts;
  parts.loads = plan->loads();
  parts.has_tables = plan->has_tables();
  for (const KernelPlan& kernel : plan->kernels) parts.operators.push_back(kernel.name);
  for (ProgramPlan& program : plan->programs) {
    SessionOptions session_options;
    session_options.device = name;
    Result<Session> session = Session::open(program.path, session_options);
    if (!session.ok()) {
      if (!options.device.empty()) return session.diag();
      plan->not_measured = session.diag().message + (session.diag().help.empty() ? "" : "; " + session.diag().help);
      return {};
    }
    for (MethodPlan& method : program.methods) {
      device::Call call;
      call.method = method.name;
      call.inputs = &method.sample.values;
      call.watch = device::Watch::counts;
      ASSIGN_OR_RETURN(const device::Outcome outcome, session->call(call));
      if (outcome.refusal) return session->diag_of(*outcome.refusal, method.name);
      method.stack_bytes = std::max(outcome.footprint.load_stack_bytes, outcome.footprint.execution_stack_bytes);
    }
    if (plan->flash) continue;
    Result<device::FirmwareSize> size = session->firmware_size(parts);
    if (!size.ok()) return size.diag();
    plan->flash = *size;
  }
  plan->measured_on = name;
  return {};
}

}  // namespace wick::cli
