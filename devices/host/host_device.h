// The machine that runs the tool.
#pragma once
#include "devices/device.h"

namespace wick::device {

/// Of a failed call of `method` on `module`. `method` is null if it could not be loaded.
Refusal refusal_of(const ModuleError& error, const Method* method);
/// Of a method whose execution failed.
Refusal refusal_of(const MethodError& error);

class HostDevice : public Device {
 public:
  explicit HostDevice(Module* module) : module_(module) {}
  /// Watches nothing: tracers of the module do.
  compiler::Result<Outcome> call(const Call& call) override;
  compiler::Result<FirmwareSize> firmware_size(const FirmwareParts& parts) const override;
  void set_program(DeviceProgram program) override { module_ = program.module; }

 private:
  Module* module_;
};

}  // namespace wick::device
