#include "backends/cuda/compile/report.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "backends/cuda/compile/cost_model.h"

namespace wick::cuda {

using compiler::Code;
using compiler::Delegate;
using compiler::DelegateReport;
using compiler::DelegateStep;
using compiler::Diag;
using compiler::NodeName;
using compiler::Result;
using compiler::TargetContext;

namespace {

NodeName node_name_of(const Delegate& delegate, uint32_t handle) {
  if (handle >= delegate.origins.size() || !delegate.origins[handle]) return {};
  return {"", delegate.origins[handle]->module, delegate.origins[handle]->source};
}

// The bytes of a step, which follow from its size, at the size's upper bound.
uint64_t size_of(const Plan& plan, const PlanNode& node) {
  FormulaRange range;
  (void)range_of(plan.formulas[node.size], {plan.symbols.data(), plan.symbols.size()}, &range);  // checked by read_plan
  return static_cast<uint64_t>(range.high);
}

DelegateStep step_of(const Plan& plan, const PlanNode& node, const Chip& chip) {
  DelegateStep step;
  Arithmetic arithmetic = Arithmetic::f32;
  if (node.kind == NodeKind::launch) {
    const Kernel& kernel = plan.kernels[node.kernel];
    step.kernel = kernel.name;
    step.schedule = kernel.schedule;
    arithmetic = kernel.arithmetic;
    for (size_t i = 0; i < 3; ++i) {
      step.grid[i] = formula_text(plan, node.grid[i]);
      step.block[i] = fmt::format("{}", kernel.block[i]);
    }
    step.flops = node.flops;
    step.read_bytes = node.read_bytes;
    step.written_bytes = node.written_bytes;
  } else if (is_control(node.kind)) {
    step.kernel = node.kind == NodeKind::choose ? "if" : node.kind == NodeKind::loop ? "while" : "repeat";
    return step;
  } else {
    step.kernel = node.kind == NodeKind::copy ? "copy" : "fill";
    step.written_bytes = size_of(plan, node);
    step.read_bytes = node.kind == NodeKind::copy ? step.written_bytes : 0;
  }
  const double bytes = static_cast<double>(step.read_bytes) + static_cast<double>(step.written_bytes);
  const PredictedTime time = predict(chip, arithmetic, static_cast<double>(step.flops), bytes);
  step.time_us = time.us;
  step.bound = time.bound;
  return step;
}

void add_totals(const Plan& plan, DelegateReport& out) {
  std::set<std::string> seen;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space == Space::constant && seen.insert(buffer.data).second) out.weight_bytes += buffer.size_bytes;
  }
  out.arena_bytes = plan.arena_bytes;
  out.state_bytes = plan.state_bytes;
  for (const Symbol& symbol : plan.symbols)
    out.symbols.push_back(fmt::format("{}: {}..{}", symbol.name, symbol.min, symbol.max));
}

void add_buffers(const Plan& plan, const Kept* kept, DelegateReport& out) {
  std::map<std::string, uint64_t> written;
  if (kept) {
    for (const StepNotes& step : kept->steps) {
      for (const auto& [name, bytes] : step.state_bytes) written[name] += bytes;
    }
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space != Space::state) continue;
    out.buffers.push_back({buffer.state, buffer.size_bytes, std::nullopt});
    if (kept) out.buffers.back().written_bytes = written[buffer.state];
  }
}

}  // namespace

NodeName name_of(const compiler::Node& node) {
  NodeName name = {std::string(node.op->name()), "", ""};
  if (node.origin) {
    name.module = node.origin->module;
    name.source = node.origin->source;
  }
  return name;
}

Result<DelegateReport> report(const Delegate& delegate, const TargetContext& context) {
  Plan plan;
  char buffer[512];
  ErrorText text(buffer);
  if (read_plan({delegate.payload.data(), delegate.payload.size()}, &plan, &text) != Error::Ok)
    return Diag(Code::corrupt_file, std::string("a delegate of CUDA: ") + text.c_str());
  const Chip& chip = *find_chip(context.options.setting(kChipOption));
  const auto* kept = static_cast<const Kept*>(delegate.kept.get());
  DelegateReport out;
  out.method = plan.method;
  out.partition = plan.partition;
  out.producer = plan.producer;
  out.model = model_text(plan.model);
  out.device = chip.title;
  out.gap_us = kLaunchGapUs;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    DelegateStep step = step_of(plan, plan.nodes[i], chip);
    if (kept) {
      step.nodes = kept->steps[i].nodes;
      step.inlined = kept->steps[i].inlined;
      step.why = kept->steps[i].why;
    } else if (plan.nodes[i].debug_handle != kNone) {
      step.nodes = {node_name_of(delegate, plan.nodes[i].debug_handle)};
    }
    out.steps.push_back(std::move(step));
  }
  if (kept) out.views = kept->views;
  add_totals(plan, out);
  add_buffers(plan, kept, out);
  return out;
}

}  // namespace wick::cuda
