// A .pte opened for running: loads it, selects a method, calls it, and maps its errors to exit codes.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/arrays/npz.h"
#include "cli/program/program_metadata.h"
#include "compiler/support/result.h"
#include "devices/device.h"
#include "wick/module.h"

namespace wick::cli {

struct SessionOptions {
  std::vector<std::string> data_paths;  // .ptd files
  int num_threads = 0;                  // 0: WICK_NUM_THREADS, else one per core
  uint64_t seed = 0;
  uint64_t max_unbounded_bytes = ModuleOptions().max_unbounded_bytes;
  IsaLevel max_isa = IsaLevel::avx512;
  const Tracer* tracer = nullptr;  // on the host; must outlive the session
  std::string device = device::kHost;
  bool allow_device_code = true;
};

class Session {
 public:
  /// Errors: file_io, corrupt_file, incompatible_file (a method or its kernels are loaded later, by prepare).
  static compiler::Result<Session> open(const std::string& path, const SessionOptions& options);

  /// As open, over a copy of the bytes of a .pte; `path` is for messages.
  static compiler::Result<Session> open_bytes(const std::vector<uint8_t>& bytes, const std::string& path,
                                              const SessionOptions& options);

  /// The method to run: `name`, or, if it is empty, "forward" or the only one. Errors: usage, naming the methods.
  compiler::Result<std::string> choose(const std::string& name) const;
  /// Requires: a name from choose().
  MethodMeta meta(const std::string& method) const { return *module_->program().find_method(method.c_str()); }
  /// Binds kernels and memory. Errors: incompatible_file (missing kernels, all named), usage (missing .ptd), limit.
  compiler::Result<Method*> prepare(const std::string& method);
  /// Errors: those of prepare; execution, with instruction, operator and the model's source line.
  compiler::Status execute(const std::string& method, const std::vector<HostValue>& inputs,
                           std::vector<HostValue>* outputs);

  /// Runs a call where execute() runs, with Call::watch.
  compiler::Result<device::Outcome> call(const device::Call& call);
  /// The flash of a firmware for the operators of a method, on the device.
  compiler::Result<device::FirmwareSize> firmware_size(const std::string& method) const;
  /// The same for these parts.
  compiler::Result<device::FirmwareSize> firmware_size(const device::FirmwareParts& parts) const;
  /// The diagnostic of a program that `call` refused.
  compiler::Diag diag_of(const device::Refusal& refusal, const std::string& method) const;

  const Program& program() const { return module_->program(); }
  /// The test sets of a .bpte; null for a .pte.
  const BundledProgram* bundled() const { return module_->bundled(); }
  const std::string& path() const { return path_; }
  int num_threads() const { return num_threads_; }

 private:
  Session() = default;
  static compiler::Result<Session> make(
      const std::string& path, const SessionOptions& options,
      const std::function<std::unique_ptr<Module>(const ModuleOptions&, ModuleError*)>& load);
  compiler::Status check_data(const std::string& method) const;
  std::string path_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<device::Device> device_;
  bool has_data_ = false;
  int num_threads_ = 1;
};

/// The diagnostic of a failed execution. `path` is the program's.
compiler::Diag execution_diag(const std::string& path, const Method& method);
compiler::Diag execution_diag(const std::string& path, const MethodMeta& method, const device::Refusal& refusal);

using device::instruction_source;

/// A tensor or a number as an array.
NamedArray to_array(std::string name, HostValue value);

/// Outputs as arrays called outK and mut_K; None has no entry, nor has a string (a note goes to stderr).
std::vector<NamedArray> output_arrays(const MethodFacts& facts, std::vector<HostValue> outputs);

}  // namespace wick::cli
