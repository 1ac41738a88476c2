// The machine that runs the tool.
#pragma once
#include "devices/device.h"

namespace wick::device {

/// The refusal for a failed call of `method`. `method` is null if it could not be loaded.
Refusal refusal_of(const ModuleError& error, const Method* method);
/// The refusal for a method whose execution failed.
Refusal refusal_of(const MethodError& error);

class HostDevice : public Device {
 public:
  explicit HostDevice(Module* module) : module_(module) {}
  /// Ignores Call::watch: tracers of the module observe the call.
  compiler::Result<Outcome> call(const Call& call) override;
  compiler::Result<FirmwareSize> firmware_size(const FirmwareParts& parts) const override;
  void set_program(DeviceProgram program) override { module_ = program.module; }

 private:
  Module* module_;
};

}  // namespace wick::device
