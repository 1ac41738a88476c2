// Where programs run: on this machine, on a device of a backend, or on an emulated board.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "devices/watch.h"
#include "wick/module.h"

namespace wick::device {

/// Why a program could not be loaded or run: an error of the program, not of the device.
struct Refusal {
  ErrorKind kind = ErrorKind::none;
  Error code = Error::Ok;
  std::string message;
  bool in_instruction = false;
  uint32_t chain = 0, instruction = 0;
  std::vector<std::string> tensors;  // of the instruction's arguments: "f32[1, 8]"
};

/// Executed instructions of the processor. `weighted_cycles`: one for a scalar instruction, two for a vector
/// instruction, one per lane for a gather or scatter.
struct Counts {
  uint64_t instructions = 0, weighted_cycles = 0;
};

/// Cost of one instruction of the program. `begin`: instructions of the processor from the start of the execution to
/// its start.
struct StepCounts {
  Counts counts;
  uint64_t begin = 0;
};

/// An instruction of the program that has run.
struct StepReport {
  uint32_t chain = 0, instruction = 0;
  std::vector<HostTensor> results;  // Watch::results
};

struct Call {
  std::string method;
  const std::vector<HostValue>* inputs = nullptr;
  Watch watch = Watch::nothing;
  std::function<void(StepReport)> on_step;  // Watch::steps, Watch::results: called in order
};

/// Cost of one call, for Watch::counts and Watch::steps.
struct Footprint {
  std::string not_counted;  // why instructions were not counted; "" if they were
  Counts execution;
  std::vector<StepCounts> steps;  // one per on_step
  uint64_t load_stack_bytes = 0, execution_stack_bytes = 0;
  uint64_t temp_bytes = 0;          // peak of the kernels' scratch memory outside the arenas
  uint64_t method_arena_bytes = 0;  // bytes of the method arena
};

/// How a firmware gets its methods: it loads them from a program, or has them as tables (runtime/firmware).
struct FirmwareParts {
  std::vector<std::string> operators;  // names of kernels
  bool loads = true, has_tables = false;
};

/// Flash of a firmware that holds the runtime and only the kernels of a program.
struct FirmwareSize {
  uint64_t core_bytes = 0;     // executing methods, and loading them
  uint64_t kernels_bytes = 0;  // the kernels, with functions that only they call
  bool by_gcc = false;         // the larger of clang's and GCC's sizes; else clang's
};

struct Outcome {
  std::optional<Refusal> refusal;  // if set, the rest is empty
  std::vector<HostValue> outputs;
  Footprint footprint;
};

/// The program that a device runs. `module` holds the same program on the host and outlives the device.
struct DeviceProgram {
  std::string path;
  std::vector<std::string> data_paths;  // .ptd files
  uint64_t seed = 0;
  Module* module = nullptr;  // for a device in this process: ModuleOptions::device is its name
};

/// Runs the methods of one program. State is kept between calls with the same kind of watch.
class Device {
 public:
  virtual ~Device() = default;
  /// Errors: the device is missing, broke down, or took longer than a limit allows.
  virtual compiler::Result<Outcome> call(const Call& call) = 0;
  /// The flash of a firmware with the kernels of these operators. Errors: usage if this device has no firmware, or its
  /// parts are missing.
  virtual compiler::Result<FirmwareSize> firmware_size(const FirmwareParts& parts) const = 0;
  /// Replaces the program.
  virtual void set_program(DeviceProgram program) = 0;
};

/// The host's name among the devices.
constexpr char kHost[] = "host";
/// Whether programs on this device run in this process, on the host or on a device of a backend: then time is measured,
/// tracers work, and results may differ as between hardware. False for boards and unknown names.
bool runs_in_process(const std::string& name);

struct DeviceRow {
  std::string name, description;
};
/// All devices that there are, whether or not this machine has what they need.
const std::vector<DeviceRow>& device_table();
/// Opens a device of that table. Errors: usage (an unknown name, or something that the device needs is missing, with
/// where to get it).
compiler::Result<std::unique_ptr<Device>> open_device(const std::string& name, const DeviceProgram& program);

}  // namespace wick::device
