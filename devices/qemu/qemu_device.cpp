#include "devices/qemu/qemu_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "compiler/support/limits.h"
#include "devices/instruction_place.h"
#include "devices/qemu/messages.h"

namespace wick::device {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

const char* phase_text(Phase phase) {
  switch (phase) {
    case Phase::idle: return "between requests";
    case Phase::loading_program: return "while the program was loaded";
    case Phase::loading_method: return "while the method was loaded";
    case Phase::setting_inputs: return "while the inputs were set";
    case Phase::executing: return "while the method ran";
  }
  return "";
}

/// Arm's Configurable Fault Status Register, bit by bit.
std::string cause_text(const board::Fault& fault) {
  struct Bit {
    int bit;
    const char* text;
  };
  constexpr Bit kBits[] = {
      {0, "instruction fetch not allowed"},
      {1, "data access not allowed"},
      {3, "unstacking not allowed"},
      {4, "stacking not allowed"},
      {8, "bus error in an instruction fetch"},
      {9, "bus error in a data access"},
      {10, "imprecise bus error in a data access"},
      {11, "bus error in unstacking"},
      {12, "bus error in stacking"},
      {16, "undefined instruction"},
      {17, "invalid processor state"},
      {18, "invalid return address"},
      {19, "no coprocessor"},
      {20, "below the limit of the stack"},
      {24, "unaligned access"},
      {25, "division by zero"},
  };
  std::string text = fault.stack_exhausted != 0 ? "the stack is exhausted" : "";
  for (const Bit& each : kBits) {
    if ((fault.cfsr >> each.bit & 1) != 0) text += (text.empty() ? "" : ", ") + std::string(each.text);
  }
  if (text.empty()) text = fmt::format("exception {}", fault.exception);
  constexpr uint32_t kMemoryAddressValid = 1u << 7, kBusAddressValid = 1u << 15;
  if ((fault.cfsr & kMemoryAddressValid) != 0) text += fmt::format(" at address 0x{:08x}", fault.mmfar);
  if ((fault.cfsr & kBusAddressValid) != 0) text += fmt::format(" at address 0x{:08x}", fault.bfar);
  return text;
}

std::string register_text(const board::Fault& fault) {
  std::string text = fmt::format("sp 0x{:08x}, cfsr 0x{:08x}, hfsr 0x{:08x}", fault.sp, fault.cfsr, fault.hfsr);
  if (fault.has_frame == 0) return text;
  text = fmt::format("pc 0x{:08x}, lr 0x{:08x}, xpsr 0x{:08x}, ", fault.pc, fault.lr, fault.xpsr) + text;
  for (size_t i = 0; i < std::size(fault.r); ++i) text += fmt::format(", r{} 0x{:08x}", i, fault.r[i]);
  return text;
}

}  // namespace

void QemuDevice::add_place(uint32_t chain, uint32_t instruction, Diag* diag) const {
  const wick::Result<MethodMeta> method = program_.module->program().find_method(method_.c_str());
  if (!method.ok() || chain >= method->num_chains() || instruction >= method->num_instructions(chain)) return;
  diag->where = instruction_source(*method, chain, instruction);
  diag->where.file = program_.path;
  diag->notes.push_back(instruction_text(*method, chain, instruction));
}

Diag QemuDevice::fault_diag(const FaultReport& report) const {
  Diag diag(Code::internal,
            fmt::format("{} took a fault {}: {}", board_.device, phase_text(report.phase), cause_text(report.fault)));
  diag.where.file = program_.path;
  if (report.in_instruction != 0) add_place(report.chain, report.instruction, &diag);
  diag.notes.push_back(register_text(report.fault));
  return diag;
}

Diag QemuDevice::breakdown() {
  const std::unique_ptr<QemuProcess> process = std::move(process_);
  loaded_ = false;
  process->finish();
  if (process->fault()) return fault_diag(*process->fault());
  if (process->over_budget()) {
    return compiler::over_limit(&compiler::Limits::device_instructions,
                                fmt::format("the program takes too long on {}", board_.device))
        .at_file(program_.path);
  }
  if (process->timed_out()) {
    return compiler::over_limit(&compiler::Limits::device_seconds, fmt::format("{} does not answer", board_.device))
        .at_file(program_.path);
  }
  return Diag(Code::internal, fmt::format("{} broke down", board_.device))
      .at_file(program_.path)
      .note(process->end_text());
}

// A QEMU without plugins, or with another plugin interface, ends before it runs anything.
bool QemuDevice::drop_counter(Outcome* outcome) {
  if (files_.counter.empty()) return false;
  process_->finish();
  if (process_->fault() || process_->over_budget() || process_->timed_out()) return false;
  process_.reset();
  outcome->refusal.reset();
  files_.counter.clear();
  counter_refused_ = true;
  return true;
}

// The runner reads .pte files only. QEMU opens the file by the name that Linux gives to a descriptor of this process,
// so the file disappears even if this process is killed.
Result<std::string> QemuDevice::pte_path() {
  const BundledProgram* bundled = program_.module ? program_.module->bundled() : nullptr;
  if (!bundled) return program_.path;
  if (inner_file_.get() < 0) {
    ASSIGN_OR_RETURN(inner_file_, temporary_file(bundled->program()));
  }
  return fmt::format("/proc/{}/fd/{}", getpid(), inner_file_.get());
}

Status QemuDevice::ensure_loaded(bool traced, Outcome* outcome) {
  if (!process_) {
    ASSIGN_OR_RETURN(process_, QemuProcess::start(board_, files_));
    loaded_ = false;
  }
  if (loaded_ && traced_ == traced) return {};
  ASSIGN_OR_RETURN(const std::string path, pte_path());
  RequestWriter request;
  request.u32(kProtocolVersion);
  request.u64(program_.seed);
  request.u64(compiler::limits().instructions);
  request.u32(traced ? 1 : 0);
  request.u32(static_cast<uint32_t>(1 + program_.data_paths.size()));
  request.string(path);
  for (const std::string& data : program_.data_paths) request.string(data);
  if (!process_->send(request.take(Request::load)))
    return drop_counter(outcome) ? ensure_loaded(traced, outcome) : Status(breakdown());
  ReplyReader reply(*process_);
  const Reply kind = static_cast<Reply>(reply.u32());
  if (kind == Reply::loaded)
    reply.u32();
  else
    outcome->refusal = reply.refusal();
  if (!reply.ok()) return drop_counter(outcome) ? ensure_loaded(traced, outcome) : Status(breakdown());
  loaded_ = kind == Reply::loaded;
  traced_ = traced;
  return {};
}

Result<std::vector<uint8_t>> QemuDevice::call_request(const Call& call) const {
  const wick::Result<MethodMeta> method = program_.module->program().find_method(call.method.c_str());
  if (!method.ok() || method->num_inputs() != call.inputs->size())
    return Diag(Code::internal, "a call does not fit its method").at_file(program_.path);
  RequestWriter request;
  request.string(call.method);
  request.u32(static_cast<uint32_t>(call.watch));
  request.u32(static_cast<uint32_t>(call.inputs->size()));
  for (size_t i = 0; i < call.inputs->size(); ++i) {
    if (!write_value((*call.inputs)[i], method->input_value(i).tensor.dim_order, request)) {
      return Diag(Code::usage, fmt::format("input {} cannot be sent to {}", i, board_.device)).at_file(program_.path);
    }
  }
  return request.take(Request::call);
}

Status QemuDevice::read_replies(const Call& call, Outcome* outcome) {
  ReplyReader reply(*process_);
  size_t num_steps = 0;
  StepReport step;
  const auto hand_over = [&] {
    if (call.on_step) call.on_step(std::move(step));
  };
  for (;;) {
    const Reply kind = static_cast<Reply>(reply.u32());
    if (!reply.ok()) return breakdown();
    switch (kind) {
      case Reply::step:
        ++num_steps;
        step = {reply.u32(), 0, {}};
        step.instruction = reply.u32();
        if (call.watch == Watch::steps && reply.ok()) hand_over();
        break;
      case Reply::results: {
        const uint32_t count = reply.u32();
        step.results.clear();
        for (uint32_t i = 0; reply.ok() && i < count; ++i) step.results.push_back(reply.tensor());
        if (reply.ok()) hand_over();
        break;
      }
      case Reply::failed: outcome->refusal = reply.refusal(); return reply.ok() ? Status() : breakdown();
      case Reply::done: {
        Footprint& footprint = outcome->footprint;
        footprint.load_stack_bytes = reply.u32();
        footprint.execution_stack_bytes = reply.u32();
        footprint.temp_bytes = reply.u32();
        footprint.method_arena_bytes = reply.u32();
        const uint32_t count = reply.u32();
        for (uint32_t i = 0; reply.ok() && i < count; ++i) outcome->outputs.push_back(reply.value());
        if (!reply.ok()) return breakdown();
        add_counts(call, num_steps, outcome);
        return {};
      }
      default: return Diag(Code::internal, fmt::format("{} sent an unknown reply", board_.device));
    }
  }
}

void QemuDevice::add_counts(const Call& call, size_t num_steps, Outcome* outcome) const {
  if (call.watch != Watch::counts && call.watch != Watch::steps) return;
  const std::vector<Snapshot> snapshots = process_->snapshots();
  const size_t inside = call.watch == Watch::steps ? 2 * num_steps : 0;
  if (snapshots.size() != inside + 2) {
    outcome->footprint.not_counted = counter_refused_         ? "QEMU does not start with Wick's plugin"
                                     : files_.counter.empty() ? "Wick's plugin for QEMU was not built"
                                                              : "QEMU does not take plugins of interface 1";
    return;
  }
  const auto between = [&](size_t a, size_t b) {
    return Counts{snapshots[b].instructions - snapshots[a].instructions,
                  snapshots[b].weighted_cycles - snapshots[a].weighted_cycles};
  };
  outcome->footprint.execution = between(0, inside + 1);
  for (size_t i = 0; i < num_steps && inside != 0; ++i)
    outcome->footprint.steps.push_back({between(1 + 2 * i, 2 + 2 * i), between(0, 1 + 2 * i).instructions});
}

Result<FirmwareSize> QemuDevice::firmware_size(const FirmwareParts& parts) const {
  ASSIGN_OR_RETURN(FirmwareSize size, device::firmware_size(files_.parts, parts));
  if (files_.gcc_parts.empty()) return size;
  ASSIGN_OR_RETURN(const FirmwareSize gcc, device::firmware_size(files_.gcc_parts, parts));
  size.core_bytes = std::max(size.core_bytes, gcc.core_bytes);
  size.kernels_bytes = std::max(size.kernels_bytes, gcc.kernels_bytes);
  size.by_gcc = true;
  return size;
}

Result<Outcome> QemuDevice::call(const Call& call) {
  Outcome outcome;
  method_ = call.method;
  ASSIGN_OR_RETURN(std::vector<uint8_t> request, call_request(call));
  RETURN_IF_ERROR(ensure_loaded(call.watch != Watch::counts, &outcome));
  if (outcome.refusal) return outcome;
  if (!process_->send(request)) return breakdown();
  RETURN_IF_ERROR(read_replies(call, &outcome));
  return outcome;
}

}  // namespace wick::device
