#include "cli/trace/device_counts.h"

#include <algorithm>

namespace wick::cli {
namespace {

using compiler::Result;

CountedStep describe_step(const MethodMeta& method, const device::StepReport& report) {
  const InstructionMeta instruction = method.instruction(report.chain, report.instruction);
  const compiler::Where where = instruction_source(method, report.chain, report.instruction);
  CountedStep step;
  step.place = {where.module, where.source};
  step.op = instruction.kind == InstructionKind::kernel ? operator_text(method.op(instruction.target))
            : instruction.kind == InstructionKind::delegate
                ? compiler::printable(method.delegate(instruction.target).id)
                : "(control flow)";
  return step;
}

bool exists(const MethodMeta& method, const device::StepReport& report) {
  return report.chain < method.num_chains() && report.instruction < method.num_instructions(report.chain);
}

}  // namespace

Result<DeviceCounts> count_on_device(const CallOptions& options) {
  ASSIGN_OR_RETURN(Session session, Session::open(options.program, options.session()));
  DeviceCounts counts;
  ASSIGN_OR_RETURN(counts.method, session.choose(options.method));
  const MethodMeta meta = session.meta(counts.method);
  ASSIGN_OR_RETURN(MethodFacts facts, read_facts(meta));
  ASSIGN_OR_RETURN(std::vector<HostValue> inputs, call_inputs(meta, facts, options));
  device::Call call;
  call.method = counts.method;
  call.inputs = &inputs;
  call.watch = device::Watch::steps;
  call.on_step = [&](const device::StepReport& report) {
    if (exists(meta, report)) counts.steps.push_back(describe_step(meta, report));
  };
  ASSIGN_OR_RETURN(device::Outcome stepped, session.call(call));
  if (stepped.refusal) return session.diag_of(*stepped.refusal, counts.method);
  for (size_t i = 0; i < std::min(counts.steps.size(), stepped.footprint.steps.size()); ++i) {
    counts.steps[i].counts = stepped.footprint.steps[i].counts;
    counts.steps[i].begin = stepped.footprint.steps[i].begin;
  }
  call.watch = device::Watch::counts;
  ASSIGN_OR_RETURN(device::Outcome whole, session.call(call));
  if (whole.refusal) return session.diag_of(*whole.refusal, counts.method);
  const device::Footprint& footprint = whole.footprint;
  counts.execution = footprint.execution;
  counts.not_counted = footprint.not_counted;
  for (size_t i = 0; i < meta.num_arenas(); ++i) counts.arena_bytes += meta.arena_bytes(i);
  counts.scratch_bytes = footprint.temp_bytes;
  counts.execution_stack_bytes = footprint.execution_stack_bytes;
  counts.stack_bytes = std::max(footprint.load_stack_bytes, footprint.execution_stack_bytes);
  counts.method_arena_bytes = footprint.method_arena_bytes;
  counts.program_bytes = session.program().file().size();
  ASSIGN_OR_RETURN(counts.firmware, session.firmware_size(counts.method));
  return counts;
}

}  // namespace wick::cli
