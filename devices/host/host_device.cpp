#include "devices/host/host_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wick::device {

Refusal refusal_of(const MethodError& error) {
  Refusal refusal;
  refusal.kind = error.kind();
  refusal.code = error.error;
  refusal.message = error.message;
  refusal.in_instruction = error.in_instruction;
  if (!error.in_instruction) return refusal;
  refusal.chain = error.instruction.chain;
  refusal.instruction = error.instruction.index;
  for (const EValue* arg : error.instruction.args) {
    if (arg->tag != Tag::tensor) continue;
    refusal.tensors.push_back(fmt::format("{}[{}]", dtype_name(arg->tensor->dtype),
                                          fmt::join(arg->tensor->shape().begin(), arg->tensor->shape().end(), ", ")));
  }
  return refusal;
}

Refusal refusal_of(const ModuleError& error, const Method* method) {
  if (method && method->last_error().in_instruction) return refusal_of(method->last_error());
  Refusal refusal;
  refusal.kind = error.kind;
  refusal.code = error.code;
  refusal.message = error.message;
  return refusal;
}

compiler::Result<FirmwareSize> HostDevice::firmware_size(const FirmwareParts&) const {
  return compiler::Diag(compiler::Code::usage, "programs on the host have no firmware");
}

compiler::Result<Outcome> HostDevice::call(const Call& call) {
  Outcome outcome;
  ModuleError error;
  Method* method = module_->method(call.method, &error);
  if (!method || !module_->execute(call.method, *call.inputs, &outcome.outputs, &error))
    outcome.refusal = refusal_of(error, method);
  return outcome;
}

}  // namespace wick::device
